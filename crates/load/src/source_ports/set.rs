//! A set of small numbers that finds the next one in a fixed number of steps.

/// Numbers in a word, words in a chunk, chunks in a set: 65,536 numbers in all.
const WORD: u32 = 64;
const WORDS: usize = 32;
const CHUNK: u32 = 2_048;

/// A set of numbers below its size, as a bitmap of three levels: a bit says of each chunk whether
/// anything is in it, then of each word, then of each number. Chunks that are all empty or all full
/// take no memory; the whole never more than 8 KiB and a little.
#[derive(Clone, Debug)]
pub(super) struct Set {
    size: u32,
    count: u32,
    /// A bit for each chunk that is not empty.
    some: u32,
    chunks: Box<[Chunk]>,
    /// How many words were looked at: what a test holds against what was promised.
    #[cfg(test)]
    pub(super) looked_at: std::cell::Cell<u64>,
}

#[derive(Clone, Debug)]
enum Chunk {
    Empty,
    Full,
    Mixed(Box<Mixed>),
}

#[derive(Clone, Debug)]
struct Mixed {
    count: u32,
    /// A bit for each word that is not empty.
    some: u32,
    words: [u64; WORDS],
}

impl Set {
    /// All numbers below `size`, which is 65,536 at most, or none of them.
    pub(super) fn new(size: u32, is_full: bool) -> Self {
        let size = size.min(CHUNK * 32);
        let chunks = size.div_ceil(CHUNK);
        let kind = || if is_full { Chunk::Full } else { Chunk::Empty };
        Self {
            size,
            count: if is_full { size } else { 0 },
            some: if is_full && size > 0 { u32::MAX >> (32 - chunks) } else { 0 },
            chunks: (0..chunks).map(|_| kind()).collect(),
            #[cfg(test)]
            looked_at: std::cell::Cell::new(0),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn contains(&self, number: u32) -> bool {
        number < self.size
            && match &self.chunks[at(number / CHUNK)] {
                Chunk::Empty => false,
                Chunk::Full => true,
                Chunk::Mixed(mixed) => mixed.words[at(number % CHUNK / WORD)] & bit(number) != 0,
            }
    }

    /// Adds a number; whether it was not there yet.
    pub(super) fn insert(&mut self, number: u32) -> bool {
        if number >= self.size || self.contains(number) {
            return false;
        }
        let nth = number / CHUNK;
        let size = self.size_of(nth);
        let chunk = &mut self.chunks[at(nth)];
        if let Chunk::Empty = chunk {
            *chunk = Chunk::Mixed(Box::new(Mixed { count: 0, some: 0, words: [0; WORDS] }));
        }
        if let Chunk::Mixed(mixed) = chunk {
            let word = number % CHUNK / WORD;
            mixed.words[at(word)] |= bit(number);
            mixed.some |= 1 << word;
            mixed.count += 1;
            if mixed.count == size {
                *chunk = Chunk::Full;
            }
        }
        self.some |= 1 << nth;
        self.count += 1;
        true
    }

    /// Takes a number out; whether it was there.
    pub(super) fn remove(&mut self, number: u32) -> bool {
        if !self.contains(number) {
            return false;
        }
        let nth = number / CHUNK;
        let size = self.size_of(nth);
        let chunk = &mut self.chunks[at(nth)];
        if let Chunk::Full = chunk {
            *chunk = Chunk::Mixed(Box::new(Mixed::full(size)));
        }
        if let Chunk::Mixed(mixed) = chunk {
            let word = number % CHUNK / WORD;
            mixed.words[at(word)] &= !bit(number);
            if mixed.words[at(word)] == 0 {
                mixed.some &= !(1 << word);
            }
            mixed.count -= 1;
            if mixed.count == 0 {
                *chunk = Chunk::Empty;
                self.some &= !(1 << nth);
            }
        }
        self.count -= 1;
        true
    }

    /// The first number from `from` on, or else the first of all.
    pub(super) fn next(&self, from: u32) -> Option<u32> {
        self.at_or_after(from).or_else(|| self.at_or_after(0))
    }

    fn at_or_after(&self, from: u32) -> Option<u32> {
        if from >= self.size || self.is_empty() {
            return None;
        }
        let nth = from / CHUNK;
        let within = |nth: u32, from| {
            self.look();
            let found = self.chunks[at(nth)].at_or_after(from, || self.look())?;
            Some(nth * CHUNK + found).filter(|&number| number < self.size)
        };
        within(nth, from % CHUNK).or_else(|| within(first(self.some & above(nth))?, 0))
    }

    /// How many numbers a chunk has room for.
    fn size_of(&self, nth: u32) -> u32 {
        (self.size - nth * CHUNK).min(CHUNK)
    }

    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "counted in tests"))]
    fn look(&self) {
        #[cfg(test)]
        self.looked_at.set(self.looked_at.get() + 1);
    }
}

impl Chunk {
    fn at_or_after(&self, from: u32, look: impl Fn()) -> Option<u32> {
        let mixed = match self {
            Self::Empty => return None,
            Self::Full => return Some(from),
            Self::Mixed(mixed) => mixed,
        };
        let word = from / WORD;
        look();
        let rest = mixed.words[at(word)] & (u64::MAX << (from % WORD));
        if rest != 0 {
            return Some(word * WORD + rest.trailing_zeros());
        }
        let word = first(mixed.some & above(word))?;
        look();
        Some(word * WORD + mixed.words[at(word)].trailing_zeros())
    }
}

impl Mixed {
    fn full(size: u32) -> Self {
        let mut mixed = Self { count: size, some: 0, words: [0; WORDS] };
        for (nth, word) in (0..).zip(&mut mixed.words) {
            let room = size.saturating_sub(nth * WORD).min(WORD);
            if room > 0 {
                *word = u64::MAX >> (WORD - room);
                mixed.some |= 1 << nth;
            }
        }
        mixed
    }
}

fn bit(number: u32) -> u64 {
    1 << (number % WORD)
}

/// The bits above the `nth`.
fn above(nth: u32) -> u32 {
    u32::MAX.checked_shl(nth + 1).unwrap_or(0)
}

fn first(bits: u32) -> Option<u32> {
    (bits != 0).then(|| bits.trailing_zeros())
}

fn at(number: u32) -> usize {
    crate::deadlines::position(number)
}

#[cfg(test)]
mod tests;
