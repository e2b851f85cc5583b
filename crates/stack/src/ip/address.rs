//! The addresses of this host: RFC 4291, RFC 4862, RFC 5227; which of them to send from: RFC 6724.

use alloc::vec::Vec;
use core::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
    time::Duration,
};

use portolan_wire::{ethernet, ndp::solicited_node};
use thiserror::Error;

use crate::{DuplicateDetection, Instant};

/// An address and how many of its first bits all hosts of its network have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cidr {
    address: IpAddr,
    prefix_len: u8,
}

impl Cidr {
    /// None if the prefix is longer than the address.
    #[must_use]
    pub fn new(address: IpAddr, prefix_len: u8) -> Option<Self> {
        (prefix_len <= bits(address).1).then_some(Self { address, prefix_len })
    }

    /// The address.
    #[must_use]
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// The length of the prefix in bits.
    #[must_use]
    pub const fn prefix_len(&self) -> u8 {
        self.prefix_len
    }

    /// Whether the other address begins with the same prefix.
    #[must_use]
    pub fn contains(&self, other: IpAddr) -> bool {
        same_bits(self.address, other).is_some_and(|same| same >= self.prefix_len)
    }

    /// The address to which all hosts of the network listen; none over IPv6, and none where the
    /// network has no room for one: RFC 3021.
    #[must_use]
    pub fn broadcast(&self) -> Option<Ipv4Addr> {
        match self.address {
            IpAddr::V4(address) if self.prefix_len <= 30 => {
                let host = u32::MAX.checked_shr(self.prefix_len.into()).unwrap_or(0);
                Some(Ipv4Addr::from_bits(address.to_bits() | host))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.prefix_len)
    }
}

/// A text that is no address with the length of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("is no address with a prefix length: write it like 192.0.2.7/24 or 2001:db8::7/64")]
pub struct CidrError;

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let (address, prefix_len) = text.split_once('/').ok_or(CidrError)?;
        let address = address.parse().map_err(|_| CidrError)?;
        Self::new(address, prefix_len.parse().map_err(|_| CidrError)?).ok_or(CidrError)
    }
}

/// An address as a number that is aligned to the left, and how many bits it has.
fn bits(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

/// How many bits at their front two addresses have in common; none if they are of two versions.
fn same_bits(one: IpAddr, other: IpAddr) -> Option<u8> {
    let ((one, length), (other, others)) = (bits(one), bits(other));
    let same = u8::try_from((one ^ other).leading_zeros()).unwrap_or(u8::MAX);
    (length == others).then_some(same.min(length))
}

/// The link-local address that belongs to a hardware address: RFC 2464, section 5.
pub fn link_local(mac: ethernet::Address) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac.0;
    Ipv6Addr::from_octets([0xfe, 0x80, 0, 0, 0, 0, 0, 0, a ^ 2, b, c, 0xff, 0xfe, d, e, f])
}

/// What there is to do about an address of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask whether another host has it.
    Probe(IpAddr),
    /// Tell all that it is ours.
    Announce(IpAddr),
}

/// How far an address has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It is asked so often more whether another host has it, and the address is not used.
    Probing(u8),
    /// The same, but the address is used: RFC 4429.
    Optimistic(u8),
    /// It is used, and told so often more.
    Announcing(u8),
    /// It is used.
    Settled,
    /// Another host has it.
    Duplicate,
}

#[derive(Clone, Copy, Debug)]
struct Own {
    cidr: Cidr,
    phase: Phase,
    /// When something is to be done, while it is probed or announced.
    at: Instant,
    /// Before then, no conflict is answered: RFC 5227, section 2.4 (c).
    defended_until: Instant,
}

impl Own {
    /// Whether there is something to be done for it.
    const fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::Probing(_) | Phase::Optimistic(_) | Phase::Announcing(_))
    }

    const fn is_usable(&self) -> bool {
        matches!(self.phase, Phase::Optimistic(_) | Phase::Announcing(_) | Phase::Settled)
    }
}

