//! Requests, for the server.

use super::{
    Malformed, REQUEST_HEAD_BYTES_MAX, Read, TARGET_BYTES_MAX,
    body::Body,
    fields::{Coding, Fields},
    is_token,
};

/// So many bytes of a path are kept.
const PATH: usize = 22;

/// What a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// GET.
    Get,
    /// HEAD: the same, without the body.
    Head,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// Any other.
    #[default]
    Other,
}

/// A request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What is to be done.
    pub method: Method,
    /// Bytes of its body's content, without the frames of chunks.
    pub body_bytes: u64,
    /// Whether the connection is to be used for another request (RFC 9112, section 9.3).
    pub is_persistent: bool,
    /// HTTP/1.0, whose connections persist only if the response says so.
    pub is_version_0: bool,
    path: [u8; PATH],
    path_length: u8,
}

impl Request {
    /// The path without the query; none if it is longer than 22 bytes.
    #[must_use]
    pub fn path(&self) -> Option<&[u8]> {
        self.path.get(..usize::from(self.path_length))
    }
}

/// What a client sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEvent {
    /// A head after which the client waits for `100 Continue` before it sends the body.
    Continue,
    /// A request and all of its body.
    Request(Request),
}

/// Finds requests, and where they end.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestParser {
    at: At,
    /// Bytes of the head so far.
    head: usize,
    /// Bytes of the target so far.
    target: usize,
    /// The method's first bytes.
    word: [u8; 4],
    word_length: u8,
    fields: Fields,
    body: Body,
    request: Request,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// Before the request line: empty lines are passed over (RFC 9112, section 2.2).
    #[default]
    Begin,
    Method,
    Target,
    /// In the scheme and authority of an absolute target, after so many slashes.
    Authority(u8),
    Path,
    Query,
    Version(u8),
    LineFeed,
    Fields,
    Body,
}

const VERSION: &[u8; 7] = b"HTTP/1.";

