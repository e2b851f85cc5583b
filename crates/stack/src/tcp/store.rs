//! Where connections lie: by number, in chunks, so that a growing table moves none of them.

use alloc::{boxed::Box, vec::Vec};

/// A table of values by number. A number that was freed is used again, with another generation.
pub(super) struct Store<T> {
    chunks: Vec<Box<[Slot<T>]>>,
    free: Vec<u32>,
    len: usize,
}

struct Slot<T> {
    generation: u32,
    /// For who puts values into chains.
    next: u32,
    value: Option<T>,
}

impl<T> Store<T> {
    pub fn new() -> Self {
        Self { chunks: Vec::new(), free: Vec::new(), len: 0 }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The numbers that there are, taken or not, are below this one.
    pub fn numbers(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    /// Puts a value in, and tells its number and generation.
    pub fn insert(&mut self, value: T) -> (u32, u32) {
        if self.free.is_empty() {
            self.grow();
        }
        // There are far fewer than 2^32 values: the limit of connections sees to it.
        let index = self.free.pop().unwrap_or_default();
        let mut generation = 0;
        if let Some(slot) = self.slot(index) {
            slot.value = Some(value);
            generation = slot.generation;
            self.len += 1;
        }
        (index, generation)
    }

    /// The value with this number.
    pub fn get(&self, index: u32) -> Option<&T> {
        self.chunks.get(chunk(index))?.get(place(index))?.value.as_ref()
    }

    /// The value with this number.
    pub fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.slot(index)?.value.as_mut()
    }

    /// The generation that the number has at present.
    pub fn generation(&self, index: u32) -> Option<u32> {
        self.chunks.get(chunk(index))?.get(place(index)).map(|slot| slot.generation)
    }

    /// The value with this number, and what was last given to [`set_next`](Self::set_next).
    pub fn get_with_next(&self, index: u32) -> Option<(&T, u32)> {
        let slot = self.chunks.get(chunk(index))?.get(place(index))?;
        Some((slot.value.as_ref()?, slot.next))
    }

    /// Remembers a number with the one of a value. It takes no memory beside the generation's.
    pub fn set_next(&mut self, index: u32, next: u32) {
        if let Some(slot) = self.slot(index) {
            slot.next = next;
        }
    }

    /// Takes the value out. Its number means another one from now on.
    pub fn remove(&mut self, index: u32) -> Option<T> {
        let slot = self.slot(index)?;
        let value = slot.value.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index);
        self.len -= 1;
        Some(value)
    }

    fn slot(&mut self, index: u32) -> Option<&mut Slot<T>> {
        self.chunks.get_mut(chunk(index))?.get_mut(place(index))
    }

    fn grow(&mut self) {
        let first = self.chunks.len() * CHUNK;
        self.chunks
            .push((0..CHUNK).map(|_| Slot { generation: 0, next: 0, value: None }).collect());
        // The lowest number is taken first.
        self.free
            .extend((first..first + CHUNK).rev().filter_map(|index| u32::try_from(index).ok()));
    }
}

fn chunk(index: u32) -> usize {
    index as usize / CHUNK
}

fn place(index: u32) -> usize {
    index as usize % CHUNK
}

const CHUNK: usize = 256;

#[cfg(test)]
mod tests;
