//! What programs want.

use core::net::{IpAddr, SocketAddr};

use portolan_wire::{protocol::UDP, udp};

use super::Stack;
use crate::{
    Instant,
    ip::output::{HOP_LIMIT, Header, header_len},
    outbox::Origin,
    tcp::{self, ConnectionId, Tcp},
    udp::{Failure, Received, UdpError, UdpId},
};

impl Stack {
    /// The connections and listeners, for verbs that need no route. What they have to send, and to
    /// tell, is polled here and not there.
    pub const fn tcp(&mut self) -> &mut Tcp {
        &mut self.tcp
    }

    /// Opens a connection, from the address that suits the way to `remote`.
    ///
    /// # Errors
    ///
    /// [`tcp::Error::NoRoute`], and as for [`Tcp::connect`].
    pub fn connect(
        &mut self,
        remote: SocketAddr,
        now: Instant,
    ) -> Result<ConnectionId, tcp::Error> {
        let destination = remote.ip();
        let no_route = tcp::Error::NoRoute(destination);
        self.check_single(remote)?;
        let next_hop = self.routes.next_hop(destination, &self.addresses, now).ok_or(no_route)?;
        let local = self.addresses.source_for(destination, next_hop).ok_or(no_route)?;
        let mtu = self.path_mtus.get(destination, now);
        self.tcp.connect(local, remote, mtu, now)
    }

    /// As [`connect`](Self::connect), from an address and port of one's own choice.
    ///
    /// # Errors
    ///
    /// [`tcp::Error::NoRoute`] when the address is none of this host, or nothing leads to the other
    /// end, and as for [`Tcp::connect_from`].
    pub fn connect_from(
        &mut self,
        local: SocketAddr,
        remote: SocketAddr,
        now: Instant,
    ) -> Result<ConnectionId, tcp::Error> {
        let destination = remote.ip();
        self.check_single(remote)?;
        if !self.addresses.is_own(local.ip()) {
            return Err(tcp::Error::NoRoute(local.ip()));
        }
        if self.routes.next_hop(destination, &self.addresses, now).is_none() {
            return Err(tcp::Error::NoRoute(destination));
        }
        let mtu = self.path_mtus.get(destination, now);
        self.tcp.connect_from(local, remote, mtu, now)
    }

    /// RFC 9293, section 3.9.2.3: a connection has one other end, and not this one.
    fn check_single(&self, remote: SocketAddr) -> Result<(), tcp::Error> {
        let is_all = match remote.ip() {
            IpAddr::V4(address) => self.addresses.is_broadcast(address),
            IpAddr::V6(_) => false,
        };
        let is_here = remote.ip().is_loopback() || self.addresses.is_own(remote.ip());
        if is_all || is_here { Err(tcp::Error::NotADestination(remote)) } else { Ok(()) }
    }

    /// Binds a UDP port of one of our addresses, or of all; port 0 stands for any.
    ///
    /// # Errors
    ///
    /// [`UdpError::NotOwn`], [`UdpError::InUse`], [`UdpError::Full`].
    pub fn udp_bind(&mut self, address: Option<IpAddr>, port: u16) -> Result<UdpId, UdpError> {
        if let Some(address) = address
            && !self.addresses.is_own(address)
        {
            return Err(UdpError::NotOwn(address));
        }
        self.udp.bind(address, port)
    }

    /// The address that is bound, if it is one alone, and the port.
    ///
    /// # Errors
    ///
    /// [`UdpError::Closed`].
    pub fn udp_local(&self, id: UdpId) -> Result<(Option<IpAddr>, u16), UdpError> {
        self.udp.local(id)
    }

    /// Sends a datagram to another host. Where the path does not take it whole, it goes in
    /// fragments.
    ///
    /// # Errors
    ///
    /// [`UdpError::Busy`] when the queue to the device is full, [`UdpError::TooLong`],
    /// [`UdpError::NoRoute`], [`UdpError::Closed`].
    pub fn udp_send(
        &mut self,
        id: UdpId,
        to: SocketAddr,
        payload: &[u8],
        now: Instant,
    ) -> Result<(), UdpError> {
        let (local, source_port) = self.udp.local(id)?;
        let destination = to.ip();
        // RFC 791, section 3.1: the length of an IPv4 packet counts its header.
        let header = if destination.is_ipv4() { header_len(destination) } else { 0 };
        let max = udp::PAYLOAD_BYTES_MAX - header;
        if payload.len() > max {
            return Err(UdpError::TooLong { max, found: payload.len() });
        }
        let no_route = UdpError::NoRoute(destination);
        // What is for this host itself does not go over the link.
        let is_here = destination.is_loopback() || self.addresses.is_own(destination);
        if destination.is_unspecified() || is_here {
            return Err(no_route);
        }
        let next_hop = self.routes.next_hop(destination, &self.addresses, now).ok_or(no_route)?;
        let source = local.or_else(|| self.addresses.source_for(destination, next_hop));
        let source = source.filter(|source| source.is_ipv4() == destination.is_ipv4());
        let source = source.ok_or(no_route)?;
        let len = udp::HEADER_BYTES + payload.len();
        if !self.outbox.has_room(len, Origin::Udp) {
            return Err(UdpError::Busy);
        }
        let mut bytes = self.outbox.buffer();
        bytes.resize(udp::HEADER_BYTES, 0);
        bytes.extend_from_slice(payload);
        let repr = udp::Repr { source_port, destination_port: to.port() };
        let too_long = UdpError::TooLong { max, found: payload.len() };
        repr.emit(&mut bytes, source, destination).map_err(|_| too_long)?;
        self.udp.note_peer(id, to)?;
        let header = Header {
            source,
            destination,
            protocol: UDP,
            traffic_class: 0,
            hop_limit: if destination.is_multicast() { 1 } else { HOP_LIMIT },
            // RFC 1191: a datagram that is sent whole is used to learn what the path takes.
            dont_fragment: true,
        };
        match self.push_ip(header, bytes, Origin::Udp) {
            true => Ok(()),
            false => Err(UdpError::Busy),
        }
    }

    /// Takes the first datagram that waits at the port; none if none does.
    ///
    /// # Errors
    ///
    /// [`UdpError::Closed`].
    pub fn udp_receive(&mut self, id: UdpId, out: &mut [u8]) -> Result<Option<Received>, UdpError> {
        self.udp.receive(id, out)
    }

    /// Takes the first error that waits at the port; none if none does.
    ///
    /// # Errors
    ///
    /// [`UdpError::Closed`].
    pub fn udp_failure(&mut self, id: UdpId) -> Result<Option<Failure>, UdpError> {
        self.udp.take_failure(id)
    }

    /// Gives a port back; what waits there is thrown away.
    ///
    /// # Errors
    ///
    /// [`UdpError::Closed`].
    pub fn udp_unbind(&mut self, id: UdpId) -> Result<(), UdpError> {
        self.udp.unbind(id)
    }
}