impl RequestParser {
    /// A parser that waits for a request.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it is between two requests: nothing of the next has come, but for empty lines.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.at == At::Begin
    }

    /// Whether the head has come, and some of the body has not.
    #[must_use]
    pub fn is_in_body(&self) -> bool {
        self.at == At::Body
    }

    /// Takes bytes up to the end of a request, or of a head that asks for `100 Continue`.
    ///
    /// # Errors
    /// What makes it no request; never [`Malformed::Truncated`].
    #[inline]
    pub fn read(&mut self, bytes: &[u8]) -> Result<Read<RequestEvent>, Malformed> {
        let mut used = 0;
        while used < bytes.len() {
            if self.at == At::Body {
                let piece = self.body.read(&bytes[used..])?;
                used += piece.used;
                self.request.body_bytes += piece.content;
                if piece.is_last {
                    return Ok(self.whole(used));
                }
                continue;
            }
            let room = REQUEST_HEAD_BYTES_MAX - self.head;
            let rest = &bytes[used..bytes.len().min(used + room)];
            let (taken, is_head_whole) = self.read_head(rest)?;
            used += taken;
            self.head += taken;
            if is_head_whole {
                if self.head_ended()? {
                    return Ok(self.whole(used));
                }
                if self.fields.said.expects_continue && !self.request.is_version_0 {
                    return Ok(Read { used, message: Some(RequestEvent::Continue) });
                }
            } else if self.head >= REQUEST_HEAD_BYTES_MAX {
                return Err(Malformed::HeadTooLong);
            }
        }
        Ok(Read { used, message: None })
    }

    fn whole(&mut self, used: usize) -> Read<RequestEvent> {
        let message = Some(RequestEvent::Request(self.request));
        *self = Self::default();
        Read { used, message }
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

    /// The state after a byte of the request line.
    fn after(&mut self, byte: u8) -> Result<At, Malformed> {
        if matches!(self.at, At::Target | At::Authority(_) | At::Path | At::Query) {
            return self.after_target(byte);
        }
        Ok(match (self.at, byte) {
            (At::Begin, b'\r' | b'\n') => At::Begin,
            (At::Begin | At::Method, byte) if is_token(byte) => {
                if let Some(place) = self.word.get_mut(usize::from(self.word_length)) {
                    *place = byte;
                }
                self.word_length = self.word_length.saturating_add(1);
                At::Method
            }
            (At::Method, b' ') => {
                self.request.method = match self.word.get(..usize::from(self.word_length)) {
                    Some(b"GET") => Method::Get,
                    Some(b"HEAD") => Method::Head,
                    Some(b"POST") => Method::Post,
                    Some(b"PUT") => Method::Put,
                    _ => Method::Other,
                };
                At::Target
            }
            (At::Version(nth), byte) if VERSION.get(usize::from(nth)) == Some(&byte) => {
                At::Version(nth + 1)
            }
            (At::Version(5), b'0'..=b'9') => return Err(Malformed::Version),
            (At::Version(7), b'0'..=b'9') => {
                self.request.is_version_0 = byte == b'0';
                At::Version(8)
            }
            (At::Version(8), b'\r') => At::LineFeed,
            (At::Version(8) | At::LineFeed, b'\n') => At::Fields,
            _ => return Err(Malformed::Syntax),
        })
    }

    /// The state after a byte of the target, in its absolute form too (RFC 9112, section 3.2).
    fn after_target(&mut self, byte: u8) -> Result<At, Malformed> {
        if byte == b' ' && self.target > 0 {
            // An authority alone is for CONNECT, which is one of the others.
            let is_whole = !matches!(self.at, At::Authority(0 | 1));
            return if is_whole || self.request.method == Method::Other {
                Ok(At::Version(0))
            } else {
                Err(Malformed::Syntax)
            };
        }
        if !byte.is_ascii_graphic() {
            return Err(Malformed::Syntax);
        }
        self.target += 1;
        if self.target > TARGET_BYTES_MAX {
            return Err(Malformed::TargetTooLong);
        }
        Ok(match (self.at, byte) {
            (At::Target | At::Authority(2), b'/') => self.path(byte),
            (At::Target, b'*') => self.path(byte),
            (At::Authority(slashes @ 0..2), b'/') => At::Authority(slashes + 1),
            (At::Authority(1), _) => return Err(Malformed::Syntax),
            (At::Authority(2), b'?') => At::Query,
            (At::Target, _) => At::Authority(0),
            (At::Authority(slashes), _) => At::Authority(slashes),
            (At::Path, b'?') | (At::Query, _) => At::Query,
            _ => self.path(byte),
        })
    }

    fn path(&mut self, byte: u8) -> At {
        let length = &mut self.request.path_length;
        if let Some(place) = self.request.path.get_mut(usize::from(*length)) {
            *place = byte;
        }
        *length = length.saturating_add(1);
        At::Path
    }

    /// Decides how the body ends (RFC 9112, section 6.3); whether there is none.
    fn head_ended(&mut self) -> Result<bool, Malformed> {
        let said = self.fields.said;
        let is_version_0 = self.request.is_version_0;
        // RFC 9112, section 3.2: one Host, in HTTP/1.1, and nothing else in it.
        if said.hosts > 1 || said.is_host_wrong || (said.hosts == 0 && !is_version_0) {
            return Err(Malformed::Syntax);
        }
        let is_kept = if is_version_0 { said.has_keep_alive } else { true };
        self.request.is_persistent = is_kept && !said.has_close;
        self.at = At::Body;
        self.body = match (said.coding, said.content_length) {
            (Coding::None, length) => Body::Length(length.unwrap_or(0)),
            // Section 6.1: with both, or in HTTP/1.0, it may be an attempt to smuggle a request.
            (_, Some(_)) => return Err(Malformed::Syntax),
            _ if is_version_0 => return Err(Malformed::Syntax),
            (Coding::Chunked, None) => Body::Chunked(Default::default()),
            (Coding::OtherChunked | Coding::Other, None) => return Err(Malformed::Encoding),
        };
        Ok(matches!(self.body, Body::Length(0)))
    }
}
