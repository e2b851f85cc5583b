//! The first slow start, and where it ends before it loses anything: HyStart++, RFC 9406.
//!
//! A queue that builds up makes round trips longer. When the least one of a round trip is longer
//! than that of the one before, the window goes on more slowly for five round trips (Conservative
//! Slow Start), in which it turns out whether that was a mistake. Without this, slow start ends by
//! the loss of half of a window.

use core::time::Duration;

/// The measurements of the first slow start. Times are in microseconds, [`NONE`] is infinity.
#[derive(Clone, Debug)]
pub struct SlowStart {
    /// Bytes up to windowEnd: the round ends when they are acknowledged. Zero: none has begun.
    round_left: u32,
    /// lastRoundMinRTT.
    last_min_us: u32,
    /// currentRoundMinRTT.
    min_us: u32,
    /// cssBaselineMinRtt; [`NONE`] outside of Conservative Slow Start.
    baseline_us: u32,
    /// rttSampleCount, as far as it matters.
    samples: u8,
    /// Round trips in Conservative Slow Start.
    css_rounds: u8,
}

/// What an ACK shows.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    /// Bytes that it acknowledges.
    pub bytes: u32,
    /// SND.NXT - SND.UNA afterwards.
    pub unacknowledged: u32,
    pub rtt: Option<Duration>,
}

impl SlowStart {
    /// Nothing was measured.
    pub fn new() -> Self {
        Self {
            round_left: 0,
            last_min_us: NONE,
            min_us: NONE,
            baseline_us: NONE,
            samples: 0,
            css_rounds: 0,
        }
    }

    /// Takes in an ACK. True when slow start is over: RFC 9406, section 4.2.
    pub fn on_ack(&mut self, observed: &Observed) -> bool {
        if self.round_left == 0 {
            self.round_left = observed.bytes.saturating_add(observed.unacknowledged);
        }
        if let Some(rtt) = observed.rtt {
            let rtt_us = u32::try_from(rtt.as_micros()).unwrap_or(NONE - 1);
            self.min_us = self.min_us.min(rtt_us);
            self.samples = self.samples.saturating_add(1);
            if self.samples >= SAMPLES_LEAST {
                self.judge();
            }
        }
        self.round_left = self.round_left.saturating_sub(observed.bytes);
        self.round_left == 0 && self.end_round(observed.unacknowledged)
    }

    /// Of the bytes that an ACK covers, by how many the window may grow.
    pub fn growth(&self, bytes: u32) -> u32 {
        if self.is_conservative() { bytes / CSS_GROWTH_DIVISOR } else { bytes }
    }

    /// The window does not limit the sender, or nothing was sent for a while: what was measured
    /// says nothing of the window. RFC 9406, section 4.3: slow start goes on.
    pub fn reset(&mut self) {
        // Most ACKs of a program that asks and waits find nothing to forget.
        if self.round_left != 0 || self.last_min_us != NONE {
            *self = Self::new();
        }
    }

    fn is_conservative(&self) -> bool {
        self.baseline_us != NONE
    }

    /// Enters Conservative Slow Start, or leaves it because entering was a mistake.
    fn judge(&mut self) {
        if self.is_conservative() {
            if self.min_us < self.baseline_us {
                self.baseline_us = NONE;
            }
        } else if self.last_min_us != NONE {
            let threshold_us =
                (self.last_min_us / RTT_DIVISOR).clamp(RTT_THRESHOLD_US_MIN, RTT_THRESHOLD_US_MAX);
            if self.min_us >= self.last_min_us.saturating_add(threshold_us) {
                self.baseline_us = self.min_us;
                self.css_rounds = 0;
            }
        }
    }

    /// Begins another round, with so many bytes of it already sent. True after the last one.
    fn end_round(&mut self, unacknowledged: u32) -> bool {
        self.last_min_us = self.min_us;
        (self.min_us, self.samples) = (NONE, 0);
        self.round_left = unacknowledged;
        // The round in which it began counts as one.
        self.css_rounds = self.css_rounds.saturating_add(1);
        self.is_conservative() && self.css_rounds >= CSS_ROUNDS
    }
}

const NONE: u32 = u32::MAX;

// RFC 9406, section 4.3.
const RTT_THRESHOLD_US_MIN: u32 = 4_000;
const RTT_THRESHOLD_US_MAX: u32 = 16_000;
const RTT_DIVISOR: u32 = 8;
const SAMPLES_LEAST: u8 = 8;
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u8 = 5;

#[cfg(test)]
mod tests;
