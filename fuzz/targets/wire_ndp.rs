//! Any message of neighbour discovery is read, with its options, in bounded steps; what is written
//! of it reads the same.

#![no_main]

use std::net::Ipv6Addr;

use libfuzzer_sys::fuzz_target;
use portolan_wire::{
    Check, icmpv6,
    ipv6::{self, HEADER_BYTES},
    ndp::{Packet, Repr},
    protocol::ICMPV6,
};

fuzz_target!(|bytes: &[u8]| {
    // The first byte picks the hop limit and the type, so that less has to be guessed.
    let [pick, bytes @ ..] = bytes else { return };
    let mut bytes = bytes.to_vec();
    if let [kind, code, ..] = &mut bytes[..] {
        (*kind, *code) = (133 + pick % 5, 0);
    }
    let Ok(carried) = icmpv6::Packet::parse(&bytes) else { return };
    let Ok(packet) = Packet::parse(&carried) else { return };
    let options: Vec<_> = packet.options().collect();
    assert!(options.len() <= bytes.len() / 8);
    let repr = Repr { message: packet.message(), options: &options };
    let (source, destination) = (Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED);
    let mut written = vec![0; HEADER_BYTES + repr.header_len()];
    assert_eq!(written.len(), HEADER_BYTES + bytes.len());
    repr.emit(&mut written[HEADER_BYTES..], source, destination).expect("it was read");
    let header = ipv6::Repr {
        traffic_class: 0,
        flow_label: 0,
        next_header: ICMPV6,
        hop_limit: 255 - (pick >> 7),
        source,
        destination,
        payload_len: repr.header_len(),
    };
    // What does not fit into a packet was not carried by one.
    if header.emit(&mut written).is_err() {
        return;
    }
    let carrier = ipv6::Packet::parse(&written).expect("what was written is read");
    let carried = icmpv6::Packet::parse(carrier.payload()).expect("it has a header");
    assert_eq!(carried.check(source, destination), Check::Right);
    let again = Packet::parse(&carried).expect("what was written is read");
    assert_eq!(again.message(), packet.message());
    assert!(again.options().eq(options.iter().copied()));
    assert_eq!(again.check_carrier(&carrier).is_ok(), packet.check_carrier(&carrier).is_ok());
});
