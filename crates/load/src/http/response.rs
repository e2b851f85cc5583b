//! Responses, for the client.

use super::{
    Malformed, RESPONSE_HEAD_BYTES_MAX, Read,
    body::Body,
    fields::{Coding, Fields},
};

/// A response that came whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Bytes of the body's content that came, without the frames of chunks.
    pub body_bytes: u64,
    /// What `Content-Length` said, of a response to HEAD too.
    pub content_length: Option<u64>,
    /// Whether the connection may be used for another request (RFC 9112, section 9.3).
    pub is_persistent: bool,
}

/// Finds where responses end. Before each, say what it answers ([`ResponseParser::begin`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseParser {
    at: At,
    is_to_head: bool,
    /// Bytes of the head so far.
    head: usize,
    minor: u8,
    fields: Fields,
    body: Body,
    response: Response,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// So many bytes of `HTTP/1.1 200` have come.
    #[default]
    Begin,
    Version(u8),
    Status(u8),
    Reason,
    LineFeed,
    Fields,
    Body,
}

const VERSION: &[u8; 7] = b"HTTP/1.";

impl ResponseParser {
    /// A parser that waits for the response to a request other than HEAD.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The next bytes begin the response to a HEAD request, which has no body, or to another one.
    pub fn begin(&mut self, is_to_head: bool) {
        *self = Self { is_to_head, ..Self::default() };
    }

    /// Whether nothing of a response has come: a connection that the server ends now was idle.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.at == At::Begin && self.head == 0
    }

    /// Takes bytes up to the end of the response; informational ones (1xx, but for 101) are passed
    /// over. After a response, [`ResponseParser::begin`] the next.
    ///
    /// # Errors
    /// What makes it no response; never [`Malformed::Truncated`].
    #[inline]
    pub fn read(&mut self, bytes: &[u8]) -> Result<Read<Response>, Malformed> {
        let mut used = 0;
        while used < bytes.len() {
            if self.at == At::Body {
                let piece = self.body.read(&bytes[used..])?;
                used += piece.used;
                self.response.body_bytes += piece.content;
                if piece.is_last {
                    return Ok(Read { used, message: Some(self.response) });
                }
                continue;
            }
            let room = RESPONSE_HEAD_BYTES_MAX - self.head;
            let rest = &bytes[used..bytes.len().min(used + room)];
            let (taken, is_head_whole) = self.read_head(rest)?;
            used += taken;
            self.head += taken;
            if is_head_whole {
                if self.head_ended()? {
                    return Ok(Read { used, message: Some(self.response) });
                }
            } else if self.head >= RESPONSE_HEAD_BYTES_MAX {
                return Err(Malformed::HeadTooLong);
            }
        }
        Ok(Read { used, message: None })
    }

    /// The server ended the connection, in order. That ends a response whose length nothing else
    /// says.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] where it should have gone on.
    pub fn end(&mut self) -> Result<Response, Malformed> {
        match (self.at, self.body) {
            (At::Body, Body::UntilClose) => Ok(self.response),
            _ => Err(Malformed::Truncated),
        }
    }

    fn read_head(&mut self, bytes: &[u8]) -> Result<(usize, bool), Malformed> {
        let mut used = 0;
        while let Some(&byte) = bytes.get(used) {
            if self.at == At::Fields {
                let (taken, is_whole) = self.fields.read(&bytes[used..])?;
                return Ok((used + taken, is_whole));
            }
            used += 1;
            self.at = self.after(byte)?;
        }
        Ok((used, false))
    }

    /// The state after a byte of the status line.
    fn after(&mut self, byte: u8) -> Result<At, Malformed> {
        Ok(match (self.at, byte) {
            (At::Begin, b'H') => At::Version(1),
            (At::Version(nth), byte) if VERSION.get(usize::from(nth)) == Some(&byte) => {
                At::Version(nth + 1)
            }
            (At::Version(5), b'0'..=b'9') => return Err(Malformed::Version),
            (At::Version(7), b'0'..=b'9') => {
                self.minor = byte - b'0';
                At::Version(8)
            }
            (At::Version(8), b' ') => At::Status(0),
            (At::Status(nth @ 0..3), b'0'..=b'9') => {
                self.response.status = self.response.status * 10 + u16::from(byte - b'0');
                At::Status(nth + 1)
            }
            // The reason is optional, and many leave the space before it out too.
            (At::Status(3), b' ') => At::Reason,
            (At::Status(3) | At::Reason, b'\r') => At::LineFeed,
            (At::Status(3) | At::Reason | At::LineFeed, b'\n') => At::Fields,
            (At::Reason, byte) if byte != 0 => At::Reason,
            _ => return Err(Malformed::Syntax),
        })
    }

    /// Decides how the body ends (RFC 9112, section 6.3); whether there is none.
    fn head_ended(&mut self) -> Result<bool, Malformed> {
        let said = self.fields.said;
        let status = self.response.status;
        if status < 100 {
            return Err(Malformed::Syntax);
        }
        if status < 200 && status != 101 {
            self.begin(self.is_to_head);
            return Ok(false);
        }
        self.response.content_length = said.content_length;
        let is_kept = if self.minor == 0 { said.has_keep_alive } else { true };
        self.response.is_persistent = is_kept && !said.has_close && status != 101;
        self.at = At::Body;
        if self.is_to_head || matches!(status, 101 | 204 | 304) {
            return Ok(true);
        }
        self.body = match (said.coding, said.content_length) {
            (Coding::None, Some(length)) => Body::Length(length),
            (Coding::Chunked | Coding::OtherChunked, length) if self.minor > 0 => {
                // With both, somebody between may have seen another message.
                self.response.is_persistent &= length.is_none();
                Body::Chunked(Default::default())
            }
            _ => Body::UntilClose,
        };
        self.response.is_persistent &= !matches!(self.body, Body::UntilClose);
        Ok(matches!(self.body, Body::Length(0)))
    }
}
