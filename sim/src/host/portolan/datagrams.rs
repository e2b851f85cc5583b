//! Datagrams of UDP, as programs of the host send and get them.

use std::net::SocketAddr;

use portolan_stack::{Instant, Stack, UdpId};

/// The ports that programs have bound.
#[derive(Default)]
pub(super) struct Bound(Vec<UdpId>);

impl Bound {
    /// Binds a port; false where the stack refuses.
    pub(super) fn bind(&mut self, stack: &mut Stack, port: u16) -> bool {
        let bound = stack.udp_bind(None, port).ok();
        self.0.extend(bound);
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
        let from = self.0.first().copied();
        from.is_some_and(|from| stack.udp_send(from, remote, payload, now).is_ok())
    }

    /// The next datagram that waits.
    pub(super) fn receive(&self, stack: &mut Stack) -> Option<Vec<u8>> {
        let mut buffer = vec![0; 1 << 16];
        for &id in &self.0 {
            // An error about one that was sent is no more than news.
            while stack.udp_failure(id).ok().flatten().is_some() {}
            if let Some(received) = stack.udp_receive(id, &mut buffer).ok().flatten() {
                buffer.truncate(received.len);
                return Some(buffer);
            }
        }
        None
    }
}