/// The addresses of this host: a few, which are gone through.
#[derive(Debug)]
pub struct Addresses {
    list: Vec<Own>,
}

impl Addresses {
    /// These addresses, usable at once unless it is waited for what others say.
    pub fn new(cidrs: &[Cidr], duplicates: DuplicateDetection, now: Instant) -> Self {
        let own = |cidr: &Cidr| {
            let phase = match (duplicates, cidr.address) {
                (DuplicateDetection::Off, _) => Phase::Announcing(ANNOUNCEMENTS),
                (DuplicateDetection::Optimistic, _) => Phase::Optimistic(PROBES_OPTIMISTIC),
                (DuplicateDetection::Full, IpAddr::V4(_)) => Phase::Probing(PROBES_V4),
                (DuplicateDetection::Full, IpAddr::V6(_)) => Phase::Probing(PROBES_V6),
            };
            Own { cidr: *cidr, phase, at: now, defended_until: now }
        };
        Self { list: cidrs.iter().map(own).collect() }
    }

    /// Whether the address is ours and may be used.
    pub fn is_own(&self, address: IpAddr) -> bool {
        self.list.iter().any(|own| own.cidr.address == address && own.is_usable())
    }

    /// Whether the address will be ours unless another host has it.
    pub fn is_tentative(&self, address: IpAddr) -> bool {
        let is_probed = |own: &Own| matches!(own.phase, Phase::Probing(_));
        self.list.iter().any(|own| own.cidr.address == address && is_probed(own))
    }

    /// Whether the address is used although it is still asked whether another host has it.
    pub fn is_optimistic(&self, address: IpAddr) -> bool {
        let is_asked = |own: &Own| matches!(own.phase, Phase::Optimistic(_));
        self.list.iter().any(|own| own.cidr.address == address && is_asked(own))
    }

    /// The groups of IPv6 that are reported: the solicited nodes of all addresses.
    pub fn groups(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.list.iter().filter_map(|own| match own.cidr.address {
            IpAddr::V6(address) => Some(solicited_node(address)),
            IpAddr::V4(_) => None,
        })
    }

    /// Whether all hosts of a network of ours listen to the address.
    pub fn is_broadcast(&self, address: Ipv4Addr) -> bool {
        address.is_broadcast() || self.list.iter().any(|own| own.cidr.broadcast() == Some(address))
    }

    /// Whether it is a group that this host is in: all nodes (RFC 4291, section 2.7.1; RFC 1112),
    /// and the solicited nodes of our addresses.
    pub fn is_group(&self, address: IpAddr) -> bool {
        let is_v6 = |own: &Own| own.cidr.address.is_ipv6();
        match address {
            IpAddr::V4(address) => address == ALL_SYSTEMS,
            IpAddr::V6(address) => {
                let is_all = address == ALL_NODES || address == ALL_NODES_HERE;
                (is_all && self.list.iter().any(is_v6)) || self.solicits(address)
            }
        }
    }

    fn solicits(&self, address: Ipv6Addr) -> bool {
        self.list.iter().any(|own| match own.cidr.address {
            IpAddr::V6(own) => solicited_node(own) == address,
            IpAddr::V4(_) => false,
        })
    }

    /// Whether the address is in a network of ours.
    pub fn is_on_link(&self, address: IpAddr) -> bool {
        self.list.iter().any(|own| own.cidr.contains(address))
    }

    /// The address to send from: RFC 6724, section 5, rules 2 (scope) and 8 (longest prefix), and
    /// before the latter the network of the next hop, as on Linux over IPv4.
    pub fn source_for(&self, destination: IpAddr, next_hop: IpAddr) -> Option<IpAddr> {
        let usable = self.list.iter().filter(|own| own.is_usable());
        let fitting = usable.filter_map(|own| {
            let same = same_bits(own.cidr.address, destination)?;
            let is_right_scope = is_link_scope(destination) == is_link_scope(own.cidr.address);
            Some((is_right_scope, own.cidr.contains(next_hop), same, own.cidr.address))
        });
        // The first of the best: the order of the configuration decides.
        let best = fitting.reduce(|best, next| {
            let rank = |(scope, network, same, _)| (scope, network, same);
            if rank(next) > rank(best) { next } else { best }
        });
        best.map(|(.., address)| address)
    }

