//! Who runs when. Pure.

/// The order in which contestants take their turns: shuffled each round, the same way for the same
/// seed. That varies who is early, and who runs after whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Where the shuffling starts.
    pub seed: u64,
}

impl Order {
    /// The order of `count` contestants in `round`, which counts from 0.
    #[must_use]
    pub fn of_round(self, round: u32, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        shuffle(&mut order, mix(self.seed ^ mix(u64::from(round))));
        order
    }

    /// Numbers at random, the same for the same seed.
    pub(crate) fn draws(self) -> Draws {
        Draws(mix(self.seed))
    }
}

/// Numbers at random.
pub(crate) struct Draws(u64);

impl Draws {
    /// The next one, below `count`; 0 if that is 0.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.0 = mix(self.0);
        let choices = u64::try_from(count.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.0 % choices).unwrap_or(0)
    }
}

/// Fisher and Yates. The bias of the remainder is far below one in a billion.
fn shuffle(order: &mut [usize], mut state: u64) {
    for last in (1..order.len()).rev() {
        state = mix(state);
        let choices = u64::try_from(last + 1).unwrap_or(u64::MAX);
        order.swap(last, usize::try_from(state % choices).unwrap_or(0));
    }
}

/// SplitMix64: one step of the counter and its output function.
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;
