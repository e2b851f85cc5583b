//! CUBIC: RFC 9438.
//!
//! The curve W(t) = C * (t - K)^3 + W_max is fixed by W_max and by where on it the window is: K is
//! found anew, with its sign, from both whenever the curve is taken up after a pause or an undo.
//! So neither must be remembered.

use core::time::Duration;

use crate::Instant;

/// Where on which curve the window is. In bytes and milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Cubic {
    /// The window at the last loss; zero: none, the curve begins flat at the window.
    w_max: u32,
    /// K: when the curve reaches `w_max`, from `since_ms` on; negative: it has been there.
    k_ms: i32,
    /// When the curve was taken up, wrapping, if `is_running`.
    since_ms: u32,
    /// W_est: what NewReno would have.
    reno: u32,
    /// Bytes acknowledged that have not yet made `reno` grow. The top bit: the curve is running.
    reno_credit: u32,
}

/// What one step needs to know.
pub struct Path {
    pub window: u32,
    pub mss: u16,
    /// cwnd_prior: the window before the last reduction.
    pub window_before: u32,
    pub srtt: Duration,
    pub now: Instant,
}

impl Cubic {
    /// W_max, or zero.
    pub fn w_max(&self) -> u32 {
        self.w_max
    }

    /// The window after `bytes` were acknowledged in congestion avoidance.
    pub fn avoid(&mut self, path: &Path, credit: &mut u32, bytes: u32) -> u32 {
        if !self.is_running() {
            self.take_up(path);
            *credit = 0;
        }
        self.grow_reno(path, bytes);
        let passed_ms = (path.now.as_millis() as u32).wrapping_sub(self.since_ms);
        let t_ms = i64::from(passed_ms) - i64::from(self.k_ms);
        // RFC 9438, section 4.3: the Reno-friendly region.
        if self.at(t_ms, path.mss) < i64::from(self.reno) {
            *credit = 0;
            return path.window.max(self.reno);
        }
        // RFC 9438, sections 4.2, 4.4 and 4.5: the target is a round trip ahead, and between the
        // window and one and a half of it.
        let srtt_ms = i64::try_from(path.srtt.as_millis()).unwrap_or(i64::MAX / 2);
        let window = u64::from(path.window);
        let target = self.at(t_ms.saturating_add(srtt_ms), path.mss);
        let target = u64::try_from(target).unwrap_or(0).clamp(window, window + window / 2);
        // (target - cwnd) / cwnd per byte, and the bytes that are not enough for one stay.
        *credit = credit.saturating_add(bytes);
        let gap = target - window;
        let growth = u64::from(*credit) * gap / window.max(1);
        if growth > 0 {
            let used = growth * window / gap.max(1);
            *credit = credit.saturating_sub(u32::try_from(used).unwrap_or(u32::MAX));
        } else if gap == 0 {
            *credit = 0;
        }
        u32::try_from(window + growth).unwrap_or(u32::MAX)
    }

    /// A loss: remembers the window, less if it had not come as far as before (fast convergence,
    /// RFC 9438, section 4.7).
    pub fn reduce(&mut self, window: u32) {
        self.w_max = if window < self.w_max {
            // (1 + beta) / 2 = 17 / 20.
            u32::try_from(u64::from(window) * 17 / 20).unwrap_or(u32::MAX)
        } else {
            window
        };
        self.pause();
    }

    /// RFC 9438, section 4.8: K = 0 and W_max = cwnd when congestion avoidance begins again.
    pub fn on_timeout(&mut self) {
        self.w_max = 0;
        self.pause();
    }

    /// The last reduction was needless: the curve is the one with this W_max again.
    pub fn undo(&mut self, w_max: u32) {
        self.w_max = w_max;
        self.pause();
    }

    /// The clock stops until the next [`avoid`](Self::avoid).
    pub fn pause(&mut self) {
        self.reno_credit &= !RUNNING;
    }

    fn is_running(&self) -> bool {
        self.reno_credit & RUNNING != 0
    }

    fn take_up(&mut self, path: &Path) {
        if self.w_max == 0 {
            self.w_max = path.window;
        }
        // RFC 9438, section 4.2, figure 2: K = cbrt((W_max - cwnd_epoch) / C), with its sign.
        let gap = u64::from(self.w_max.abs_diff(path.window));
        let k_ms = cube_root(gap * MS_CUBED_PER_C / u64::from(path.mss.max(1)));
        let k_ms = i32::try_from(k_ms).unwrap_or(i32::MAX);
        self.k_ms = if self.w_max >= path.window { k_ms } else { -k_ms };
        self.since_ms = path.now.as_millis() as u32;
        self.reno = path.window;
        self.reno_credit = RUNNING;
    }

    /// The height of the curve, in bytes, `t_ms` milliseconds behind its flat point.
    fn at(&self, t_ms: i64, mss: u16) -> i64 {
        // Nine hours: beyond it the window has no more room, and the cube would not have either.
        let t_ms = i128::from(t_ms.clamp(-T_MS_MAX, T_MS_MAX));
        let segments_times = t_ms * t_ms * t_ms * i128::from(mss);
        let rise = segments_times / i128::from(MS_CUBED_PER_C);
        i64::try_from(rise).unwrap_or(0) + i64::from(self.w_max)
    }

    /// RFC 9438, section 4.3: alpha = 3 * (1 - beta) / (1 + beta) = 9/17 until NewReno would have
    /// the window that it had before the loss, then 1.
    fn grow_reno(&mut self, path: &Path, bytes: u32) {
        let mut credit = self.reno_credit & !RUNNING;
        credit = credit.saturating_add(bytes);
        let window = u64::from(path.window);
        let is_behind = self.reno < path.window_before;
        let price = if is_behind { window * 17 / 9 } else { window };
        let price = u32::try_from(price).unwrap_or(u32::MAX).max(1);
        let segments = credit / price;
        self.reno = self.reno.saturating_add(segments.saturating_mul(path.mss.into()));
        credit -= segments * price;
        self.reno_credit = RUNNING | (credit & !RUNNING);
    }
}

/// RFC 9438, section 4.1 and 4.6: beta = 0.7.
pub fn multiply_by_beta(bytes: u32) -> u32 {
    u32::try_from(u64::from(bytes) * 7 / 10).unwrap_or(u32::MAX)
}

/// The greatest integer whose cube is not more than `of`.
fn cube_root(of: u64) -> u64 {
    let mut root: u64 = 0;
    // Bit by bit from the top: 2^21 is the greatest power of two whose cube fits.
    for bit in (0..22).rev() {
        let larger = root | (1 << bit);
        if u128::from(larger).pow(3) <= u128::from(of) {
            root = larger;
        }
    }
    root
}

/// C = 0.4 segments per cubic second (RFC 9438, section 5): cubic milliseconds per segment.
const MS_CUBED_PER_C: u64 = 2_500_000_000;
const T_MS_MAX: i64 = 1 << 25;
const RUNNING: u32 = 1 << 31;

#[cfg(test)]
mod tests;
