//! Header and trailer sections (RFC 9112, section 5): the few fields that matter here are read, all
//! others passed over.

use super::{Malformed, is_token};

/// The longest word that is told from others: `transfer-encoding`.
const WORD: usize = 17;

/// What the fields said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) content_length: Option<u64>,
    pub(super) coding: Coding,
    pub(super) has_close: bool,
    pub(super) has_keep_alive: bool,
    pub(super) hosts: u8,
    /// In one of them is what no host can have.
    pub(super) is_host_wrong: bool,
    pub(super) expects_continue: bool,
}

/// What `Transfer-Encoding` said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Coding {
    /// Nothing: there was none.
    #[default]
    None,
    /// `chunked`, and nothing else.
    Chunked,
    /// Others, and `chunked` last.
    OtherChunked,
    /// Others.
    Other,
}

/// Reads a section up to the empty line that ends it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fields {
    at: At,
    field: Field,
    word: [u8; WORD],
    /// Longer than `WORD` for a word that is none of ours.
    word_length: u8,
    /// White space came after the word.
    has_gap: bool,
    /// Of `Content-Length`.
    number: Number,
    pub(super) said: Said,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// Before a field's name, or the empty line.
    #[default]
    Line,
    Name,
    Value,
    /// After the CR of a field's line.
    LineFeed,
    /// After the CR of the empty line.
    LastLineFeed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Field {
    #[default]
    Other,
    ContentLength,
    TransferEncoding,
    Connection,
    Host,
    Expect,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Number {
    #[default]
    None,
    Some(u64),
    /// White space came after it.
    Ended(u64),
}

impl Fields {
    /// How many of the bytes belong to the section, and whether that is all of it.
    #[inline]
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<(usize, bool), Malformed> {
        let mut used = 0;
        while let Some(&byte) = bytes.get(used) {
            if self.at == At::Value && self.field == Field::Other {
                let rest = &bytes[used..];
                let plain = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n' | 0));
                let plain = plain.unwrap_or(rest.len());
                if plain > 0 {
                    used += plain;
                    continue;
                }
            }
            used += 1;
            if self.take(byte)? {
                return Ok((used, true));
            }
        }
        Ok((used, false))
    }

    /// Takes a byte; whether the section ends with it.
    #[inline]
    fn take(&mut self, byte: u8) -> Result<bool, Malformed> {
        match (self.at, byte) {
            (At::Line, b'\r') => self.at = At::LastLineFeed,
            // RFC 9112, section 2.2: a lone LF may be taken for the end of a line.
            (At::Line | At::LastLineFeed, b'\n') => {
                self.at = At::Line;
                return Ok(true);
            }
            (At::Line, _) => {
                self.word_length = 0;
                self.at = At::Name;
                // White space here folds the line before (section 5.2), which nobody should.
                self.name(byte)?;
            }
            (At::Name, b':') if self.word_length > 0 => {
                self.field = self.named();
                (self.word_length, self.has_gap) = (0, false);
                self.number = Number::None;
                self.at = At::Value;
                if self.field == Field::Host {
                    self.said.hosts = self.said.hosts.saturating_add(1);
                }
            }
            (At::Name, _) => self.name(byte)?,
            (At::Value, b'\r' | b'\n') => {
                self.value_ended()?;
                self.at = if byte == b'\n' { At::Line } else { At::LineFeed };
            }
            (At::Value, 0) => return Err(Malformed::Syntax),
            (At::Value, _) => self.value(byte)?,
            (At::LineFeed, b'\n') => self.at = At::Line,
            (At::LineFeed | At::LastLineFeed, _) => return Err(Malformed::Syntax),
        }
        Ok(false)
    }

    fn name(&mut self, byte: u8) -> Result<(), Malformed> {
        if !is_token(byte) {
            return Err(Malformed::Syntax);
        }
        self.extend_word(byte);
        Ok(())
    }

    fn extend_word(&mut self, byte: u8) {
        if let Some(place) = self.word.get_mut(usize::from(self.word_length)) {
            *place = byte.to_ascii_lowercase();
        }
        self.word_length = self.word_length.saturating_add(1);
    }

    /// The word in lower case; empty if it is longer than any of ours.
    fn word(&self) -> &[u8] {
        self.word.get(..usize::from(self.word_length)).unwrap_or_default()
    }

    fn named(&self) -> Field {
        match self.word() {
            b"content-length" => Field::ContentLength,
            b"transfer-encoding" => Field::TransferEncoding,
            b"connection" => Field::Connection,
            b"host" => Field::Host,
            b"expect" => Field::Expect,
            _ => Field::Other,
        }
    }

    fn value(&mut self, byte: u8) -> Result<(), Malformed> {
        match self.field {
            Field::Other => {}
            Field::Host => match byte {
                b' ' | b'\t' => self.has_gap = self.word_length > 0,
                _ if self.has_gap || !is_of_host(byte) => self.said.is_host_wrong = true,
                _ => self.word_length = 1,
            },
            Field::ContentLength => self.number = self.number.extended(byte)?,
            Field::TransferEncoding | Field::Connection | Field::Expect => match byte {
                b',' => self.word_ended(),
                b' ' | b'\t' => self.has_gap = self.word_length > 0,
                _ if self.has_gap => self.word_length = u8::MAX,
                _ => self.extend_word(byte),
            },
        }
        Ok(())
    }

    /// An element of a list ended.
    fn word_ended(&mut self) {
        let is_empty = self.word_length == 0;
        let word = self.word();
        match (self.field, word) {
            _ if is_empty => {}
            (Field::Connection, b"close") => self.said.has_close = true,
            (Field::Connection, b"keep-alive") => self.said.has_keep_alive = true,
            (Field::Expect, b"100-continue") => self.said.expects_continue = true,
            (Field::TransferEncoding, word) => {
                self.said.coding = self.said.coding.then(word == b"chunked");
            }
            _ => {}
        }
        (self.word_length, self.has_gap) = (0, false);
    }

    fn value_ended(&mut self) -> Result<(), Malformed> {
        if self.field == Field::ContentLength {
            let length = self.number.value().ok_or(Malformed::Syntax)?;
            // RFC 9110, section 8.6: the same twice may pass, two that differ may not.
            if self.said.content_length.is_some_and(|before| before != length) {
                return Err(Malformed::Syntax);
            }
            self.said.content_length = Some(length);
        }
        if !matches!(self.field, Field::Other | Field::Host) {
            self.word_ended();
        }
        // An empty list too may be seen as something else by somebody else.
        if self.field == Field::TransferEncoding && self.said.coding == Coding::None {
            self.said.coding = Coding::Other;
        }
        Ok(())
    }
}

/// The octets of a host and port (RFC 3986, section 3.2).
fn is_of_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(&byte)
}

impl Coding {
    fn then(self, is_chunked: bool) -> Self {
        match (self, is_chunked) {
            (Self::None, true) => Self::Chunked,
            (Self::Other, true) => Self::OtherChunked,
            // Chunked, and then something: RFC 9112, section 6.1, forbids it.
            _ => Self::Other,
        }
    }
}

impl Number {
    fn extended(self, byte: u8) -> Result<Self, Malformed> {
        let digit = match byte {
            b'0'..=b'9' => u64::from(byte - b'0'),
            b' ' | b'\t' => {
                return Ok(match self {
                    Self::None => Self::None,
                    Self::Some(number) | Self::Ended(number) => Self::Ended(number),
                });
            }
            _ => return Err(Malformed::Syntax),
        };
        let before = match self {
            Self::None => 0,
            Self::Some(number) => number,
            Self::Ended(_) => return Err(Malformed::Syntax),
        };
        let number = before.checked_mul(10).and_then(|tens| tens.checked_add(digit));
        Ok(Self::Some(number.ok_or(Malformed::Syntax)?))
    }

    fn value(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Some(number) | Self::Ended(number) => Some(number),
        }
    }
}
