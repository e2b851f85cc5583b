//! Which connection a segment belongs to.

use core::net::IpAddr;

use crate::random::Message;

/// The two ends of a connection, as seen from this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    /// This host's address.
    pub local: IpAddr,
    /// The other end's address, of the same version.
    pub remote: IpAddr,
    /// This host's port.
    pub local_port: u16,
    /// The other end's port.
    pub remote_port: u16,
}

impl Flow {
    /// The flow as keyed hashes take it: 12 bytes for IPv4, 36 for IPv6.
    pub(crate) fn message(&self) -> Message {
        Message::new()
            .with_address(self.local)
            .with_address(self.remote)
            .with(&self.local_port.to_be_bytes())
            .with(&self.remote_port.to_be_bytes())
    }
}
