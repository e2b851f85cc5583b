//! The bytes of connections that wait, to be read or to be acknowledged, in blocks of one pool.

use alloc::{boxed::Box, collections::VecDeque, vec::Vec};

/// Bytes in a block.
pub const BLOCK_BYTES: usize = 4_096;

/// A piece of a stream's bytes.
type Block = Box<[u8; BLOCK_BYTES]>;

/// The blocks of all streams of a stack: as many as the limit says. It keeps up to
/// [`SPARE_BLOCKS_MAX`] of those that came back for the next stream, and gives the others back to
/// the allocator.
#[derive(Debug)]
pub struct Pool {
    spare: Vec<Block>,
    in_use: usize,
    limit: usize,
}

impl Pool {
    /// A pool that hands out at most so many blocks. It begins without any, and allocates them when
    /// they are needed.
    #[must_use]
    pub const fn new(blocks_max: usize) -> Self {
        Self { spare: Vec::new(), in_use: 0, limit: blocks_max }
    }

    /// How many blocks hold bytes of streams.
    #[must_use]
    pub const fn in_use(&self) -> usize {
        self.in_use
    }

    /// How many blocks can hold bytes of streams.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// Whether less than a quarter of the blocks is left.
    #[must_use]
    pub const fn is_short(&self) -> bool {
        self.in_use() > self.ordinary()
    }

    /// How many blocks are left without the last quarter. That is for what arrives: two ends that
    /// have filled all their memory with what they want to send would wait for each other for ever.
    #[must_use]
    pub const fn left_for_writers(&self) -> usize {
        self.ordinary().saturating_sub(self.in_use())
    }

    /// Whether more than half of the blocks are in use. The quarter that is left then is for those
    /// who have written little: peers who do not read, or who leave gaps, must not take it.
    #[must_use]
    pub const fn is_half_used(&self) -> bool {
        self.in_use() > self.limit() / 2
    }

    /// Whether more than three eighths of the blocks are in use: it will be half of them soon.
    #[must_use]
    pub const fn is_filling(&self) -> bool {
        self.in_use() > self.limit().saturating_mul(3) / 8
    }

    const fn ordinary(&self) -> usize {
        self.limit() - self.limit().div_ceil(4)
    }

    /// A block with any content; none when the limit is reached.
    fn take(&mut self) -> Option<Block> {
        if self.in_use >= self.limit {
            return None;
        }
        self.in_use += 1;
        Some(self.spare.pop().unwrap_or_else(|| Box::new([0; BLOCK_BYTES])))
    }

    fn give_back(&mut self, block: Block) {
        debug_assert!(self.in_use > 0, "a block came back that this pool did not hand out");
        self.in_use = self.in_use.saturating_sub(1);
        if self.spare.len() < SPARE_BLOCKS_MAX {
            self.spare.push(block);
        }
    }
}

/// Bytes in order, which leave at the front and come at the end, and behind the end, after a gap,
/// bytes that came too early.
///
/// ```text
///   consume ->  [ in order: len() ][ gap ][ early ][ gap ][ early ]
///               0                  len                            extent()
/// ```
///
/// All offsets count from the next byte to be consumed. The stream does not know which bytes behind
/// `len` have come; that is known to [`Reassembly`](crate::tcp::reassembly::Reassembly), which says
/// by [`gaps`](crate::tcp::reassembly::Reassembly::gaps) what to write, so that no byte that was
/// accepted is ever written again.
///
/// A stream is used with one pool, and [cleared](Self::clear) before it is dropped, or its blocks
/// count as in use for ever. A stream that ran empty has no blocks, and a list of at most
/// [`LIST_KEPT_MAX`] places, 8 bytes each, so that a busy connection allocates nothing; `clear`
/// gives that back too, which is worth it once a connection has been idle for a while.
#[derive(Debug, Default)]
pub struct Stream {
    /// The last one is never absent.
    blocks: VecDeque<Option<Block>>,
    /// Where in the first block the stream begins.
    start: u32,
    len: u32,
    /// Where the furthest byte behind `len` ends; `len` when there is none.
    extent: u32,
}

const _: () = assert!(size_of::<Stream>() <= 48);

impl Stream {
    /// An empty stream, without memory.
    #[must_use]
    pub const fn new() -> Self {
        Self { blocks: VecDeque::new(), start: 0, len: 0, extent: 0 }
    }

    /// How many bytes are in order.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether no byte is in order. Early ones may be there.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The offset behind the furthest byte that was written, early or in order.
    #[must_use]
    pub const fn extent(&self) -> u32 {
        self.extent
    }

