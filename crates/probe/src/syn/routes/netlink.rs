//! Asking the kernel about routes, rules, links and neighbours (rtnetlink(7)).

use std::{io, net::IpAddr, time::Duration};

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage,
    link::{LinkAttribute, LinkFlags, LinkLayerType, LinkMessage},
    neighbour::{
        NeighbourAddress, NeighbourAttribute, NeighbourHeader, NeighbourMessage, NeighbourState,
    },
    route::{RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteType},
    rule::{RuleAttribute, RuleMessage},
};
use portolan_sys::netlink::NetlinkSocket;
use rustix::io::Errno;

use super::{Hop, Route, number};

/// The kernel answers at once.
const PATIENCE: Duration = Duration::from_secs(5);
/// A datagram of a dump is at most this long (`NLMSG_GOODSIZE`, and what receivers ask for).
const DATAGRAM_BYTES: usize = 1 << 16;
/// More edges than this are not held, since they are asked for again and again: a router of the
/// whole internet has a million routes.
const EDGES_MAX: usize = 20_000;

/// A netlink socket and room for what it says.
#[derive(Debug)]
pub struct Questions {
    socket: NetlinkSocket,
    room: Vec<u8>,
    sequence: u32,
}

impl Questions {
    pub fn open() -> io::Result<Self> {
        let socket = NetlinkSocket::open_route(PATIENCE)?;
        Ok(Self { socket, room: vec![0; DATAGRAM_BYTES], sequence: 0 })
    }

    /// The route to `target` over link number `zone`, 0 for any; `errno` if there is none.
    pub fn route(&mut self, target: IpAddr, zone: u32) -> Result<Route, i32> {
        let mut question = RouteMessage::default();
        question.header = RouteHeader {
            address_family: family(target),
            destination_prefix_length: if target.is_ipv4() { 32 } else { 128 },
            ..RouteHeader::default()
        };
        question.attributes.push(RouteAttribute::Destination(target.into()));
        question.attributes.push(RouteAttribute::IpProto(portolan_wire::protocol::TCP));
        if zone != 0 {
            question.attributes.push(RouteAttribute::Oif(zone));
        }
        let mut found = None;
        self.ask(RouteNetlinkMessage::GetRoute(question), false, &mut |answer| {
            if let RouteNetlinkMessage::NewRoute(route) = answer {
                found = Some(route);
            }
        })?;
        let found = found.ok_or(Errno::NETUNREACH.raw_os_error())?;
        // As connect(2) has it (`tcp_v4_connect` in net/ipv4/tcp_ipv4.c).
        if found.header.kind == RouteType::Broadcast {
            return Err(Errno::NETUNREACH.raw_os_error());
        }
        let (mut source, mut interface, mut gateway) = (None, 0, None);
        let mut is_direct = found.header.kind == RouteType::Unicast;
        for attribute in found.attributes {
            match attribute {
                RouteAttribute::PrefSource(address) => source = ip(&address),
                RouteAttribute::Oif(number) => interface = number,
                RouteAttribute::Gateway(address) => gateway = ip(&address),
                // A router of the other family, or a tunnel.
                RouteAttribute::Via(_)
                | RouteAttribute::Encap(_)
                | RouteAttribute::EncapType(_) => is_direct = false,
                _ => {}
            }
        }
        let hop = match (gateway, source) {
            (Some(gateway), _) if is_direct => self.by_router(interface, gateway),
            (None, Some(IpAddr::V4(_))) if is_direct && target.is_ipv4() => {
                self.directly(interface, target)
            }
            _ => Hop::Kernel,
        };
        // What the kernel sends to itself may come from the target's own address.
        let source = source.unwrap_or(target);
        Ok(Route { source, interface, hop, is_alone: source == target })
    }

    fn by_router(&mut self, interface: u32, gateway: IpAddr) -> Hop {
        match self.ethernet(interface) {
            None => Hop::Kernel,
            Some(_) => {
                self.neighbour(interface, gateway, is_usable).map_or(Hop::Kernel, Hop::Neighbour)
            }
        }
    }

    /// To a target that is on the link. What the kernel has found out about it says nothing about
    /// the other addresses of the stretch; what was set by hand is an edge.
    fn directly(&mut self, interface: u32, target: IpAddr) -> Hop {
        let Some(link) = self.ethernet(interface) else { return Hop::Kernel };
        let by_hand = |state| state == NeighbourState::Permanent;
        match (self.neighbour(interface, target, by_hand), link.own) {
            (Some(address), _) => Hop::Neighbour(address),
            (None, Some(own)) if link.has_arp => Hop::OnLink { own },
            _ => Hop::Kernel,
        }
    }

