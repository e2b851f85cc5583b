//! Chance, decided by a seed.

/// A stream of numbers that one seed decides: splitmix64 (Steele, Lea, Flood, "Fast splittable
/// pseudorandom number generators", 2014).
///
/// Each part of a run has a stream of its own, so that taking one fault away from a scenario leaves
/// all others where they were; shrinking lives by that.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of this name, of a run with this seed.
    #[must_use]
    pub fn new(seed: u64, stream: &str) -> Self {
        let mut state = mixed(seed ^ 0x9e37_79b9_7f4a_7c15);
        for byte in stream.bytes() {
            state = mixed(state ^ u64::from(byte));
        }
        Self(state)
    }

    /// Any number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// A number below the bound; 0 where the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.draw()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or_default()
    }

    /// A number from the first to the last, both included.
    pub fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last.saturating_sub(first) + 1)
    }

    /// Whether it happens that has so many chances in a million.
    pub fn happens(&mut self, per_million: u32) -> bool {
        // Nothing is drawn for what cannot happen: see the type's comment.
        per_million > 0 && self.below(1_000_000) < per_million.into()
    }

    /// One of the values; the first one where there is one only.
    ///
    /// # Panics
    ///
    /// Where there is none.
    pub fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        let at = self.below(values.len() as u64);
        values[usize::try_from(at).unwrap_or_default()]
    }
}

/// Another number for each number.
pub(crate) const fn mixed(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}
