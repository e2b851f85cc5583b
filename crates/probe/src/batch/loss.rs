//! What answers say about questions that were lost, and what follows for silent targets.

use std::time::Duration;

use super::{Batch, Check};
use crate::{MethodName, plan::ATTEMPTS_MAX};

impl Batch {
    /// An answer came about a check, which tells, or not, which of its questions it is to.
    pub(super) fn count_answer(&mut self, check: Check, told: Option<u8>, now: Duration) {
        self.counts.answered += 1;
        let Some(attempt) = self.attribute(check, told, now) else { return };
        // No answer is to a question that was not asked, whatever a method says.
        let took = attempt.saturating_add(1).min(check.attempts);
        self.counts.attributed += 1;
        self.counts.asked_of_attributed += u64::from(took);
        self.pacer.handle_answer(took == 1, now.saturating_sub(check.first_at));
    }

    /// Which question made an answer come: the last, unless it came sooner after that than any
    /// answer does. What a segment tells is the question that the peer remembers, which it was
    /// asked once more when its answer was lost. While nobody knows how soon answers come, and none
    /// tells, neither is this (Karn's rule, RFC 6298 section 3).
    pub(super) fn attribute(&self, check: Check, told: Option<u8>, now: Duration) -> Option<u8> {
        if check.attempts == 1 {
            return Some(0);
        }
        // A question has a socket of its own in the kernel's methods.
        if self.method != MethodName::Syn {
            return told;
        }
        let Some(shortest) = self.pacer.shortest_round_trip() else { return told };
        let is_to_last = now.saturating_sub(check.last_at) >= shortest / 2;
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
