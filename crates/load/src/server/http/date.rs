//! The time as HTTP says it (RFC 9110, section 5.6.7), made once in a second.

const DAYS: &[u8; 21] = b"ThuFriSatSunMonTueWed";
const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

#[derive(Debug)]
pub(in crate::server) struct Date {
    /// Since 1970.
    seconds: u64,
    text: [u8; 29],
}

impl Date {
    /// At so many seconds since 1970.
    pub(in crate::server) fn new(seconds: u64) -> Self {
        let mut date = Self { seconds, text: *b"Thu, 01 Jan 1970 00:00:00 GMT" };
        date.write();
        date
    }

    pub(in crate::server) fn set(&mut self, seconds: u64) {
        if seconds != self.seconds {
            self.seconds = seconds;
            self.write();
        }
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    fn write(&mut self) {
        let (days, time) = (self.seconds / 86_400, self.seconds % 86_400);
        let (year, month, day) = civil(days);
        let name = |names: &[u8], nth: u64| {
            let at = usize::try_from(nth * 3).unwrap_or(0);
            [names[at], names[at + 1], names[at + 2]]
        };
        self.text[0..3].copy_from_slice(&name(DAYS, days % 7));
        self.two(5, day);
        self.text[8..11].copy_from_slice(&name(MONTHS, month - 1));
        self.two(12, year / 100);
        self.two(14, year % 100);
        self.two(17, time / 3_600);
        self.two(20, time / 60 % 60);
        self.two(23, time % 60);
    }

    /// Two digits at a place.
    fn two(&mut self, at: usize, number: u64) {
        // Of a number below 100, both are digits.
        self.text[at] = b'0' + u8::try_from(number / 10 % 10).unwrap_or(0);
        self.text[at + 1] = b'0' + u8::try_from(number % 10).unwrap_or(0);
    }
}

/// Year, month and day of a day since 1970-01-01, counted in years that begin in March, so that the
/// leap day is the last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests;
