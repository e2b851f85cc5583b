//! Any segment is read, with its options, in bounded steps; what is written of it reads the same.

#![no_main]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use libfuzzer_sys::fuzz_target;
use portolan_wire::{Check, tcp::Packet};

fuzz_target!(|segment: &[u8]| {
    let quoted = Packet::parse_quoted_ports(segment);
    let Ok(packet) = Packet::parse(segment) else { return };
    let quoted = quoted.expect("a whole header has its first 8 bytes");
    assert_eq!(quoted.sequence, packet.sequence());
    assert_eq!(packet.header_len() + packet.payload().len(), segment.len());
    assert!(packet.options().count() <= 40);
    let addresses = [
        (IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::BROADCAST)),
        (IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
    ];
    let repr = packet.repr();
    for (source, destination) in addresses {
        let is_wrong = packet.check(source, destination) == Check::Wrong;
        assert_eq!(packet.is_intact(source, destination), !is_wrong);
        let mut written = vec![0; repr.header_len()];
        written.extend_from_slice(packet.payload());
        // Repeated options can be more with their padding than they were without.
        if repr.emit(&mut written, source, destination).is_err() {
            assert!(repr.header_len() > 60);
            continue;
        }
        let again = Packet::parse(&written).expect("what was written is read");
        assert_eq!((again.repr(), again.payload()), (repr, packet.payload()));
        assert_eq!(again.check(source, destination), Check::Right);
    }
});
