use std::{vec, vec::Vec};

use proptest::{collection::vec, prelude::*};
use smoltcp::{
    phy::ChecksumCapabilities,
    wire::{Icmpv6Packet, Icmpv6Repr, MldAddressRecord, MldRecordType, MldRepr},
};

use super::*;
use crate::{Check, generators::bytes};

const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const ALL: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const GROUP: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff12, 0x3456);

fn emit(repr: &Repr<'_>) -> Vec<u8> {
    let mut message = vec![0xee; repr.header_len()];
    repr.emit(&mut message, ROUTER, ALL).unwrap();
    message
}

fn parse(bytes: &[u8]) -> Result<Packet<'_>, Malformed> {
    Packet::parse(&icmpv6::Packet::parse(bytes).unwrap())
}

fn query(extended: Option<Extended<'_>>, response_code: u16) -> Query<'_> {
    Query { extended, response_code, group: Ipv6Addr::UNSPECIFIED }
}

const EXTENDED: Extended<'static> =
    Extended { suppresses: false, robustness: 2, interval_code: 125, sources: &[] };

/// RFC 3810, section 5.2.
#[test]
fn a_report_is_laid_out_as_the_figure_says() {
    let kind = RecordKind::CHANGE_TO_EXCLUDE_MODE;
    let records = [Record { kind, group: GROUP, sources: &[[7; 16]] }];
    let bytes = emit(&Repr { message: Message::Report, records: &records });
    assert_eq!((bytes.len(), &bytes[..2], &bytes[4..8]), (44, &[143, 0][..], &[0, 0, 0, 1][..]));
    assert_eq!(&bytes[8..12], &[4, 0, 0, 1]);
    assert_eq!((&bytes[12..28], &bytes[28..]), (&GROUP.octets()[..], &[7; 16][..]));
}

/// RFC 3810, section 5.1.3: 12 bits of mantissa and 3 of exponent.
#[test]
fn times_to_answer_are_read() {
    for (code, ms) in [(0, 0), (10_000, 10_000), (0x7fff, 32_767), (0x8000, 32_768)] {
        assert_eq!(query(Some(EXTENDED), code).response_ms(), ms);
    }
    assert_eq!(query(Some(EXTENDED), 0xffff).response_ms(), 8_387_584);
    assert_eq!(query(None, 0xffff).response_ms(), 65_535, "a number in version 1");
}

/// RFC 3810, section 8.1: 24 bytes are version 1, 28 and more version 2, and what is between
/// nothing.
#[test]
fn the_version_of_a_query_shows_in_its_length() {
    let version_2 = emit(&Repr { message: Message::Query(query(Some(EXTENDED), 9)), records: &[] });
    let version_1 = emit(&Repr { message: Message::Query(query(None, 9)), records: &[] });
    assert_eq!((version_1.len(), version_2.len()), (24, 28));
    assert_eq!(parse(&version_1).unwrap().message(), Message::Query(query(None, 9)));
    assert_eq!(parse(&version_2).unwrap().message(), Message::Query(query(Some(EXTENDED), 9)));
    for len in (8..24).chain(25..28) {
        let cut = &version_2[..len];
        assert!(matches!(parse(cut), Err(Malformed::Truncated { .. })), "{len}");
    }
}

#[test]
fn refuses_what_is_no_such_message() {
    let truncated = |bytes: &[u8]| matches!(parse(bytes), Err(Malformed::Truncated { .. }));
    let mut bytes = vec![0; 48];
    bytes[0] = 128;
    let error = Malformed::Value { what: "MLD type", found: 128 };
    assert_eq!(parse(&bytes).map(drop), Err(error));
    for kind in [131, 132] {
        bytes[0] = kind;
        assert!(truncated(&bytes[..23]) && parse(&bytes).is_ok());
    }
    // More records, sources and auxiliary data than there are.
    bytes[0] = 143;
    for (at, value) in [(7, 3), (11, 2), (9, 6)] {
        let mut bytes = bytes.clone();
        (bytes[7], bytes[at]) = (1, value);
        bytes[7] = bytes[7].max(1);
        assert!(truncated(&bytes), "{at}");
        bytes[at] = 1;
        assert!(parse(&bytes).is_ok(), "{at}");
    }
    // Auxiliary data are skipped: RFC 3810, section 5.2.11.
    (bytes[7], bytes[9], bytes[32]) = (2, 1, 1);
    let mut long = bytes.clone();
    long.resize(52, 0);
    let packet = parse(&long).unwrap();
    let kinds: Vec<_> = packet.records().map(|record| record.kind.0).collect();
    assert_eq!(kinds, [0, 1]);
    let mut buffer = [0; 23];
    let repr = Repr { message: Message::ReportV1(GROUP), records: &[] };
    let error = NoRoom::Buffer { what: "MLD message", needed: 24, found: 23 };
    assert_eq!(repr.emit(&mut buffer, ROUTER, ALL), Err(error));
    assert_eq!(buffer, [0; 23]);
}

/// Whether a host may believe it in a packet with these hop-by-hop options.
fn is_believed(message: Message<'_>, source: Ipv6Addr, hop_limit: u8, options: &[u8]) -> bool {
    let message = emit(&Repr { message, records: &[] });
    let extension = Extension::HopByHop(options);
    let chain = ipv6::extension::Repr { next_header: ICMPV6, extension };
    let mut payload = vec![0; chain.header_len()];
    chain.emit(&mut payload).unwrap();
    payload.extend_from_slice(&message);
    let header = ipv6::Repr {
        traffic_class: 0,
        flow_label: 0,
        next_header: crate::protocol::HOP_BY_HOP,
        hop_limit,
        source,
        destination: ALL,
        payload_len: payload.len(),
    };
    let mut packet = [&[0; ipv6::HEADER_BYTES][..], &payload].concat();
    header.emit(&mut packet).unwrap();
    let carrier = ipv6::Packet::parse(&packet).unwrap();
    let upper = carrier.upper_layer().unwrap();
    parse(upper.payload).unwrap().check_carrier(&carrier).is_ok()
}

/// RFC 3810, section 6.2; RFC 3590, section 4.
#[test]
fn rules_of_rfc_3810() {
    let alert = options::ROUTER_ALERT_MULTICAST_LISTENER;
    let ask = Message::Query(query(Some(EXTENDED), 9));
    assert!(is_believed(ask, ROUTER, 1, &alert));
    assert!(!is_believed(ask, ROUTER, 2, &alert), "a hop limit that could have been larger");
    assert!(!is_believed(ask, ROUTER, 1, &[5, 2, 0, 1]), "an alert for others");
    assert!(!is_believed(ask, ROUTER, 1, &[1, 2, 0, 0]), "no alert");
    let none = Ipv6Addr::UNSPECIFIED;
    let global = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
    assert!(!is_believed(ask, none, 1, &alert) && !is_believed(ask, global, 1, &alert));
    let tell = Message::ReportV1(GROUP);
    assert!(is_believed(tell, none, 1, &alert) && !is_believed(tell, global, 1, &alert));
}

fn sources() -> impl Strategy<Value = Vec<[u8; 16]>> {
    vec(any::<[u8; 16]>(), 0..4)
}

fn group() -> impl Strategy<Value = Ipv6Addr> {
    any::<u128>().prop_map(|bits| Ipv6Addr::from_bits(bits | 0xff << 120))
}

proptest! {
    #[test]
    fn others_read_the_queries_that_are_written(
        response_code: u16, suppresses: bool, robustness in 0..8u8, interval_code: u8,
        group: Ipv6Addr, sources in sources(),
    ) {
        let extended = Extended { suppresses, robustness, interval_code, sources: &sources };
        let message = Message::Query(Query { extended: Some(extended), response_code, group });
        let bytes = emit(&Repr { message, records: &[] });
        let packet = parse(&bytes).unwrap();
        prop_assert_eq!(packet.message(), message);
        let check = icmpv6::Packet::parse(&bytes).unwrap().check(ROUTER, ALL);
        prop_assert_eq!(check, Check::Right);
        let theirs = Icmpv6Packet::new_checked(&bytes[..]).unwrap();
        let theirs =
            Icmpv6Repr::parse(&ROUTER, &ALL, &theirs, &ChecksumCapabilities::default()).unwrap();
        let num_srcs = u16::try_from(sources.len()).unwrap();
        prop_assert_eq!(theirs, Icmpv6Repr::Mld(MldRepr::Query {
            max_resp_code: response_code,
            mcast_addr: group,
            s_flag: suppresses,
            qrv: robustness,
            qqic: interval_code,
            num_srcs,
            data: sources.as_flattened(),
        }));
    }

    #[test]
    fn others_read_the_reports_that_are_written(
        records in vec((0..7u8, group(), sources()), 0..5),
    ) {
        let records: Vec<_> = records
            .iter()
            .map(|(kind, group, sources)| Record {
                kind: RecordKind(*kind), group: *group, sources,
            })
            .collect();
        let bytes = emit(&Repr { message: Message::Report, records: &records });
        let packet = parse(&bytes).unwrap();
        prop_assert!(packet.records().eq(records.iter().copied()));
        let theirs = Icmpv6Packet::new_checked(&bytes[..]).unwrap();
        prop_assert!(theirs.verify_checksum(&ROUTER, &ALL));
        prop_assert_eq!(usize::from(theirs.nr_mcast_addr_rcrds()), records.len());
        let mut rest = &bytes[8..];
        for record in &records {
            let theirs = MldAddressRecord::new_checked(rest).unwrap();
            prop_assert_eq!(theirs.record_type(), MldRecordType::from(record.kind.0));
            prop_assert_eq!(theirs.mcast_addr(), record.group);
            prop_assert_eq!(usize::from(theirs.num_srcs()), record.sources.len());
            prop_assert_eq!(theirs.aux_data_len(), 0);
            rest = &rest[record.header_len()..];
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn any_bytes_are_read_or_refused(kind in 0..4usize, body in bytes(200)) {
        let kind = [130, 131, 132, 143][kind];
        let bytes = [&[kind, 0, 0, 0][..], &body].concat();
        if let Ok(message) = icmpv6::Packet::parse(&bytes)
            && let Ok(packet) = Packet::parse(&message)
        {
            let records: Vec<_> = packet.records().collect();
            prop_assert!(records.len() * RECORD_BYTES <= body.len());
            let again = emit(&Repr { message: packet.message(), records: &records });
            let again = parse(&again).unwrap();
            prop_assert_eq!(again.message(), packet.message());
            prop_assert!(again.records().eq(records.iter().copied()));
        }
    }
}
