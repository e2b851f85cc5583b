//! A block of source ports.

/// Ports one after the other; their number is a power of two and divides the first, so that a
/// socket filter knows them by one comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The first.
    pub first: u16,
    /// How many.
    pub count: u16,
}

impl Ports {
    /// Whether `port` is one of them.
    pub fn contains(self, port: u16) -> bool {
        port & self.mask() == self.first
    }

    /// The bits that they have in common.
    pub fn mask(self) -> u16 {
        !(self.count - 1)
    }

    /// The port `step` after number `start`, counting round and round.
    pub fn nth(self, start: u32, step: u16) -> u16 {
        #[allow(clippy::cast_possible_truncation, reason = "round and round")]
        let start = start as u16;
        self.first | (start.wrapping_add(step) & (self.count - 1))
    }
}

#[cfg(test)]
mod tests;
