//! What the tests of the files beside this one have in common: targets, and what they send.

use std::net::{IpAddr, Ipv6Addr};

use portolan_wire::{
    Seq,
    checksum::Sum,
    ipv4, ipv6, protocol,
    tcp::{
        self, Flags,
        options::{Options, Timestamps},
    },
};

use super::{
    flights::{Flight, Flights, Heard},
    ports::Ports,
    *,
};
use crate::{Evidence, Verdict};

pub(super) const PORTS: Ports = Ports { first: 40_000, count: 32 };
pub(super) const SYN_ACK: Flags = Flags::SYN.union(Flags::ACK);
pub(super) const RST_ACK: Flags = Flags::RST.union(Flags::ACK);

/// Nothing under way yet.
pub(super) fn no_flights() -> Flights {
    Flights::new((0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210), PORTS)
}

/// A target of each family, and the address that it is asked from.
pub(super) fn both() -> [(SocketAddr, IpAddr); 2] {
    [
        (SocketAddr::from(([192, 0, 2, 7], 443)), IpAddr::from([198, 51, 100, 1])),
        (SocketAddr::new("2001:db8::7".parse().unwrap(), 443), "2001:db8:1::1".parse().unwrap()),
    ]
}

/// One check under way in each family.
pub(super) fn two_flights() -> (Flights, [Flight; 2]) {
    let mut flights = no_flights();
    let launched = both().into_iter().zip(0..).map(|((target, source), place)| {
        let (flight, attempt) = flights.launch(Id(place), target, source).unwrap();
        assert_eq!(attempt, 0);
        flight
    });
    let launched: Vec<_> = launched.collect();
    (flights, launched.try_into().unwrap())
}

/// The segment that the target of `flight` would send.
pub(super) fn reply(flight: &Flight, flags: Flags, acknowledgment: Seq) -> tcp::Repr {
    tcp::Repr {
        source_port: flight.target.port(),
        destination_port: flight.source_port,
        sequence: Seq(77),
        acknowledgment,
        flags,
        window: 1000,
        urgent_pointer: 0,
        options: Options {
            mss: Some(1460),
            timestamps: Some(Timestamps { value: 9, echo: 0x706f_7274 }),
            ..Options::default()
        },
    }
}

/// Its bytes, with the right checksum.
pub(super) fn bytes(flight: &Flight, repr: &tcp::Repr) -> Vec<u8> {
    let mut bytes = vec![0; repr.header_len()];
    repr.emit(&mut bytes, flight.target.ip(), flight.source).unwrap();
    bytes
}

/// An answer that is to be believed, unless `flags` say nothing.
pub(super) fn answer(flight: &Flight, flags: Flags) -> Vec<u8> {
    bytes(flight, &reply(flight, flags, flight.sequence + 1))
}

/// Writes the checksum of a segment anew, after bytes of it were changed.
pub(super) fn complete(flight: &Flight, segment: &mut [u8]) {
    segment[16..18].fill(0);
    let mut sum = pseudo(flight.target.ip(), flight.source, protocol::TCP, segment.len());
    sum.add(segment);
    segment[16..18].copy_from_slice(&sum.finish().to_be_bytes());
}

pub(super) fn pseudo(source: IpAddr, destination: IpAddr, protocol: u8, length: usize) -> Sum {
    let mut sum = Sum::default();
    sum.pseudo_header(source, destination, protocol, u32::try_from(length).unwrap());
    sum
}

/// A packet from its IP header on.
pub(super) fn packet(source: IpAddr, to: IpAddr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet;
    match (source, to) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            packet = vec![0; ipv4::HEADER_BYTES];
            let header = ipv4::Repr {
                traffic_class: 0,
                identification: 7,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset: 0,
                ttl: 60,
                protocol,
                source,
                destination,
                options: &[],
                payload_len: payload.len(),
            };
            header.emit(&mut packet).unwrap();
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            packet = vec![0; ipv6::HEADER_BYTES];
            let header = ipv6::Repr {
                traffic_class: 0,
                flow_label: 0,
                next_header: protocol,
                hop_limit: 60,
                source,
                destination,
                payload_len: payload.len(),
            };
            header.emit(&mut packet).unwrap();
        }
        _ => panic!("the addresses are of one family"),
    }
    packet.extend_from_slice(payload);
    packet
}

/// An ICMP message of the family of `from`, a router, to `to`, with the right checksum.
pub(super) fn icmp(from: IpAddr, to: IpAddr, head: [u8; 8], quoted: &[u8]) -> Vec<u8> {
    let mut message = head.to_vec();
    message.extend_from_slice(quoted);
    message[2..4].fill(0);
    let mut sum = match from {
        IpAddr::V4(_) => Sum::default(),
        IpAddr::V6(_) => pseudo(from, to, protocol::ICMPV6, message.len()),
    };
    sum.add(&message);
    message[2..4].copy_from_slice(&sum.finish().to_be_bytes());
    message
}

/// A router on the way to the target of `flight`.
pub(super) fn router(flight: &Flight) -> IpAddr {
    match flight.source {
        IpAddr::V4(_) => IpAddr::from([203, 0, 113, 1]),
        IpAddr::V6(_) => IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 1)),
    }
}

/// What a packet turned out to be, without whose it is.
pub(super) fn verdict(heard: Heard) -> Option<Verdict> {
    match heard {
        Heard::Answer(_, answer) => Some(answer.verdict),
        Heard::Foreign | Heard::Forged => None,
    }
}

/// Splitmix64.
pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    #[allow(clippy::cast_possible_truncation, reason = "any bits are as good")]
    pub(super) fn word(&mut self) -> u32 {
        self.next() as u32
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    pub(super) fn byte(&mut self) -> u8 {
        self.next().to_be_bytes()[0]
    }
}

#[test]
fn what_this_host_refuses_to_send_is_a_verdict_with_the_reason() {
    for (target, _) in both() {
        let unreachable = refused(Errno::NETUNREACH.raw_os_error(), target);
        assert!(matches!(unreachable.verdict, Verdict::Unreachable(_)));
        let errno = Errno::NETUNREACH.raw_os_error();
        assert_eq!(unreachable.evidence, Evidence::Refusal(errno));
        assert_eq!(unreachable.attempt, None);
    }
}

#[test]
fn every_set_of_flights_has_ports_of_its_own() {
    let (first, a) = flights(16).unwrap();
    let (second, b) = flights(16).unwrap();
    assert_eq!((first.ports(), second.ports()), (a.ports(), b.ports()));
    assert_ne!(a.ports(), b.ports());
    assert_eq!((a.ports().count, a.count()), (16, 0));
}
