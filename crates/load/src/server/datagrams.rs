//! The server's answers to datagrams.

use std::os::fd::OwnedFd;

use rustix::{
    io::Errno,
    net::{RecvFlags, SendFlags, recvfrom, sendto},
};

use super::{counters::Counters, service::Service};

/// How many datagrams of one socket are answered before others have their turn.
pub(super) const ANSWERED_IN_TURN: usize = 32;

/// The first bytes of a request stand in its response too, so that the client knows which one it
/// answers.
pub(crate) const TAG: usize = 8;

/// The longest datagram, and more.
pub(super) const DATAGRAM: usize = 65_536;

pub(super) struct Datagrams {
    read: Box<[u8]>,
    response: Box<[u8]>,
}

impl Datagrams {
    pub(super) fn new() -> Self {
        Self { read: vec![0; DATAGRAM].into(), response: vec![0; DATAGRAM].into() }
    }

    /// Answers what there is.
    pub(super) fn answer(&mut self, socket: &OwnedFd, service: Service, counters: &Counters) {
        for _ in 0..ANSWERED_IN_TURN {
            let (count, source) = match recvfrom(socket, &mut *self.read, RecvFlags::empty()) {
                Ok((_, count, source)) => (count.min(self.read.len()), source),
                Err(Errno::AGAIN) => return,
                // Of a datagram sent earlier; reading it takes it away.
                Err(_) => {
                    counters.errors.add(1);
                    continue;
                }
            };
            counters.datagrams_received.add(1);
            counters.bytes_received.add(count as u64);
            let Some(source) = source else { continue };
            let response = respond(service, &self.read[..count], &mut self.response);
            let Some(response) = response else { continue };
            match sendto(socket, response, SendFlags::NOSIGNAL, &source) {
                Ok(count) => {
                    counters.datagrams_sent.add(1);
                    counters.bytes_sent.add(count as u64);
                }
                Err(_) => counters.errors.add(1),
            }
        }
    }
}

/// The answer to a datagram, if there is one. `buffer` has room for the longest.
pub(super) fn respond<'a>(
    service: Service,
    request: &'a [u8],
    buffer: &'a mut [u8],
) -> Option<&'a [u8]> {
    match service {
        Service::Echo => Some(request),
        Service::RequestResponse { response_bytes: length @ 1.., .. } => {
            let length = usize::try_from(length).unwrap_or(DATAGRAM).min(DATAGRAM);
            let tag = request.len().min(TAG).min(length);
            buffer[..tag].copy_from_slice(&request[..tag]);
            buffer[tag..TAG].fill(0);
            Some(&buffer[..length])
        }
        Service::RequestResponse { .. } | Service::Sink | Service::Http { .. } => None,
    }
}
