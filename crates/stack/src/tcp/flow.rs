//! Which connection a segment belongs to.

use core::net::IpAddr;

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
