//! What a connection has yet to send: nothing, but for when its other end reads slower than it
//! writes.

use super::{
    counters::Counters,
    stream::{Failure, Stream},
};

/// How many bytes are written at once, at most.
pub(super) const PIECE: usize = 65_536;

/// How often one connection is written to before others have their turn.
const WRITES_IN_TURN: usize = 16;

/// What came of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// All was taken.
    All,
    /// No more is taken for now.
    Blocked,
    /// There is more, but others have their turn now.
    TurnOver,
}

/// Bytes that were made but not taken, then so many bytes of filler; after them, input that was
/// read but not looked at.
#[derive(Debug, Default)]
pub(super) struct Output {
    filler: u64,
    held: Option<Box<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    bytes: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
}

impl Output {
    /// Owes so many bytes of filler more.
    pub(super) fn owe(&mut self, filler: u64) {
        self.filler += filler;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.filler == 0 && self.held.is_none()
    }

    /// So many bytes are held in memory.
    pub(super) fn held(&self) -> usize {
        self.held.as_ref().map_or(0, |held| held.bytes.len() + held.input.len())
    }

    /// Keeps input for when everything is sent.
    pub(super) fn hold_input(&mut self, input: &[u8]) {
        self.held.get_or_insert_default().input.extend_from_slice(input);
    }

    /// The input that was kept. Everything is sent, so nothing else is held.
    pub(super) fn take_input(&mut self) -> Option<Vec<u8>> {
        self.held.take().map(|held| held.input).filter(|input| !input.is_empty())
    }

    /// Sends `bytes` and then what is owed; nothing is held. What is not taken of them is.
    pub(super) fn send(
        &mut self,
        stream: &mut impl Stream,
        bytes: &[u8],
        filler: &[u8],
        counters: &Counters,
    ) -> Result<Sent, Failure> {
        if !bytes.is_empty() {
            let sent = match stream.write(bytes, self.piece(filler)) {
                Ok(count) => count,
                Err(Failure::Blocked | Failure::Interrupted) => 0,
                Err(failure) => return Err(failure),
            };
            counters.bytes_sent.add(sent as u64);
            if let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
                self.held.get_or_insert_default().bytes.extend_from_slice(rest);
            } else {
                self.filler -= (sent - bytes.len()) as u64;
            }
        }
        self.go_on(stream, filler, counters)
    }

    /// Sends what is held and owed, as far as the kernel takes it in one turn.
    pub(super) fn go_on(
        &mut self,
        stream: &mut impl Stream,
        filler: &[u8],
        counters: &Counters,
    ) -> Result<Sent, Failure> {
        for _ in 0..WRITES_IN_TURN {
            let piece = self.piece(filler);
            let rest = self.held.as_ref().map_or(&[][..], |held| &held.bytes[held.sent..]);
            if rest.is_empty() && piece.is_empty() {
                return Ok(Sent::All);
            }
            let sent = match stream.write(rest, piece) {
                Ok(count) => count,
                Err(Failure::Blocked) => return Ok(Sent::Blocked),
                Err(Failure::Interrupted) => continue,
                Err(failure) => return Err(failure),
            };
            counters.bytes_sent.add(sent as u64);
            let of_held = sent.min(rest.len());
            self.filler -= (sent - of_held) as u64;
            if let Some(held) = &mut self.held {
                held.sent += of_held;
                if held.sent == held.bytes.len() {
                    (held.bytes, held.sent) = (Vec::new(), 0);
                }
            }
        }
        Ok(if self.filler == 0 && !self.is_holding() { Sent::All } else { Sent::TurnOver })
    }

    fn is_holding(&self) -> bool {
        self.held.as_ref().is_some_and(|held| !held.bytes.is_empty())
    }

    fn piece<'a>(&self, filler: &'a [u8]) -> &'a [u8] {
        let length = usize::try_from(self.filler).unwrap_or(usize::MAX);
        &filler[..length.min(filler.len())]
    }
}

#[cfg(test)]
mod tests;
