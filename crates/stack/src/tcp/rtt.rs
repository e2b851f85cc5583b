//! How long an answer takes, and how long to wait for one: RFC 6298.
//!
//! Everything is kept in fractions of microseconds as integers, so that one value costs 28 bytes;
//! an idle connection keeps it.

use core::time::Duration;

use crate::Instant;

/// The round-trip time of a path, smoothed, and the retransmission timeout that follows from it.
///
/// - [`sample`](Self::sample) for each measurement that Karn's algorithm allows,
/// - [`back_off`](Self::back_off) each time that the retransmission timer expires,
/// - [`rto`](Self::rto) whenever the timer is set.
#[derive(Clone, Debug)]
pub struct Rtt {
    /// SRTT in 1/16 us; zero: no sample yet.
    srtt_fraction: u32,
    /// RTTVAR in 1/16 us.
    variation_fraction: u32,
    /// The least of this period and of the one before, in microseconds; `u32::MAX`: none.
    min_now_us: u32,
    min_before_us: u32,
    /// When this period of the minimum began, in milliseconds, wrapping.
    min_since_ms: u32,
    rto_min_ms: u16,
    /// How often the timeout was doubled since the last sample.
    back_offs: u8,
    /// A SYN was lost: the first timeout of data is 3 s.
    syn_lost: bool,
}

impl Rtt {
    /// Nothing measured, with [`RTO_MIN`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_minimum(RTO_MIN)
    }

    /// Nothing measured, and a timeout of at least `rto_min` (whole milliseconds, 1 ms to 65 s).
    #[must_use]
    pub fn with_minimum(rto_min: Duration) -> Self {
        Self {
            srtt_fraction: 0,
            variation_fraction: 0,
            min_now_us: u32::MAX,
            min_before_us: u32::MAX,
            min_since_ms: 0,
            rto_min_ms: u16::try_from(rto_min.as_millis()).unwrap_or(u16::MAX).max(1),
            back_offs: 0,
            syn_lost: false,
        }
    }

    /// Takes in a measured round trip, and forgets the back-off. `outstanding_segments` is how many
    /// segments were in flight: with more samples per round trip each counts for less (RFC 7323,
    /// appendix G); 1 is RFC 6298 to the letter.
    pub fn sample(&mut self, measured: Duration, outstanding_segments: u32, now: Instant) {
        let measured_us = u32::try_from(measured.as_micros()).unwrap_or(u32::MAX);
        // Zero means "no sample": a round trip within a microsecond counts as one.
        let measured_us = measured_us.clamp(1, SAMPLE_US_MAX);
        self.update_min(measured_us, now);
        let measured = measured_us << FRACTION_BITS;
        if self.srtt_fraction == 0 {
            // RFC 6298, section 2.2.
            self.srtt_fraction = measured;
            self.variation_fraction = measured / 2;
        } else {
            // RFC 6298, section 2.3: RTTVAR first, for it uses the old SRTT. RFC 7323, appendix G:
            // one in two segments is acknowledged, by which both gains are divided.
            let expected = outstanding_segments.div_ceil(2).clamp(1, EXPECTED_SAMPLES_MAX);
            let deviation = self.srtt_fraction.abs_diff(measured);
            self.variation_fraction = approach(self.variation_fraction, deviation, 4 * expected);
            self.srtt_fraction = approach(self.srtt_fraction, measured, 8 * expected).max(1);
        }
        // RFC 6298, section 5, last note: a backed-off timeout holds until there is a sample.
        self.back_offs = 0;
        self.syn_lost = false;
    }

    /// The timeout to set the timer with, backed off: RFC 6298, sections 2.1, 2.3 to 2.5, and 5.
    #[must_use]
    pub fn rto(&self) -> Duration {
        let mut base_us = match self.srtt_fraction {
            // RFC 6298, section 2.1.
            0 => INITIAL_US,
            srtt => {
                let variation = (4 * u64::from(self.variation_fraction)) >> FRACTION_BITS;
                u64::from(srtt >> FRACTION_BITS) + variation.max(GRANULARITY_US)
            }
        };
        // RFC 6298, section 2.4 asks for 1 s at least; like other stacks' ours is 200 ms.
        base_us = base_us.max(u64::from(self.rto_min_ms) * 1_000);
        if self.syn_lost {
            // RFC 6298, section 5.7.
            base_us = base_us.max(AFTER_SYN_LOSS_US);
        }
        // RFC 6298, sections 2.5 and 5.5.
        let backed_off_us = base_us.saturating_mul(1 << self.back_offs.min(BACK_OFFS_MAX));
        Duration::from_micros(backed_off_us.min(RTO_US_MAX))
    }

    /// The retransmission timer has expired: doubles the timeout (RFC 6298, section 5.5).
    pub fn back_off(&mut self) {
        self.back_offs = self.back_offs.saturating_add(1);
    }

    /// How often the timeout was doubled since the last sample; what R1 and R2 of RFC 9293, section
    /// 3.8.3 count.
    #[must_use]
    pub fn back_offs(&self) -> u8 {
        self.back_offs
    }

    /// The timeouts were needless (a spurious timeout was found): the timeout is what it was.
    pub fn undo_back_off(&mut self) {
        self.back_offs = 0;
    }

    /// The handshake is done, but its SYN had to be repeated: the first timeout of data is at least
    /// 3 s, until something is measured (RFC 6298, section 5.7).
    pub fn after_syn_loss(&mut self) {
        self.back_offs = 0;
        self.syn_lost = true;
    }

    /// The smoothed round-trip time; none before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        let srtt = Duration::from_micros(u64::from(self.srtt_fraction >> FRACTION_BITS));
        (self.srtt_fraction != 0).then_some(srtt)
    }

    /// The smoothed deviation from it (RTTVAR); zero before the first sample.
    #[must_use]
    pub fn variation(&self) -> Duration {
        Duration::from_micros(u64::from(self.variation_fraction >> FRACTION_BITS))
    }

    /// The least round trip of the last 5 to 10 minutes, for RACK (RFC 8985, section 6.2, step 1);
    /// none before the first sample.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        let least_us = self.min_now_us.min(self.min_before_us);
        (least_us != u32::MAX).then(|| Duration::from_micros(u64::from(least_us)))
    }

    /// A minimum over a window that slides by periods: two values instead of a queue.
    fn update_min(&mut self, measured_us: u32, now: Instant) {
        let now_ms = now.as_millis() as u32;
        let age_ms = now_ms.wrapping_sub(self.min_since_ms);
        if age_ms >= MIN_PERIOD_MS {
            let is_long_ago = age_ms >= 2 * MIN_PERIOD_MS;
            self.min_before_us = if is_long_ago { u32::MAX } else { self.min_now_us };
            self.min_now_us = u32::MAX;
            self.min_since_ms = now_ms;
        }
        self.min_now_us = self.min_now_us.min(measured_us);
    }
}