    /// The Ethernet address of a neighbour, if the kernel has it in such a state.
    fn neighbour(
        &mut self,
        interface: u32,
        address: IpAddr,
        is_wanted: fn(NeighbourState) -> bool,
    ) -> Option<[u8; 6]> {
        let mut question = NeighbourMessage::default();
        question.header = NeighbourHeader {
            family: family(address),
            ifindex: interface,
            ..NeighbourHeader::default()
        };
        let address = match address {
            IpAddr::V4(v4) => NeighbourAddress::Inet(v4),
            IpAddr::V6(v6) => NeighbourAddress::Inet6(v6),
        };
        question.attributes.push(NeighbourAttribute::Destination(address));
        let mut found = None;
        let asked = self.ask(RouteNetlinkMessage::GetNeighbour(question), false, &mut |answer| {
            if let RouteNetlinkMessage::NewNeighbour(neighbour) = answer {
                found = Some(neighbour);
            }
        });
        let found = found.filter(|found| asked.is_ok() && is_wanted(found.header.state))?;
        found.attributes.iter().find_map(|attribute| match attribute {
            NeighbourAttribute::LinkLayerAddress(bytes) => bytes.as_slice().try_into().ok(),
            _ => None,
        })
    }

    /// The link, if it is Ethernet.
    fn ethernet(&mut self, interface: u32) -> Option<Ethernet> {
        let mut question = LinkMessage::default();
        question.header.index = interface;
        let mut found = None;
        let asked = self.ask(RouteNetlinkMessage::GetLink(question), false, &mut |answer| {
            if let RouteNetlinkMessage::NewLink(link) = answer {
                found = Some(link);
            }
        });
        let link = found
            .filter(|link| asked.is_ok() && link.header.link_layer_type == LinkLayerType::Ether)?;
        let own = link.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::Address(bytes) => bytes.as_slice().try_into().ok(),
            _ => None,
        });
        let without = LinkFlags::Noarp | LinkFlags::Loopback;
        Some(Ethernet { own, has_arp: !link.header.flags.intersects(without) })
    }

    /// What routes and rules there are; `None` if they cannot be told.
    pub fn table(&mut self) -> Option<Table> {
        let mut table = Table::default();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let is_v4 = family == AddressFamily::Inet;
            let mut routes = RouteMessage::default();
            routes.header.address_family = family;
            self.ask(RouteNetlinkMessage::GetRoute(routes), true, &mut |answer| {
                let RouteNetlinkMessage::NewRoute(route) = answer else { return };
                let mut to = None;
                for attribute in &route.attributes {
                    match attribute {
                        RouteAttribute::Destination(address) => to = ip(address),
                        RouteAttribute::MultiPath(_) | RouteAttribute::NhId(_) => {
                            table.branches = true;
                        }
                        _ => {}
                    }
                }
                table.add(to, route.header.destination_prefix_length, is_v4);
            })
            .ok()?;
            let mut rules = RuleMessage::default();
            rules.header.family = family;
            self.ask(RouteNetlinkMessage::GetRule(rules), true, &mut |answer| {
                let RouteNetlinkMessage::NewRule(rule) = answer else { return };
                let mut to = None;
                for attribute in &rule.attributes {
                    match attribute {
                        RuleAttribute::Destination(address) => to = Some(*address),
                        RuleAttribute::SourcePortRange(_)
                        | RuleAttribute::DestinationPortRange(_) => table.has_port_rules = true,
                        _ => {}
                    }
                }
                table.add(to, rule.header.dst_len, is_v4);
            })
            .ok()?;
        }
        self.neighbours_by_hand()?.into_iter().for_each(|it| table.add(Some(it), 32, true));
        table.edges.sort_unstable();
        table.edges.dedup();
        Some(table)
    }

    /// Neighbours over IPv4 of which the Ethernet address was set by hand.
    fn neighbours_by_hand(&mut self) -> Option<Vec<IpAddr>> {
        let mut question = NeighbourMessage::default();
        question.header.family = AddressFamily::Inet;
        let mut found = Vec::new();
        self.ask(RouteNetlinkMessage::GetNeighbour(question), true, &mut |answer| {
            let RouteNetlinkMessage::NewNeighbour(neighbour) = answer else { return };
            let is_by_hand = neighbour.header.state == NeighbourState::Permanent;
            if is_by_hand && found.len() < EDGES_MAX {
                found.extend(neighbour.attributes.iter().find_map(|attribute| match attribute {
                    NeighbourAttribute::Destination(NeighbourAddress::Inet(v4)) => {
                        Some(IpAddr::V4(*v4))
                    }
                    _ => None,
                }));
            }
        })
        .ok()?;
        Some(found)
    }

    /// Asks, and hands over each answer; `errno` if the kernel refuses.
    fn ask(
        &mut self,
        question: RouteNetlinkMessage,
        is_dump: bool,
        each: &mut dyn FnMut(RouteNetlinkMessage),
    ) -> Result<(), i32> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | if is_dump { NLM_F_DUMP } else { 0 };
        header.sequence_number = self.sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(question));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes).map_err(|error| errno(&error))?;
        loop {
            let len = self.socket.receive(&mut self.room).map_err(|error| errno(&error))?;
            if self.take(len, is_dump, each)? {
                return Ok(());
            }
        }
    }

    /// Takes a datagram apart; whether it was the last.
    fn take(
        &self,
        len: usize,
        is_dump: bool,
        each: &mut dyn FnMut(RouteNetlinkMessage),
    ) -> Result<bool, i32> {
        let malformed = |_| Errno::BADMSG.raw_os_error();
        let mut rest = self.room.get(..len).unwrap_or_default();
        while !rest.is_empty() {
            let message =
                NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).map_err(malformed)?;
            let whole = usize::try_from(message.header.length).unwrap_or(0).next_multiple_of(4);
            rest = rest.get(whole.max(1)..).unwrap_or_default();
            if message.header.sequence_number != self.sequence {
                continue;
            }
            match message.payload {
                NetlinkPayload::Done(_) => return Ok(true),
                NetlinkPayload::Error(error) => {
                    return error.code.map_or(Ok(true), |code| Err(code.get().saturating_neg()));
                }
                NetlinkPayload::InnerMessage(answer) => {
                    each(answer);
                    if !is_dump {
                        return Ok(true);
                    }
                }
                _ => {}
            }
        }
        Ok(false)
    }
}

