//! Datagrams of UDP, as programs of the host send and get them.

use std::net::SocketAddr;

use portolan_stack::{Instant, Stack, UdpId};

/// The ports that programs have bound.
#[derive(Default)]
pub(super) struct Bound {
    ids: Vec<UdpId>,
    /// For the next datagram; made with the first one.
    buffer: Vec<u8>,
}

impl Bound {
    /// Binds a port; false where the stack refuses.
    pub(super) fn bind(&mut self, stack: &mut Stack, port: u16) -> bool {
        let bound = stack.udp_bind(None, port).ok();
        self.ids.extend(bound);
        bound.is_some()
    }

    /// Sends from the first port. Whether it left.
    pub(super) fn send(
        &self,
        stack: &mut Stack,
        remote: SocketAddr,
        payload: &[u8],
        now: Instant,
    ) -> bool {
        let from = self.ids.first().copied();
        from.is_some_and(|from| stack.udp_send(from, remote, payload, now).is_ok())
    }

    /// The next datagram that waits.
    pub(super) fn receive(&mut self, stack: &mut Stack) -> Option<Vec<u8>> {
        self.buffer.resize(DATAGRAM_BYTES_MAX, 0);
        for &id in &self.ids {
            // An error about one that was sent is no more than news.
            while stack.udp_failure(id).ok().flatten().is_some() {}
            if let Some(received) = stack.udp_receive(id, &mut self.buffer).ok().flatten() {
                return self.buffer.get(..received.len).map(<[u8]>::to_vec);
            }
        }
        None
    }
}

/// The length is a field of 16 bits: RFC 768.
const DATAGRAM_BYTES_MAX: usize = 65_535;
