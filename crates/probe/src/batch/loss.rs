//! What answers say about questions that were lost, and what follows for silent targets.

use std::time::Duration;

use super::{Batch, Check};
use crate::plan::ATTEMPTS_MAX;

impl Batch {
    pub(super) fn count_answer(&mut self, check: Check, attempt: Option<u8>, now: Duration) {
        self.counts.answered += 1;
        let Some(attempt) = attempt.or_else(|| self.attribute(check, now)) else { return };
        // No answer is to a question that was not asked, whatever a method says.
        let took = attempt.saturating_add(1).min(check.attempts);
        self.counts.attributed += 1;
        self.counts.asked_of_attributed += u64::from(took);
        self.pacer.handle_answer(took == 1, now.saturating_sub(check.first_at));
    }

    /// Which question an answer is to that does not tell: the last, unless it came sooner after
    /// that than answers do. While nobody knows how soon they do, neither is this (Karn's rule,
    /// RFC 6298 section 3).
    pub(super) fn attribute(&self, check: Check, now: Duration) -> Option<u8> {
        if check.attempts == 1 {
            return Some(0);
        }
        let soon = self.pacer.round_trip()? / 2;
        let is_to_last = now.saturating_sub(check.last_at) >= soon;
        Some(check.attempts - if is_to_last { 1 } else { 2 })
    }

    /// How many questions a silent target is asked: as planned, and more where so many are lost
    /// that one of all those asked would be missed by chance.
    pub(super) fn attempts(&self) -> u8 {
        let planned = self.plan.attempts();
        if !self.insists || self.counts.attributed < 50 {
            return planned;
        }
        #[allow(clippy::cast_precision_loss, reason = "an estimate")]
        let (asked, loss) = (self.counts.asked as f64, self.counts.loss().clamp(0.001, 0.9));
        // Of `asked` checks, fewer than one in a hundred runs may miss one.
        let needed = ((asked * 100.0).ln() / -loss.ln()).ceil();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
        let needed = needed.clamp(0.0, f64::from(ATTEMPTS_MAX)) as u8;
        needed.max(planned)
    }
}