/// An Ethernet link.
struct Ethernet {
    /// Its own address.
    own: Option<[u8; 6]>,
    /// Its neighbours answer ARP.
    has_arp: bool,
}

/// What decides about routes.
#[derive(Debug, Default)]
pub struct Table {
    /// Where something begins, or has ended, ascending. There may be more than are held.
    pub edges: Vec<u128>,
    /// A route has several ways, of which the kernel takes one by what a packet holds.
    pub branches: bool,
    /// A rule looks at ports, which the kernel does not do for packets that are not its own.
    pub has_port_rules: bool,
}

impl Table {
    /// Whether there are more edges than are held.
    pub fn is_too_large(&self) -> bool {
        self.edges.len() >= EDGES_MAX
    }

    fn add(&mut self, address: Option<IpAddr>, prefix: u8, is_v4: bool) {
        if !self.is_too_large() {
            self.edges.extend(ends(address, prefix, is_v4));
        }
    }
}

/// The first address of a prefix, and the one after its last. Without an address it is everything
/// of the family.
fn ends(address: Option<IpAddr>, prefix: u8, is_v4: bool) -> impl Iterator<Item = u128> {
    let bits = if is_v4 { 32 } else { 128_u32 };
    let base = if is_v4 { 0xffff_0000_0000 } else { 0 };
    let first = address.map_or(base, number);
    let size = 1_u128.checked_shl(bits.saturating_sub(prefix.into()));
    let after = size.and_then(|size| first.checked_add(size));
    [Some(first), after].into_iter().flatten()
}

/// `NUD_VALID` of include/net/neighbour.h, less what needs no address.
fn is_usable(state: NeighbourState) -> bool {
    use NeighbourState::{Delay, Permanent, Probe, Reachable, Stale};
    matches!(state, Reachable | Stale | Delay | Probe | Permanent)
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(v4) => Some((*v4).into()),
        RouteAddress::Inet6(v6) => Some((*v6).into()),
        _ => None,
    }
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(Errno::IO.raw_os_error())
}
