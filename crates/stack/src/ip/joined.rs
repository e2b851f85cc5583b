//! A datagram that one stack has put together from fragments, and that another one may own.

use core::net::IpAddr;

use alloc::vec::Vec;

use super::carrier::Carrier;

/// A datagram that was put together. Where a host has several stacks, its parts meet in one of
/// them, and the whole belongs to the one that knows its flow: see
/// [`Config::shares_flows`](crate::Config).
#[derive(Clone, Debug)]
pub struct Joined {
    /// Its carrier, without the packet, which is `head`.
    pub(crate) carrier: Carrier<'static>,
    /// The beginning of the first fragment's packet, for an error to quote.
    pub(crate) head: Vec<u8>,
    /// What it carries: a number of [`portolan_wire::protocol`].
    pub(crate) protocol: u8,
    /// Where in `head` that is said.
    pub(crate) named_at: usize,
    /// The joined payloads.
    pub(crate) data: Vec<u8>,
    /// Where the upper layer begins in `data`.
    pub(crate) upper_at: usize,
    /// Length of the frame that completed it, which is not counted yet.
    pub(crate) frame_bytes: usize,
}

impl Joined {
    /// Its source address.
    #[must_use]
    pub const fn source(&self) -> IpAddr {
        self.carrier.source
    }

    /// Its destination address.
    #[must_use]
    pub const fn destination(&self) -> IpAddr {
        self.carrier.destination
    }

    /// What it carries: a number of [`portolan_wire::protocol`], none of an extension header.
    #[must_use]
    pub const fn protocol(&self) -> u8 {
        self.protocol
    }

    /// The upper layer's packet.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.data.get(self.upper_at..).unwrap_or_default()
    }
}
