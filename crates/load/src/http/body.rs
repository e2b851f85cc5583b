//! Where a message's body ends (RFC 9112, sections 6 and 7).

use super::{CHUNK_LINE_BYTES_MAX, Malformed, fields::Fields};

/// A body that is being read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Body {
    /// Of which so many bytes are to come.
    Length(u64),
    /// In chunks.
    Chunked(Chunked),
    /// That ends with the connection.
    #[default]
    UntilClose,
}

/// Some bytes of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// So many belong to it.
    pub(super) used: usize,
    /// So many of them are its content.
    pub(super) content: u64,
    /// That is all of it.
    pub(super) is_last: bool,
}

/// A chunked body.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chunked {
    at: At,
    /// Bytes of the chunk's size line, or of the trailers.
    line: usize,
    /// The size of the chunk, or what is left of it.
    size: u64,
    trailers: Fields,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// Before the first digit of a chunk's size.
    #[default]
    Size,
    Digits,
    Extension,
    SizeLineFeed,
    Data,
    DataReturn,
    DataLineFeed,
    Trailers,
}

impl Body {
    /// Takes what belongs to the body.
    #[inline]
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<Piece, Malformed> {
        match self {
            Self::Length(left) => {
                let used = taken(left, bytes);
                let is_last = *left == 0;
                Ok(Piece { used, content: used as u64, is_last })
            }
            Self::Chunked(chunked) => chunked.read(bytes),
            Self::UntilClose => {
                Ok(Piece { used: bytes.len(), content: bytes.len() as u64, is_last: false })
            }
        }
    }
}

/// Takes what is left from what there is.
fn taken(left: &mut u64, bytes: &[u8]) -> usize {
    let used = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
    *left -= used as u64;
    used
}

impl Chunked {
    fn read(&mut self, bytes: &[u8]) -> Result<Piece, Malformed> {
        let mut piece = Piece { used: 0, content: 0, is_last: false };
        while piece.used < bytes.len() {
            let rest = &bytes[piece.used..];
            match self.at {
                At::Data => {
                    let used = taken(&mut self.size, rest);
                    piece.used += used;
                    piece.content += used as u64;
                    if self.size == 0 {
                        self.at = At::DataReturn;
                    }
                }
                At::Trailers => {
                    let rest = &rest[..rest.len().min(CHUNK_LINE_BYTES_MAX - self.line)];
                    let (used, is_last) = self.trailers.read(rest)?;
                    piece.used += used;
                    self.line += used;
                    if is_last {
                        piece.is_last = true;
                        return Ok(piece);
                    }
                    if self.line >= CHUNK_LINE_BYTES_MAX {
                        return Err(Malformed::HeadTooLong);
                    }
                }
                _ => {
                    self.take(rest[0])?;
                    piece.used += 1;
                }
            }
        }
        Ok(piece)
    }

    /// Takes a byte of the lines around chunks. They end with CR LF and nothing less: whoever takes
    /// other ends for theirs sees other messages than who does not.
    fn take(&mut self, byte: u8) -> Result<(), Malformed> {
        self.line += 1;
        if self.line > CHUNK_LINE_BYTES_MAX {
            return Err(Malformed::HeadTooLong);
        }
        self.at = match (self.at, byte) {
            (At::Size | At::Digits, digit) if digit.is_ascii_hexdigit() => {
                let digit = (digit as char).to_digit(16).unwrap_or(0);
                let size = self.size.checked_mul(16).ok_or(Malformed::Syntax)?;
                self.size = size + u64::from(digit);
                At::Digits
            }
            (At::Digits, b';' | b' ' | b'\t') => At::Extension,
            (At::Digits | At::Extension, b'\r') => At::SizeLineFeed,
            (At::Extension, byte) if byte != b'\n' && byte != 0 => At::Extension,
            (At::SizeLineFeed, b'\n') => {
                self.line = 0;
                if self.size == 0 { At::Trailers } else { At::Data }
            }
            (At::DataReturn, b'\r') => At::DataLineFeed,
            (At::DataLineFeed, b'\n') => {
                self.line = 0;
                At::Size
            }
            _ => return Err(Malformed::Syntax),
        };
        Ok(())
    }
}