impl Default for Rtt {
    fn default() -> Self {
        Self::new()
    }
}

/// `from`, moved by 1/`divisor` of the way to `to`, rounded to the nearest.
fn approach(from: u32, to: u32, divisor: u32) -> u32 {
    let (from, to, divisor) = (u64::from(from), u64::from(to), u64::from(divisor));
    let weighted = from * (divisor - 1) + to;
    u32::try_from((weighted + divisor / 2) / divisor).unwrap_or(u32::MAX)
}

/// The least timeout unless said otherwise; Linux's TCP_RTO_MIN (include/net/tcp.h).
pub const RTO_MIN: Duration = Duration::from_millis(200);
/// The longest timeout; Linux's TCP_RTO_MAX (include/net/tcp.h), and more than the 60 s that RFC
/// 6298, section 2.5 asks for.
pub const RTO_MAX: Duration = Duration::from_micros(RTO_US_MAX);

const FRACTION_BITS: u32 = 4;
/// No sample is longer: keeps the fractions within 32 bits.
const SAMPLE_US_MAX: u32 = 120_000_000;
const INITIAL_US: u64 = 1_000_000;
const AFTER_SYN_LOSS_US: u64 = 3_000_000;
const RTO_US_MAX: u64 = 120_000_000;
/// G of RFC 6298: that of the timer wheel.
const GRANULARITY_US: u64 = 1_000;
const BACK_OFFS_MAX: u8 = 20;
const EXPECTED_SAMPLES_MAX: u32 = 64;
const MIN_PERIOD_MS: u32 = 300_000;

const _: () = assert!(size_of::<Rtt>() <= 32);

#[cfg(test)]
mod tests;
