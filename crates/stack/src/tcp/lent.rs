//! A stream that a connection has only while there is something in it: idle ones have no memory for
//! it, busy ones allocate none.

use alloc::boxed::Box;
use core::ops::Deref;

use super::connection::Spare;
use crate::buffer::{Pool, Stream};

/// Nothing, or a stream from the spare ones.
#[derive(Default)]
pub(super) struct Lent(Option<Box<Stream>>);

static EMPTY: Stream = Stream::new();

impl Deref for Lent {
    type Target = Stream;

    fn deref(&self) -> &Stream {
        self.0.as_deref().unwrap_or(&EMPTY)
    }
}

impl Lent {
    /// Appends bytes; see [`Stream::push`].
    pub fn push(&mut self, pool: &mut Pool, spare: &mut Spare, bytes: &[u8]) -> usize {
        if bytes.is_empty() { 0 } else { self.stream(spare).push(pool, bytes) }
    }

    /// Writes bytes at an offset; see [`Stream::write_at`].
    pub fn write_at(
        &mut self,
        pool: &mut Pool,
        spare: &mut Spare,
        offset: u32,
        bytes: &[u8],
    ) -> usize {
        if bytes.is_empty() { 0 } else { self.stream(spare).write_at(pool, offset, bytes) }
    }

    /// See [`Stream::advance`].
    pub fn advance(&mut self, count: u32) {
        if let Some(stream) = &mut self.0 {
            stream.advance(count);
        }
    }

    /// Drops bytes from the front; see [`Stream::consume`].
    pub fn consume(&mut self, pool: &mut Pool, spare: &mut Spare, count: u32) {
        let Some(stream) = &mut self.0 else { return };
        stream.consume(pool, count);
        // Early bytes keep it.
        if stream.extent() == 0
            && let Some(stream) = self.0.take()
        {
            spare.keep_stream(stream);
        }
    }

    /// Drops the early bytes; see [`Stream::discard_early`].
    pub fn discard_early(&mut self, pool: &mut Pool, spare: &mut Spare) {
        let Some(stream) = &mut self.0 else { return };
        stream.discard_early(pool);
        if stream.extent() == 0
            && let Some(stream) = self.0.take()
        {
            spare.keep_stream(stream);
        }
    }

    /// Drops all bytes.
    pub fn clear(&mut self, pool: &mut Pool, spare: &mut Spare) {
        if let Some(mut stream) = self.0.take() {
            stream.clear(pool);
            spare.keep_stream(stream);
        }
    }

    fn stream(&mut self, spare: &mut Spare) -> &mut Stream {
        self.0.get_or_insert_with(|| spare.stream())
    }
}
