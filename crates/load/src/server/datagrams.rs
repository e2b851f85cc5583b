//! The server's answers to datagrams.

use std::os::fd::OwnedFd;

use rustix::{
    io::Errno,
    net::{RecvFlags, SendFlags, recvfrom, sendto},
};

use super::{counters::Counters, service::Service};

/// How many datagrams of one socket are answered before others have their turn.
const ANSWERED_IN_TURN: usize = 32;

/// The first bytes of a request stand in its response too, so that the client knows which one it
/// answers.
pub(crate) const TAG: usize = 8;

/// The longest datagram, and more.
const DATAGRAM: usize = 65_536;

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
            let response = match service {
                Service::Echo => &self.read[..count],
                Service::RequestResponse { response_bytes: length @ 1.., .. } => {
                    let length = usize::try_from(length).unwrap_or(DATAGRAM).min(DATAGRAM);
                    let tag = count.min(TAG).min(length);
                    self.response[..tag].copy_from_slice(&self.read[..tag]);
                    self.response[tag..TAG].fill(0);
                    &self.response[..length]
                }
                Service::RequestResponse { .. } | Service::Sink | Service::Http { .. } => continue,
            };
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
