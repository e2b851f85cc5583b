//! A limit for the ACKs that segments out of order provoke: RFC 5961, section 7.
//!
//! It is one limit per connection. One for the whole host would tell an attacker, who sees when it
//! is used up, what happens on other connections (CVE-2016-5696).

use core::time::Duration;

use crate::Instant;

/// How many such ACKs have left lately.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Challenges {
    window: u32,
    sent: u8,
}

impl Challenges {
    /// Whether one more may leave now; if so it is counted.
    pub fn allow(&mut self, now: Instant) -> bool {
        let window = window(now);
        if window != self.window {
            *self = Self { window, sent: 0 };
        }
        let is_allowed = self.sent < PER_WINDOW;
        self.sent += u8::from(is_allowed);
        is_allowed
    }
}

/// Which window a moment is in. The number wraps after centuries.
fn window(now: Instant) -> u32 {
    (now.as_micros() / u64::try_from(WINDOW.as_micros()).unwrap_or(u64::MAX)) as u32
}

/// RFC 5961, section 7, proposes 10 in 5 seconds.
const PER_WINDOW: u8 = 10;
const WINDOW: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;
