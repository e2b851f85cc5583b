//! What is served at an address, and how people write it.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};

use crate::{Error, MESSAGE_BYTES_MAX, addresses::parse_addresses_at};

/// The largest body that [`Service::Http`] answers with. No memory is needed for it.
pub const BODY_BYTES_MAX: u64 = 1 << 30;

/// What happens to what comes to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// `echo`: what comes is sent back (RFC 862).
    Echo,
    /// `rr`: each request of a fixed size is answered with a response of a fixed size. Over UDP
    /// each datagram is a request.
    RequestResponse {
        /// So many bytes of a connection are a request.
        request_bytes: u32,
        /// So many bytes answer it; 0 for none.
        response_bytes: u32,
    },
    /// `http`: HTTP/1.1, over TCP only. `/` is answered with a body of a fixed size, `/N` with one
    /// of N bytes.
    Http {
        /// The size of the body of `/`.
        body_bytes: u64,
    },
    /// `sink`: what comes is read and thrown away (RFC 863).
    Sink,
}

/// An address and what is served there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serve {
    /// Where; port 0 lets the kernel choose one.
    pub address: SocketAddr,
    /// What.
    pub service: Service,
}

/// The sizes of services that are written without any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Of a request of `rr`.
    pub request_bytes: u32,
    /// Of a response of `rr`.
    pub response_bytes: u32,
    /// Of the body of `http`.
    pub body_bytes: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { request_bytes: 64, response_bytes: 64, body_bytes: 64 }
    }
}

/// Reads `echo:9000`, `http:0.0.0.0:8080`, `sink:[::1]:9200-9299`, `rr=4/64:9100` (requests of 4
/// bytes, responses of 64), `http=1024:8081` (a body of 1,024 bytes): a service, a colon, and
/// addresses as [`parse_addresses`](crate::parse_addresses) reads them.
///
/// # Errors
/// [`Error::Addresses`], which says what to write.
pub fn parse_serve(text: &str, sizes: Sizes) -> Result<Vec<Serve>, Error> {
    parse_serve_at(text, sizes, Ipv4Addr::LOCALHOST.into())
}

/// The same, with another address for ports alone.
///
/// # Errors
/// [`Error::Addresses`], which says what to write.
pub fn parse_serve_at(text: &str, sizes: Sizes, alone: IpAddr) -> Result<Vec<Serve>, Error> {
    let wrong = |problem: &str| Error::Addresses {
        input: text.chars().take(80).collect(),
        problem: problem.to_owned(),
    };
    let (word, addresses) = text.split_once(':').ok_or_else(|| wrong(WHAT))?;
    let (name, size) = word.split_once('=').map_or((word, None), |(name, size)| (name, Some(size)));
    let service = match (name.trim(), size) {
        ("echo", None) => Service::Echo,
        ("sink", None) => Service::Sink,
        ("rr", None) => {
            let Sizes { request_bytes, response_bytes, .. } = sizes;
            Service::RequestResponse { request_bytes, response_bytes }
        }
        ("rr", Some(both)) => {
            let (request, response) = both.split_once('/').ok_or_else(|| wrong(RR))?;
            let request_bytes = request.parse().map_err(|_not_one| wrong(RR))?;
            let response_bytes = response.parse().map_err(|_not_one| wrong(RR))?;
            Service::RequestResponse { request_bytes, response_bytes }
        }
        ("http", None) => Service::Http { body_bytes: sizes.body_bytes },
        ("http", Some(size)) => {
            Service::Http { body_bytes: size.parse().map_err(|_not_one| wrong(HTTP))? }
        }
        _ => return Err(wrong(WHAT)),
    };
    service.check()?;
    let addresses = parse_addresses_at(addresses, alone)?;
    Ok(addresses.into_iter().map(|address| Serve { address, service }).collect())
}

impl Service {
    pub(super) fn check(self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Options(text.to_owned()));
        match self {
            Self::RequestResponse { request_bytes: 0, .. } => {
                wrong("a request has at least one byte")
            }
            Self::RequestResponse { request_bytes, response_bytes }
                if request_bytes.max(response_bytes) > MESSAGE_BYTES_MAX =>
            {
                wrong("a request or response has 1048576 bytes at most")
            }
            Self::Http { body_bytes } if body_bytes > BODY_BYTES_MAX => {
                wrong("a body has 1073741824 bytes at most")
            }
            _ => Ok(()),
        }
    }

    /// Whether it can be had over UDP.
    pub(super) fn has_datagrams(self) -> bool {
        !matches!(self, Self::Http { .. })
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Echo => f.write_str("echo"),
            Self::RequestResponse { request_bytes, response_bytes } => {
                write!(f, "rr={request_bytes}/{response_bytes}")
            }
            Self::Http { body_bytes } => write!(f, "http={body_bytes}"),
            Self::Sink => f.write_str("sink"),
        }
    }
}

const WHAT: &str = "write a service (echo, rr, http or sink), a colon, and where: http:8080";
const RR: &str = "write the bytes of a request and of a response: rr=4/64:9100";
const HTTP: &str = "write the bytes of a body: http=1024:8080";

#[cfg(test)]
mod tests;