    /// The usable addresses.
    pub fn usable(&self) -> impl Iterator<Item = IpAddr> {
        self.list.iter().filter(|own| own.is_usable()).map(|own| own.cidr.address)
    }

    /// Another host has the address: it was so while we asked, and we do not use it. Whether it was
    /// ours to lose.
    pub fn lose(&mut self, address: IpAddr) -> bool {
        let is_asked =
            |own: &&mut Own| matches!(own.phase, Phase::Probing(_) | Phase::Optimistic(_));
        let mut probed = self.list.iter_mut().filter(is_asked);
        let Some(own) = probed.find(|own| own.cidr.address == address) else { return false };
        own.phase = Phase::Duplicate;
        true
    }

    /// Another host uses an address that we use: whether to defend it, which is once in 10 seconds.
    pub fn defend(&mut self, address: IpAddr, now: Instant) -> bool {
        let mut usable = self.list.iter_mut().filter(|own| own.is_usable());
        let Some(own) = usable.find(|own| own.cidr.address == address) else { return false };
        let defends = now >= own.defended_until;
        if defends {
            own.defended_until = now + DEFEND_INTERVAL;
        }
        defends
    }

    /// The next thing to do that is due.
    pub fn pop(&mut self, now: Instant) -> Option<Action> {
        let own = self.list.iter_mut().find(|own| now >= own.at && own.is_busy())?;
        let address = own.cidr.address;
        match own.phase {
            Phase::Probing(0) | Phase::Optimistic(0) => {
                own.phase = Phase::Announcing(ANNOUNCEMENTS);
                self.pop(now)
            }
            Phase::Probing(left) => {
                own.phase = Phase::Probing(left - 1);
                let is_last_v4 = address.is_ipv4() && left == 1;
                own.at = now + if is_last_v4 { ANNOUNCE_WAIT } else { PROBE_INTERVAL };
                Some(Action::Probe(address))
            }
            Phase::Optimistic(left) => {
                own.phase = Phase::Optimistic(left - 1);
                own.at = now + PROBE_INTERVAL;
                Some(Action::Probe(address))
            }
            Phase::Announcing(left) => {
                let left = left.saturating_sub(1);
                own.phase = if left == 0 { Phase::Settled } else { Phase::Announcing(left) };
                own.at = now + ANNOUNCE_INTERVAL;
                Some(Action::Announce(address))
            }
            Phase::Settled | Phase::Duplicate => None,
        }
    }

    /// When something is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.list.iter().filter(|own| own.is_busy()).map(|own| own.at).min()
    }
}

/// Whether an address has no meaning beyond its link.
pub fn is_link_scope(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => {
            let [first, second, ..] = address.octets();
            // The scope is in the lower half of the second byte: RFC 4291, section 2.7.
            address.is_unicast_link_local() || (first == 0xff && second & 0x0f <= 2)
        }
    }
}

/// All hosts on the link.
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// All routers on the link.
pub const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
const ALL_NODES_HERE: Ipv6Addr = Ipv6Addr::new(0xff01, 0, 0, 0, 0, 0, 0, 1);
const ALL_SYSTEMS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);

// RFC 5227, section 1.1, with the shortest intervals; RFC 4862, section 5.1.
const PROBES_V4: u8 = 3;
const PROBES_V6: u8 = 1;
const PROBES_OPTIMISTIC: u8 = 1;
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
const ANNOUNCE_WAIT: Duration = Duration::from_secs(2);
const ANNOUNCEMENTS: u8 = 2;
const ANNOUNCE_INTERVAL: Duration = Duration::from_secs(2);
const DEFEND_INTERVAL: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
