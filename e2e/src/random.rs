//! Numbers that look random and come again with the same seed.

/// Marsaglia's xorshift64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts with a seed, which a test prints.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    /// A number below `bound`.
    ///
    /// # Panics
    /// When `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
