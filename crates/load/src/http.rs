//! HTTP/1.1 messages (RFC 9112), as far as a load needs them: where they begin and end, and what
//! they ask for or answer. No bytes are kept and nothing is allocated: a parser is a state of about
//! a hundred bytes, to which bytes are shown in pieces of any size, as they come.
//!
//! ```
//! use portolan_load::http::ResponseParser;
//!
//! let mut parser = ResponseParser::new();
//! parser.begin(false);
//! let read = parser.read(b"HTTP/1.1 200 OK\r\nContent-Le")?;
//! assert_eq!((read.used, read.message), (27, None));
//! let read = parser.read(b"ngth: 2\r\n\r\nokHTTP/1.1 404 ")?;
//! let response = read.message.unwrap();
//! assert_eq!((read.used, response.status, response.body_bytes), (13, 200, 2));
//! assert!(response.is_persistent);
//! # Ok::<(), portolan_load::http::Malformed>(())
//! ```
//!
//! Read in this order: `fields.rs`, `body.rs`, `request.rs`, `response.rs`.

mod body;
mod fields;
mod request;
mod response;

pub use request::{Method, Request, RequestEvent, RequestParser};
pub use response::{Response, ResponseParser};

/// The most bytes of a request's head; more are answered with 431.
pub const REQUEST_HEAD_BYTES_MAX: usize = 16_384;

/// The most bytes of a request's target; more are answered with 414.
pub const TARGET_BYTES_MAX: usize = 8_192;

/// The most bytes of a response's head.
pub const RESPONSE_HEAD_BYTES_MAX: usize = 65_536;

/// The most bytes of one line before a chunk, its extensions among them, and of all trailers.
pub const CHUNK_LINE_BYTES_MAX: usize = 4_096;

/// What came of the bytes that a parser was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read<T> {
    /// So many of the bytes are dealt with; the others are to be shown again, if there are any.
    pub used: usize,
    /// What is complete with the last of them. None: all were used, and more are needed.
    pub message: Option<T>,
}

/// Bytes that are no message; the connection is of no use after them, nor is the parser until it is
/// made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// They break the rules of RFC 9112.
    #[error("not HTTP/1.1")]
    Syntax,
    /// The target is longer than [`TARGET_BYTES_MAX`].
    #[error("a request's target of more than 8192 bytes")]
    TargetTooLong,
    /// The head is longer than [`REQUEST_HEAD_BYTES_MAX`] or [`RESPONSE_HEAD_BYTES_MAX`], or a
    /// chunk's line or the trailers than [`CHUNK_LINE_BYTES_MAX`].
    #[error("a head that is too long")]
    HeadTooLong,
    /// A request with a transfer coding other than `chunked`.
    #[error("a transfer coding other than chunked")]
    Encoding,
    /// Another major version.
    #[error("HTTP, but not of version 1")]
    Version,
    /// The connection ended within a message.
    #[error("the connection ended within a message")]
    Truncated,
}

impl Malformed {
    /// The status that says so (RFC 9110, section 15).
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Syntax | Self::Truncated => 400,
            Self::TargetTooLong => 414,
            Self::HeadTooLong => 431,
            Self::Encoding => 501,
            Self::Version => 505,
        }
    }
}

/// The octets of a `token` (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

const TOKEN: [bool; 256] = {
    let mut is_token = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        is_token[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let others = b"!#$%&'*+-.^_`|~";
    let mut nth = 0;
    while nth < others.len() {
        is_token[others[nth] as usize] = true;
        nth += 1;
    }
    is_token
};

#[cfg(test)]
mod tests;
