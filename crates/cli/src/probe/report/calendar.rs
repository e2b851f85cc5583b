//! Dates as nmap writes them, `Sat Nov 21 14:58:43 2026`: asctime(3), here always in UTC, so that
//! two hosts write the same.

use portolan_sys::clock::Civil;

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The date and time, so many milliseconds after 1970 began.
pub fn date(unix_ms: u64) -> String {
    let Civil { year, month, day, weekday, hour, minute, second } = Civil::at(unix_ms / 1000);
    let weekday = WEEKDAYS[weekday as usize];
    let month = MONTHS[month as usize - 1];
    format!("{weekday} {month} {day:2} {hour:02}:{minute:02}:{second:02} {year}")
}

#[cfg(test)]
mod tests;
