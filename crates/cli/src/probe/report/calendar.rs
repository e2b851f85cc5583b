//! Dates as nmap writes them, `Sat Nov 21 14:58:43 2026`: asctime(3), here always in UTC, so that
//! two hosts write the same.

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// From March, so that the leap day is the last one of the year.
const MONTHS: [&str; 12] =
    ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"];

/// The date and time, so many milliseconds after 1970 began.
pub fn date(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (since_1970, of_day) = (seconds / 86_400, seconds % 86_400);
    // Day 0 is 1 March of year 0; eras are the 400 years after which the calendar repeats.
    let days = since_1970 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let year = era * 400 + year_of_era + u64::from(from_march >= 10);
    let weekday = WEEKDAYS[(since_1970 % 7) as usize];
    let month = MONTHS[from_march as usize];
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{weekday} {month} {day:2} {hour:02}:{minute:02}:{second:02} {year}")
}

#[cfg(test)]
mod tests;
