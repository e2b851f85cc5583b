//! What a stack is made with.

use core::{fmt, net::IpAddr};

use alloc::vec::Vec;

use portolan_wire::ethernet;
use thiserror::Error;

use crate::{
    frame::Offloads,
    ip::{
        address::{Cidr, is_link_scope, link_local},
        path_mtu::MTU_MIN_V6,
        route::Route,
    },
    tcp,
};

/// What a stack is made with.
#[derive(Clone)]
pub struct Config {
    /// The hardware address.
    pub mac: [u8; 6],
    /// The largest IP packet in bytes that the link takes: 576 or more, with IPv6 1,280 or more.
    pub mtu: u16,
    /// The addresses, each with its network: hosts of that are on the link. With an IPv6 address, a
    /// link-local one is added, made from the hardware address, unless there is one.
    pub addresses: Vec<Cidr>,
    /// Networks that are not on the link.
    pub routes: Vec<Route>,
    /// Random bytes that nobody knows, of which all keys are made.
    pub secret: [u8; 32],
    /// What the device does.
    pub offloads: Offloads,
    /// Whether it is asked if other hosts have the addresses.
    pub duplicates: DuplicateDetection,
    /// Whether routers of IPv6 are asked for, and believed: RFC 4861, section 6.3.
    pub discover_routers: bool,
    /// Whether this is one of several stacks of a host: then a datagram that was put together from
    /// fragments waits for [`Stack::take_joined`](crate::Stack::take_joined), as its flow may be
    /// another stack's.
    pub shares_flows: bool,
    /// Whether it speaks for the host on the link: asks whether others have its addresses,
    /// announces them, and reports the groups that it is in. Of several stacks of a host one does.
    pub speaks: bool,
    /// TCP.
    pub tcp: tcp::Config,
    /// What is kept at most.
    pub limits: Limits,
}

/// All but the secret.
impl fmt::Debug for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Config")
            .field("mac", &ethernet::Address(self.mac))
            .field("mtu", &self.mtu)
            .field("addresses", &self.addresses)
            .field("routes", &self.routes)
            .field("offloads", &self.offloads)
            .field("duplicates", &self.duplicates)
            .field("discover_routers", &self.discover_routers)
            .field("shares_flows", &self.shares_flows)
            .field("speaks", &self.speaks)
            .field("tcp", &self.tcp)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Whether it is asked if other hosts have an address: RFC 5227, RFC 4862.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicateDetection {
    /// It is not; addresses are announced at once.
    #[default]
    Off,
    /// It is asked once, and the address is used meanwhile; it is announced a second later, and
    /// given up if another host has answered: RFC 4429.
    Optimistic,
    /// Addresses are used only when no other host has answered for them, which takes about 5
    /// seconds over IPv4 and 1 over IPv6.
    Full,
}

/// What is kept at most. What does not fit is dropped, and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Neighbours whose hardware addresses are known or asked for.
    pub neighbors: usize,
    /// Destinations whose path takes smaller packets than the link.
    pub path_mtus: usize,
    /// Bytes of fragments that wait for others.
    pub reassembly_bytes: usize,
    /// Packets that wait for the device, besides those of TCP.
    pub outbox_packets: usize,
    /// Bytes of them.
    pub outbox_bytes: usize,
    /// Bound UDP ports.
    pub udp_bindings: usize,
    /// Bytes of datagrams that wait at each of them.
    pub udp_queue_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            neighbors: 1_024,
            path_mtus: 1_024,
            reassembly_bytes: 1 << 20,
            outbox_packets: 256,
            outbox_bytes: 1 << 20,
            udp_bindings: 1_024,
            udp_queue_bytes: 256 << 10,
        }
    }
}

/// Why there is no stack.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// There is no address.
    #[error("a stack needs an address: give at least one, like 192.0.2.7/24")]
    NoAddress,
    /// There are more addresses or routes than are gone through for each packet.
    #[error("{found} {what} are too many: give at most {max}")]
    TooMany {
        /// Addresses or routes.
        what: &'static str,
        /// How many there may be.
        max: usize,
        /// How many there are.
        found: usize,
    },
    /// No host can have the address.
    #[error(
        "{0} is no address of a host: give one that is neither a group nor a broadcast address"
    )]
    NoHost(Cidr),
    /// An address is there twice.
    #[error("{0} is given twice: once is enough")]
    Twice(IpAddr),
    /// The hardware address is that of a group.
    #[error("{0} is the hardware address of a group: the lowest bit of its first byte must be 0")]
    Group(ethernet::Address),
    /// The hardware address is none.
    #[error("00:00:00:00:00:00 is no hardware address: give one such as 02:00:00:00:00:01")]
    NoHardware,
    /// The MTU is too small.
    #[error("an MTU of {found} bytes is too small: it must be {least} or more")]
    Mtu {
        /// How large it must be.
        least: u16,
        /// How large it is.
        found: u16,
    },
    /// A gateway is not on the link.
    #[error("gateway {0} is on no network of this host: give an address in its prefix first")]
    Gateway(IpAddr),
    /// A gateway has another version than the network.
    #[error("gateway {gateway} cannot lead to {network}: both must be IPv4, or both IPv6")]
    Versions {
        /// The gateway.
        gateway: IpAddr,
        /// The network.
        network: Cidr,
    },
    /// A gateway is the host itself.
    #[error("gateway {0} is an address of this host itself: give the router's")]
    OwnGateway(IpAddr),
    /// Two gateways lead to the same network.
    #[error("two gateways lead to {0}: give one of them")]
    GatewayTwice(Cidr),
    /// TCP cannot work so.
    #[error("{setting} of TCP is wrong: {wanted}")]
    Tcp {
        /// The field of [`tcp::Config`].
        setting: &'static str,
        /// What it has to be.
        wanted: &'static str,
    },
}

