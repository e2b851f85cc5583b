//! Questions that could not be asked when it was their turn.

use std::time::Duration;

use rustix::io::Errno;

use super::{Asked, Batch, Check};
use crate::{Evidence, Id, Verdict};

/// How long to hold back when a method is out of buffers or ports.
pub(super) const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// So many targets in a row are not each busy by themselves.
pub(super) const BUSY_MAX: u32 = 16;

/// How long a check may wait for room to send its question.
pub(super) const UNSENT_MAX: Duration = Duration::from_secs(10);

impl Batch {
    /// The method cannot ask the question that [`poll_transmit`](Self::poll_transmit) gave before
    /// other checks are over: it will be asked a little later.
    pub fn handle_busy(&mut self, id: Id, now: Duration) {
        self.busy = if self.busy.0 == now { (now, self.busy.1 + 1) } else { (now, 1) };
        if self.busy.1 >= BUSY_MAX {
            // It is not about single targets.
            self.paused_until = now + BUSY_PAUSE;
        }
        self.postpone(id, now);
    }

    /// The last question about a check that is under way was not sent after all, for lack of room:
    /// it will be asked a little later. Where that goes on, it is the check's result.
    pub fn handle_unsent(&mut self, id: Id, now: Duration) {
        let Some(check) = self.postpone(id, now) else { return };
        let since = *check.unsent_since.get_or_insert(now);
        if now.saturating_sub(since) >= UNSENT_MAX {
            let errno = Errno::NOBUFS.raw_os_error();
            self.conclude(id.0, Verdict::Error(errno), Evidence::Refusal(errno), now);
        }
    }

    /// Takes the last question back, and has it asked again later.
    fn postpone(&mut self, id: Id, now: Duration) -> Option<&mut Check> {
        let check = self.checks.get_mut(id.0 as usize).filter(|check| !check.is_over)?;
        check.attempts = check.attempts.checked_sub(1)?;
        // What is noted about that question is now of a check that is no more.
        check.generation = check.generation.wrapping_add(1);
        self.counts.asked -= 1;
        self.later.push_back(Asked {
            at: now + BUSY_PAUSE,
            place: id.0,
            generation: check.generation,
        });
        Some(check)
    }

    /// Ends the checks that were not asked yet, without a finding. Returns how many.
    pub fn drop_waiting(&mut self) -> usize {
        let before = self.free.len();
        let Self { checks, later, fresh, free, .. } = self;
        let is_waiting = |check: &Check| check.attempts == 0 && !check.is_over;
        later.retain(|entry| {
            let waits = is_waiting(&checks[entry.place as usize]);
            if waits {
                fresh.push_back(entry.place);
            }
            !waits
        });
        for place in fresh.drain(..) {
            checks[place as usize].is_over = true;
            free.push(place);
        }
        self.free.len() - before
    }
}
