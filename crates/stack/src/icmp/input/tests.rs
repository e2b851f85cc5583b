use core::net::{Ipv4Addr, Ipv6Addr};
use std::vec::Vec;

use portolan_wire::protocol;

use super::*;

const LOCAL: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const REMOTE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

fn quoted(fragment_offset: u16) -> Vec<u8> {
    let repr = ipv4::Repr {
        traffic_class: 0,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset,
        ttl: 1,
        protocol: protocol::UDP,
        source: LOCAL,
        destination: REMOTE,
        options: &[],
        payload_len: 1_480,
    };
    let mut bytes = std::vec![0; 28];
    repr.emit(&mut bytes).expect("there is room");
    bytes
}

fn read(repr: icmpv4::Repr, quoted: &[u8]) -> Option<ErrorKind> {
    let mut bytes = [&[0; 8], quoted].concat();
    repr.emit(&mut bytes).expect("there is room");
    let report = read_v4(&icmpv4::Packet::parse(&bytes).expect("a message"))?;
    assert_eq!((report.local, report.remote), (LOCAL.into(), REMOTE.into()));
    assert_eq!((report.protocol, report.quoted.len()), (protocol::UDP, 8));
    Some(report.kind)
}

#[test]
fn codes_are_hard_or_pass() {
    for code in 0..=15 {
        let repr = icmpv4::Repr::DestinationUnreachable { code, next_hop_mtu: 0 };
        let expected = match code {
            2 | 3 | 9 | 10 | 13 => ErrorKind::Unreachable,
            // An old router says no MTU: the next smaller one that links have.
            4 => ErrorKind::TooBig { mtu: 1_492 },
            _ => ErrorKind::Transient,
        };
        assert_eq!(read(repr, &quoted(0)), Some(expected), "{code}");
    }
    let exceeded = icmpv4::Repr::TimeExceeded { code: 0 };
    assert_eq!(read(exceeded, &quoted(0)), Some(ErrorKind::Transient));
}

#[test]
fn a_later_fragment_names_nobody() {
    let exceeded = icmpv4::Repr::TimeExceeded { code: 0 };
    assert_eq!(read(exceeded, &quoted(8)), None);
    assert_eq!(read(exceeded, &quoted(0)[..19]), None);
}

#[test]
fn ipv6_says_it_in_its_own_words() {
    let (local, remote) = (Ipv6Addr::from_bits(1 << 120), Ipv6Addr::from_bits(2 << 120));
    let header = ipv6::Repr {
        traffic_class: 0,
        flow_label: 0,
        next_header: protocol::TCP,
        hop_limit: 1,
        source: local,
        destination: remote,
        payload_len: 1_000,
    };
    let mut quoted = std::vec![0; 60];
    header.emit(&mut quoted).expect("there is room");
    let read = |repr: icmpv6::Repr| {
        let mut bytes = [&[0; 8], &quoted[..]].concat();
        repr.emit(&mut bytes, remote, local).expect("there is room");
        let report = read_v6(&icmpv6::Packet::parse(&bytes).expect("a message"))?;
        assert_eq!((report.local, report.remote), (local.into(), remote.into()));
        assert_eq!((report.protocol, report.quoted.len()), (protocol::TCP, 20));
        Some(report.kind)
    };
    assert_eq!(
        read(icmpv6::Repr::PacketTooBig { mtu: 1_300 }),
        Some(ErrorKind::TooBig { mtu: 1_300 })
    );
    for code in 0..=7 {
        let expected = match code {
            1 | 4 | 5 | 6 => ErrorKind::Unreachable,
            _ => ErrorKind::Transient,
        };
        assert_eq!(read(icmpv6::Repr::DestinationUnreachable { code }), Some(expected), "{code}");
    }
    let problem = icmpv6::Repr::ParameterProblem { code: 1, pointer: 6 };
    assert_eq!(read(problem), Some(ErrorKind::Transient));
}