impl Config {
    /// A configuration for these addresses, with an MTU of 1,500 bytes, no routes, no offloads, and
    /// the usual limits.
    #[must_use]
    pub fn new(mac: [u8; 6], addresses: Vec<Cidr>, secret: [u8; 32]) -> Self {
        Self {
            mac,
            mtu: 1_500,
            addresses,
            routes: Vec::new(),
            secret,
            offloads: Offloads::default(),
            duplicates: DuplicateDetection::default(),
            discover_routers: false,
            shares_flows: false,
            speaks: true,
            tcp: tcp::Config::default(),
            limits: Limits::default(),
        }
    }

    /// Checks it, and adds what it implies.
    pub(crate) fn complete(mut self) -> Result<Self, ConfigError> {
        let is_v6 = |cidr: &Cidr| cidr.address().is_ipv6();
        let mac = ethernet::Address(self.mac);
        if mac.is_multicast() {
            return Err(ConfigError::Group(mac));
        }
        if self.mac == [0; 6] {
            return Err(ConfigError::NoHardware);
        }
        let is_local = |cidr: &Cidr| is_v6(cidr) && is_link_scope(cidr.address());
        if self.addresses.iter().any(is_v6) && !self.addresses.iter().any(is_local) {
            self.addresses.extend(Cidr::new(link_local(mac).into(), 64));
        }
        let least = if self.addresses.iter().any(is_v6) { MTU_MIN_V6 } else { MTU_MIN_V4 };
        if self.mtu < least {
            return Err(ConfigError::Mtu { least, found: self.mtu });
        }
        self.check_addresses()?;
        self.check_routes()?;
        let wrong = |(setting, wanted)| ConfigError::Tcp { setting, wanted };
        self.tcp.check().map_err(wrong)?;
        Ok(self)
    }

    fn check_addresses(&self) -> Result<(), ConfigError> {
        check_count("addresses", self.addresses.len(), ADDRESSES_MAX)?;
        if self.addresses.is_empty() {
            return Err(ConfigError::NoAddress);
        }
        for (at, cidr) in self.addresses.iter().enumerate() {
            let address = cidr.address();
            let is_broadcast = match address {
                IpAddr::V4(v4) => v4.is_broadcast() || cidr.broadcast() == Some(v4),
                IpAddr::V6(v6) => v6.to_ipv4_mapped().is_some(),
            };
            let is_no_host =
                address.is_multicast() || address.is_unspecified() || address.is_loopback();
            if is_no_host || is_broadcast {
                return Err(ConfigError::NoHost(*cidr));
            }
            if self.addresses.iter().skip(at + 1).any(|other| other.address() == address) {
                return Err(ConfigError::Twice(address));
            }
        }
        Ok(())
    }

    fn check_routes(&self) -> Result<(), ConfigError> {
        check_count("routes", self.routes.len(), ROUTES_MAX)?;
        for (at, Route { network, gateway }) in self.routes.iter().enumerate() {
            if network.address().is_ipv4() != gateway.is_ipv4() {
                return Err(ConfigError::Versions { gateway: *gateway, network: *network });
            }
            if !self.addresses.iter().any(|own| own.contains(*gateway)) {
                return Err(ConfigError::Gateway(*gateway));
            }
            if self.addresses.iter().any(|own| own.address() == *gateway) {
                return Err(ConfigError::OwnGateway(*gateway));
            }
            if self.routes.iter().skip(at + 1).any(|other| other.network == *network) {
                return Err(ConfigError::GatewayTwice(*network));
            }
        }
        Ok(())
    }
}

fn check_count(what: &'static str, found: usize, max: usize) -> Result<(), ConfigError> {
    if found > max { Err(ConfigError::TooMany { what, max, found }) } else { Ok(()) }
}

const ADDRESSES_MAX: usize = 64;
const ROUTES_MAX: usize = 256;
/// RFC 791, section 3.1: what every host takes.
const MTU_MIN_V4: u16 = 576;

#[cfg(test)]
mod tests;
