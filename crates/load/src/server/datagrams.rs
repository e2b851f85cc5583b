//! The server's answers to datagrams.

use std::os::fd::OwnedFd;

use rustix::{
    io::Errno,
    net::{RecvFlags, SendFlags, recvfrom, sendto},
};

use super::counters::Counters;

/// How many datagrams of one socket are answered before others have their turn.
const ANSWERED_IN_TURN: usize = 32;

/// The first bytes of a request stand in its response too, so that the client knows which one it
/// answers.
pub(crate) const TAG: usize = 8;

pub(super) struct Datagrams {
    read: Box<[u8]>,
    response: Box<[u8]>,
}

impl Datagrams {
    pub(super) fn new(response_bytes: u32) -> Self {
        let bytes = usize::try_from(response_bytes).unwrap_or(0);
        Self { read: vec![0; 65_536].into(), response: vec![0; bytes].into() }
    }

    /// Answers what there is.
    pub(super) fn answer(&mut self, socket: &OwnedFd, counters: &Counters) {
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
            counters.bytes_received.add(u64::try_from(count).unwrap_or(0));
            let Some(source) = source else { continue };
            if self.response.is_empty() {
                continue;
            }
            let tag = count.min(TAG).min(self.response.len());
            self.response[..tag].copy_from_slice(&self.read[..tag]);
            match sendto(socket, &self.response, SendFlags::NOSIGNAL, &source) {
                Ok(count) => {
                    counters.datagrams_sent.add(1);
                    counters.bytes_sent.add(u64::try_from(count).unwrap_or(0));
                }
                Err(_) => counters.errors.add(1),
            }
        }
    }
}
