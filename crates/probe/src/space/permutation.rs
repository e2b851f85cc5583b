//! A shuffle that needs no memory: so that no host and no network gets its checks all at once, and
//! a run can go on where it stopped.

/// A keyed bijection of the numbers below a length.
///
/// A Feistel network (M. Luby and C. Rackoff, "How to construct pseudorandom permutations from
/// pseudorandom functions", 1988) over a rectangle that is hardly larger than the length, walking
/// along its cycle until the number is below the length (J. Black and P. Rogaway, "Ciphers with
/// arbitrary finite domains", 2002). It spreads; it keeps no secret.
///
/// The same length and seed give the same order on every machine and in every version: a run that
/// was interrupted, and the shards of other machines, depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    len: u64,
    keys: [u64; ROUNDS],
    /// A number is its row times the width and its column.
    width: u64,
    height: u64,
}

/// Four make a strong permutation of ideal round functions; ours are cheap, so it is two more.
const ROUNDS: usize = 6;

impl Permutation {
    /// Of the numbers from 0 to `len - 1`.
    #[must_use]
    pub fn new(len: u64, seed: u64) -> Self {
        // A square, or nearly: less than a row of it is not below the length. Neither side is
        // above 2^32.
        let root = len.isqrt();
        let width = if root * root < len { root + 1 } else { root.max(1) };
        let height = len.div_ceil(width);
        let mut state = seed;
        let keys = [(); ROUNDS].map(|()| split_mix(&mut state));
        Self { len, keys, width, height }
    }

    /// Of how many numbers.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Of no number.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number at a position; `None` from [`Self::len`] on.
    #[must_use]
    pub fn at(&self, position: u64) -> Option<u64> {
        if position >= self.len {
            return None;
        }
        // A cycle comes back to where it began, which is below the length.
        let mut number = self.encrypt(position);
        while number >= self.len {
            number = self.encrypt(number);
        }
        Some(number)
    }

    fn encrypt(&self, number: u64) -> u64 {
        let (mut row, mut column) = (number / self.width, number % self.width);
        for [even, odd] in self.keys.as_chunks().0 {
            row = shifted(row, round(column, *even), self.height);
            column = shifted(column, round(row, *odd), self.width);
        }
        row * self.width + column
    }
}

/// The sum modulo `size`, of a number below it and a part of it that `random` stands for.
fn shifted(number: u64, random: u64, size: u64) -> u64 {
    // D. Lemire, "Fast random integer generation in an interval", 2019: without a division.
    let sum = number + ((u128::from(random) * u128::from(size)) >> 64) as u64;
    if sum >= size { sum - size } else { sum }
}

/// A multiplication to 128 bits, both halves folded: one instruction, after which the high bits,
/// which count in [`shifted`], depend on all of them.
fn round(half: u64, key: u64) -> u64 {
    let product = u128::from(half ^ key) * u128::from(MULTIPLIER);
    (product >> 64) as u64 ^ product as u64
}

/// SplitMix64 (G. Steele, D. Lea and C. Flood, "Fast splittable pseudorandom number generators",
/// 2014): seeds that differ in one bit give keys that have nothing in common.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(GOLDEN);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// 2^64 over the golden ratio, odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Odd, and with as many ones as zeros in no pattern.
const MULTIPLIER: u64 = 0xd6e8_feb8_6659_fd93;

#[cfg(test)]
mod tests;