    /// How many blocks of the pool the stream holds.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks.iter().flatten().count()
    }

    /// Appends bytes in order; answers how many: fewer than all when the pool has no more blocks.
    /// Early bytes in the way are overwritten.
    pub fn push(&mut self, pool: &mut Pool, bytes: &[u8]) -> usize {
        let written = self.write_at(pool, self.len, bytes);
        self.advance(written as u32);
        written
    }

    /// Writes bytes at an offset that is not before [`len`](Self::len), but may be far behind it,
    /// and does not change `len`. Answers how many of them, from the front: fewer than all when the
    /// pool has no more blocks, none when the offset lies before `len`. The last writer wins. The
    /// caller bounds the offset (by its receive window): the list of blocks grows to reach it, by 8
    /// bytes for each [`BLOCK_BYTES`].
    pub fn write_at(&mut self, pool: &mut Pool, offset: u32, bytes: &[u8]) -> usize {
        if offset < self.len {
            return 0;
        }
        // Positions stay below 2^32, so that no sum below overflows.
        let room = u32::MAX - BLOCK_BYTES as u32 - self.start;
        let bytes = bytes.get(..room.saturating_sub(offset) as usize).unwrap_or(bytes);
        let mut written = 0;
        while written < bytes.len() {
            let (index, within) = self.position(offset + written as u32);
            let Some(block) = self.block_at(pool, index) else { break };
            let (Some(to), Some(from)) = (block.get_mut(within..), bytes.get(written..)) else {
                break;
            };
            written += copy(to, from);
        }
        if written > 0 {
            self.extent = self.extent.max(offset + written as u32);
        }
        written
    }

    /// The next `count` bytes, which were written before, are in order now. It stops at the end of
    /// what was written.
    pub fn advance(&mut self, count: u32) {
        debug_assert!(count <= self.extent - self.len, "only what was written can be in order");
        self.len = self.len.saturating_add(count).min(self.extent);
    }

    /// Copies bytes in order from an offset on; answers how many: as many as there are and fit.
    pub fn copy_out(&self, offset: u32, out: &mut [u8]) -> usize {
        let count = u32::try_from(out.len()).unwrap_or(u32::MAX);
        let mut done = 0;
        for slice in self.slices(offset, count) {
            let Some(rest) = out.get_mut(done..) else { break };
            done += copy(rest, slice);
        }
        done
    }

    /// At most `len` bytes in order from an offset on, where they lie.
    pub fn slices(&self, offset: u32, len: u32) -> impl Iterator<Item = &[u8]> {
        let mut offset = offset.min(self.len);
        let end = offset.saturating_add(len).min(self.len);
        core::iter::from_fn(move || {
            let (index, within) = self.position(offset);
            let block = self.blocks.get(index)?.as_ref()?;
            let count = ((end - offset) as usize).min(BLOCK_BYTES - within);
            offset += count as u32;
            block.get(within..within + count).filter(|slice| !slice.is_empty())
        })
    }

    /// The bytes in order that lie together at the front: empty only if there are none in order.
    #[must_use]
    pub fn front(&self) -> &[u8] {
        self.slices(0, self.len).next().unwrap_or_default()
    }

    /// Drops bytes from the front, at most those that are in order. All offsets are smaller by that
    /// from now on.
    pub fn consume(&mut self, pool: &mut Pool, count: u32) {
        let count = count.min(self.len);
        self.len -= count;
        self.drop_front(pool, count);
    }

    /// The next bytes do not come into the stream, which has none in order: they were handed on
    /// where they arrived. The early ones are as much nearer to the front; those that are passed
    /// over are dropped.
    pub fn skip(&mut self, pool: &mut Pool, count: u32) {
        debug_assert!(self.len == 0, "bytes in order would be passed over");
        if self.len == 0 {
            self.drop_front(pool, count.min(self.extent));
        }
    }

    /// Drops the early bytes: a receiver may do so when memory is short, although it reported them
    /// (RFC 2018, section 8).
    pub fn discard_early(&mut self, pool: &mut Pool) {
        self.extent = self.len;
        let (last, within) = self.position(self.len);
        let kept = if within > 0 { last + 1 } else { last };
        while self.blocks.len() > kept {
            if let Some(block) = self.blocks.pop_back().flatten() {
                pool.give_back(block);
            }
        }
        if self.extent == 0 {
            self.run_empty(pool);
        }
    }

    /// Drops all bytes, and gives all memory back.
    pub fn clear(&mut self, pool: &mut Pool) {
        self.give_back_all(pool);
        self.blocks = VecDeque::new();
    }

    /// Moves the front on by so many bytes, at most up to `extent`.
    fn drop_front(&mut self, pool: &mut Pool, count: u32) {
        self.extent = self.extent.saturating_sub(count);
        if self.extent == 0 {
            self.run_empty(pool);
            return;
        }
        self.start += count;
        while self.start as usize >= BLOCK_BYTES {
            if let Some(block) = self.blocks.pop_front().flatten() {
                pool.give_back(block);
            }
            self.start -= BLOCK_BYTES as u32;
        }
    }

    fn run_empty(&mut self, pool: &mut Pool) {
        self.give_back_all(pool);
        self.blocks.shrink_to(LIST_KEPT_MAX);
    }

    fn give_back_all(&mut self, pool: &mut Pool) {
        while let Some(block) = self.blocks.pop_front() {
            if let Some(block) = block {
                pool.give_back(block);
            }
        }
        (self.start, self.len, self.extent) = (0, 0, 0);
    }

    /// Which block an offset is in, and where there.
    fn position(&self, offset: u32) -> (usize, usize) {
        let position = (self.start + offset) as usize;
        (position / BLOCK_BYTES, position % BLOCK_BYTES)
    }

    /// The block at this place of the list, from the pool if it is absent. When the pool has none,
    /// the list stays as it is.
    fn block_at(&mut self, pool: &mut Pool, index: usize) -> Option<&mut Block> {
        if self.blocks.get(index).is_none_or(Option::is_none) {
            let block = pool.take()?;
            if index >= self.blocks.len() {
                self.blocks.resize_with(index + 1, || None);
            }
            *self.blocks.get_mut(index)? = Some(block);
        }
        self.blocks.get_mut(index)?.as_mut()
    }
}

/// Copies what fits; answers how many bytes.
fn copy(to: &mut [u8], from: &[u8]) -> usize {
    let count = to.len().min(from.len());
    if let (Some(to), Some(from)) = (to.get_mut(..count), from.get(..count)) {
        to.copy_from_slice(from);
    }
    count
}

/// Blocks that a pool keeps for the next stream: 4 MiB.
pub const SPARE_BLOCKS_MAX: usize = 1_024;

/// Places in the list of blocks that an empty stream keeps: enough for 64 KiB.
pub const LIST_KEPT_MAX: usize = 16;

#[cfg(test)]
mod tests;
