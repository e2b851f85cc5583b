//! What is counted over many checks.

/// What a batch counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Questions asked, repeated ones too.
    pub asked: u64,
    /// Checks that somebody answered.
    pub answered: u64,
    /// Answers to checks that were already answered.
    pub duplicates: u64,
    /// Answered checks of which it is known which question was answered.
    pub attributed: u64,
    /// Questions that those took: each beyond one was lost, or its answer was.
    pub asked_of_attributed: u64,
}

impl Counts {
    /// The share of questions that were lost on the way there or back, as far as answers show.
    #[must_use]
    pub fn loss(&self) -> f64 {
        if self.asked_of_attributed == 0 {
            return 0.0;
        }
        #[allow(clippy::cast_precision_loss, reason = "a share needs few digits")]
        let share = self.attributed as f64 / self.asked_of_attributed as f64;
        1.0 - share
    }
}
