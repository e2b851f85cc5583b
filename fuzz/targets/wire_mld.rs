//! Any message of multicast listener discovery is read, with its records and sources, in bounded
//! steps; what is written of it reads the same.

#![no_main]

use std::net::Ipv6Addr;

use libfuzzer_sys::fuzz_target;
use portolan_wire::{
    Check, icmpv6,
    ipv6::{self, HEADER_BYTES},
    mld::{Packet, RECORD_BYTES, Repr},
    protocol::{HOP_BY_HOP, ICMPV6},
};

fuzz_target!(|bytes: &[u8]| {
    // The first byte picks the type, so that less has to be guessed.
    let [pick, bytes @ ..] = bytes else { return };
    let mut bytes = bytes.to_vec();
    if let [kind, ..] = &mut bytes[..] {
        *kind = [130, 131, 132, 143][usize::from(pick % 4)];
    }
    let Ok(carried) = icmpv6::Packet::parse(&bytes) else { return };
    let Ok(packet) = Packet::parse(&carried) else { return };
    let records: Vec<_> = packet.records().collect();
    assert!(records.len() * RECORD_BYTES <= bytes.len());
    let repr = Repr { message: packet.message(), records: &records };
    let (source, destination) = (Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED);
    let mut written = vec![0; repr.header_len()];
    // Auxiliary data are left out.
    assert!(written.len() <= bytes.len());
    repr.emit(&mut written, source, destination).expect("it was read");
    let carried = icmpv6::Packet::parse(&written).expect("it has a header");
    assert_eq!(carried.check(source, destination), Check::Right);
    let again = Packet::parse(&carried).expect("what was written is read");
    assert_eq!(again.message(), packet.message());
    assert!(again.records().eq(records.iter().copied()));
    // Any bytes as the headers in front of it.
    let next_header = if pick & 8 > 0 { HOP_BY_HOP } else { ICMPV6 };
    let header = ipv6::Repr {
        traffic_class: 0,
        flow_label: 0,
        next_header,
        hop_limit: pick >> 7,
        source,
        destination,
        payload_len: bytes.len(),
    };
    let mut carrier = [&[0; HEADER_BYTES], &bytes[..]].concat();
    if header.emit(&mut carrier).is_ok() {
        let carrier = ipv6::Packet::parse(&carrier).expect("what was written is read");
        assert!(packet.check_carrier(&carrier).is_err(), "nobody on a link is called ::1");
    }
});
