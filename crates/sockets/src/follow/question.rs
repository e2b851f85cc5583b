//! What user space asks about sockets, and the kernel's answers, each in the place of its question
//! (`struct question` of `bpf/follow.h`), in host byte order but for the addresses.
//!
//! ```text
//! address:8 cookie:8 bucket:4, and room for a row, which is the answer, in place of the bucket
//! ```

use super::event::{self, AT_SOCKET, Where};
use crate::{Row, State};

/// The size of a question.
pub const BYTES: usize = event::V6_BYTES;

/// So many can be asked at a time: `QUESTIONS_MAX`.
pub const MOST: usize = 1024;

/// Where its bucket is, and then the row.
const ROW: usize = 16;

/// In place of the address family.
const IS_GONE: u8 = 0;
const IS_UNKNOWN: u8 = 255;

/// What the kernel says of a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is not there any more.
    Gone,
    /// It was not found, but may have been moved meanwhile.
    Unknown,
    /// It was asked for in a chain, and is there in this state.
    Waiting(State),
    /// It is this; of a listener, `receive_queue` is how many connections are half-open.
    Row(Box<Row>),
}

/// Writes questions, each with its cookie.
pub fn encode(all: &[(u64, Where)], bytes: &mut [u8]) {
    for ((cookie, place), question) in all.iter().zip(bytes.chunks_mut(BYTES)) {
        let (address, bucket) = match *place {
            Where::Socket(address) => (address, AT_SOCKET),
            Where::Chain(address, bucket) => (address, bucket),
        };
        question[..8].copy_from_slice(&address.to_ne_bytes());
        question[8..16].copy_from_slice(&cookie.to_ne_bytes());
        question[ROW..ROW + 4].copy_from_slice(&bucket.to_ne_bytes());
    }
}

/// Hands the answers to these questions to `each`, with the cookies.
pub fn decode(all: &[(u64, Where)], bytes: &[u8], each: &mut dyn FnMut(u64, Answer)) {
    for ((cookie, place), question) in all.iter().zip(bytes.chunks(BYTES)) {
        let row = &question[ROW..];
        let answer = match (row[0], place) {
            (IS_GONE, _) => Answer::Gone,
            (IS_UNKNOWN, _) => Answer::Unknown,
            (_, Where::Chain(..)) => {
                State::from_kernel(row[1]).map_or(Answer::Unknown, Answer::Waiting)
            }
            _ => event::row(row).map_or(Answer::Unknown, |row| Answer::Row(Box::new(row))),
        };
        each(*cookie, answer);
    }
}

#[cfg(test)]
mod tests;
