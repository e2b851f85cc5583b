//! What the server is to do: checked once, before anything happens.

use std::{net::SocketAddr, time::Duration};

use super::service::{Serve, Service};
use crate::{Error, options::DATAGRAM_BYTES_MAX};

/// Which protocols the server speaks at each of its addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transports {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// Both.
    #[default]
    Both,
}

/// What the server does.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where it answers requests of a fixed size; port 0 lets the kernel choose one (for UDP the
    /// same as for TCP).
    pub listen: Vec<SocketAddr>,
    /// So many bytes of a connection there are a request. Over UDP each datagram is one.
    pub request_bytes: u32,
    /// So many bytes answer it; 0 for none.
    pub response_bytes: u32,
    /// Where it serves else, and what.
    pub serve: Vec<Serve>,
    /// With which protocols. HTTP is over TCP, whatever stands here.
    pub transports: Transports,
    /// Threads, each with listening sockets of its own; 0 for one per core.
    pub threads: usize,
    /// Each thread stays on a core of its own.
    pub is_pinned: bool,
    /// For how long an HTTP request's head, then some more of its body, then room for some more of
    /// its response, is waited for.
    pub timeout: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            request_bytes: 64,
            response_bytes: 64,
            serve: Vec::new(),
            transports: Transports::Both,
            threads: 0,
            is_pinned: false,
            timeout: Duration::from_secs(10),
        }
    }
}

impl ServerOptions {
    /// All addresses, in the order in which they are reported: those of `listen` first.
    pub(super) fn places(&self) -> Vec<Serve> {
        let Self { request_bytes, response_bytes, .. } = *self;
        let service = Service::RequestResponse { request_bytes, response_bytes };
        let listen = self.listen.iter().map(|&address| Serve { address, service });
        listen.chain(self.serve.iter().copied()).collect()
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Options(text.to_owned()));
        let places = self.places();
        if places.is_empty() {
            return wrong("there is nowhere to listen: name an address and a port");
        }
        self.check_services()
    }

    /// The same, where there need not be any service.
    pub(super) fn check_services(&self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Options(text.to_owned()));
        let places = self.places();
        if self.timeout < Duration::from_secs(1) || self.timeout > Duration::from_secs(3600) {
            return wrong("the server's timeout is a second to an hour");
        }
        for Serve { service, .. } in places {
            service.check()?;
            let is_long = matches!(service, Service::RequestResponse { response_bytes, .. }
                if response_bytes > DATAGRAM_BYTES_MAX);
            if is_long && self.transports != Transports::Tcp {
                return wrong(
                    "a datagram has 65507 bytes at most: choose a shorter response, or TCP",
                );
            }
            if self.transports == Transports::Udp && !service.has_datagrams() {
                return wrong("HTTP is over TCP: leave `http` out, or take TCP in");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
