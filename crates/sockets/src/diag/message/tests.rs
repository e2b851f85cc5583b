//! The codec against netlink-packet-sock-diag, a second implementation, and against recordings
//! of a real kernel (tests/data/record.py).

pub(in crate::diag) mod oracle;
mod recorded;

use std::sync::Arc;

use netlink_packet_core::{DoneMessage, ErrorMessage, NetlinkPayload};
use proptest::{collection::vec, prelude::*, sample::select};

use super::*;
use crate::{Details, Filter, States};
use oracle::{message, rows};

const BOTH: [Transport; 2] = [Transport::Tcp, Transport::Udp];

/// Everything that a datagram says, up to and including its first error.
fn parts(datagram: &[u8]) -> Vec<Result<Part, Error>> {
    messages(datagram).map(|message| message?.part(Transport::Tcp)).collect()
}

fn first(datagram: &[u8]) -> Result<Part, Error> {
    parts(datagram).remove(0)
}

fn is_malformed(part: &Result<Part, Error>) -> bool {
    matches!(part, Err(Error::Malformed { .. }))
}

/// `struct inet_diag_req` of include/uapi/linux/inet_diag.h.
#[test]
fn a_request_for_both_families_is_of_the_first_version() {
    let details = Details { tcp_info: true, memory: true, ..Details::default() };
    let states = States::NONE.with(State::Listen);
    let query = Query { details, states, ..Query::all(Transport::Tcp) };
    let family = Family::Both;
    let request = Request { family, query: &query, bytecode: &[], sequence: 7 }.encode();
    let mut expected = vec![0; 16 + 60];
    expected[0..4].copy_from_slice(&76_u32.to_ne_bytes());
    expected[4..6].copy_from_slice(&18_u16.to_ne_bytes());
    expected[6..8].copy_from_slice(&0x301_u16.to_ne_bytes());
    expected[8..12].copy_from_slice(&7_u32.to_ne_bytes());
    expected[19] = 1 << 1 | 1 << 6;
    expected[68..72].copy_from_slice(&(1_u32 << 10).to_ne_bytes());
    assert_eq!(request, expected);
    let code = [1, 4, 8, 0];
    let request = Request { family, query: &query, bytecode: &code, sequence: 7 }.encode();
    assert_eq!(request[76..], [&8_u16.to_ne_bytes()[..], &1_u16.to_ne_bytes(), &code].concat());
}

#[test]
fn requests_are_what_the_second_implementation_writes() {
    for family in [Family::V4, Family::V6] {
        for transport in BOTH {
            for (tcp_info, memory) in [(false, false), (true, false), (false, true), (true, true)] {
                for states in all_and_each_state() {
                    let query = Query {
                        states,
                        details: Details { tcp_info, memory, ..Details::default() },
                        ..Query::all(transport)
                    };
                    let sequence = 0x0102_0304;
                    let request = Request { family, query: &query, bytecode: &[], sequence };
                    assert_eq!(request.encode()[..], oracle::encode(&request), "{request:?}");
                }
            }
        }
    }
}

fn all_and_each_state() -> impl Iterator<Item = States> {
    let each = State::ALL.into_iter().map(|state| States::NONE.with(state));
    each.chain([States::ALL, States::NONE])
}

#[test]
fn a_request_byte_by_byte() {
    let query = Query {
        details: Details { tcp_info: true, ..Details::default() },
        ..Query::all(Transport::Tcp)
    };
    let request = Request { family: Family::V6, query: &query, bytecode: &[], sequence: 7 };
    let mut expected = vec![72, 0, 0, 0, 20, 0, 1, 3, 7, 0, 0, 0, 0, 0, 0, 0];
    expected.extend([10, 6, 2, 0, 0xfe, 0x1f, 0, 0]);
    expected.resize(72, 0);
    if cfg!(target_endian = "little") {
        assert_eq!(request.encode(), expected);
        let request = Request { bytecode: &[1, 4, 8, 0], ..request };
        expected[0] = 80;
        expected.extend([8, 0, 1, 0, 1, 4, 8, 0]);
        assert_eq!(request.encode(), expected);
    }
}

#[test]
fn an_answer_is_an_error_message_and_nothing_else() {
    let answer =
        |bytes: Vec<u8>| messages(&bytes).next().expect("one").expect("well-formed").answer();
    assert_eq!(answer(raw(NLMSG_ERROR, &0_i32.to_ne_bytes())), Some(0));
    assert_eq!(answer(raw(NLMSG_ERROR, &(-2_i32).to_ne_bytes())), Some(2));
    assert_eq!(answer(raw(NLMSG_ERROR, &i32::MIN.to_ne_bytes())), Some(i32::MAX));
    assert_eq!(answer(raw(NLMSG_ERROR, &[1, 2])), None);
    assert_eq!(answer(raw(NLMSG_DONE, &0_i32.to_ne_bytes())), None);
}

#[test]
fn of_the_states_only_those_are_asked_for_that_the_filter_wants() {
    let filter = Filter::parse("state established state listening").expect("valid");
    let query = Query {
        states: States::NONE.with(State::Listen).with(State::Close),
        filter: Some(Arc::new(filter)),
        ..Query::all(Transport::Tcp)
    };
    let request = Request { family: Family::V4, query: &query, bytecode: &[], sequence: 7 };
    assert_eq!(request.encode()[20..24], (1_u32 << 10).to_ne_bytes());
}

#[test]
fn the_kernel_reports_its_errors_as_negative_numbers() {
    let error = |code| {
        let mut error = ErrorMessage::default();
        error.code = std::num::NonZeroI32::new(code);
        error.header = vec![0; 16];
        first(&message(1, 0, NetlinkPayload::Error(error)))
    };
    assert_eq!(error(-2).expect("well-formed"), Part::Failed(2));
    assert_eq!(error(i32::MIN).expect("well-formed"), Part::Failed(i32::MAX));
    assert_eq!(error(0).expect("well-formed"), Part::Unknown, "an acknowledgement");
}

#[test]
fn a_dump_ends_well_or_with_an_error_number() {
    let done = |code| {
        let mut done = DoneMessage::default();
        done.code = code;
        first(&message(1, 0, NetlinkPayload::Done(done)))
    };
    assert_eq!(done(0).expect("well-formed"), Part::Done);
    assert_eq!(done(-16).expect("well-formed"), Part::Failed(16));
    let bare = raw(NLMSG_DONE, &[]);
    assert_eq!(first(&bare).expect("well-formed"), Part::Done, "without a number");
}

#[test]
fn an_interrupted_dump_says_so() {
    for (flags, expected) in [(0, false), (0x02, false), (0x10, true), (0x12, true)] {
        let done = NetlinkPayload::Done(DoneMessage::default());
        let datagram = message(1, flags, done);
        let message = messages(&datagram).next().expect("one").expect("well-formed");
        assert_eq!(message.interrupted, expected, "flags {flags:#x}");
    }
}

#[test]
fn what_breaks_the_protocol_is_malformed() {
    let cases: [(&str, Vec<u8>); 6] = [
        ("half a header", vec![16, 0, 0, 0, 3, 0]),
        ("a length of nothing", vec![0; 16]),
        ("a length below the header's", with_length(raw(NLMSG_DONE, &[]), 15)),
        ("a length beyond the datagram", with_length(raw(NLMSG_DONE, &[0; 4]), 21)),
        ("an error without a number", raw(NLMSG_ERROR, &[1, 2, 3])),
        ("a socket without an inode", raw(SOCK_DIAG_BY_FAMILY, &[2; 71])),
    ];
    for (what, datagram) in cases {
        let parts = parts(&datagram);
        assert_eq!(parts.len(), 1, "{what}");
        assert!(is_malformed(&parts[0]), "{what}: {parts:?}");
    }
}

#[test]
fn the_error_names_the_offset() {
    let mut datagram = raw(NLMSG_DONE, &[0; 4]);
    datagram.extend(raw(NLMSG_ERROR, &[]));
    let Err(Error::Malformed { at, .. }) = &parts(&datagram)[1] else { panic!("an error") };
    assert_eq!(*at, 20);
}

#[test]
fn messages_begin_at_multiples_of_four() {
    for padding in 0..4 {
        let mut datagram = raw(99, &[1; 8][padding..]);
        datagram.resize(24, 0);
        datagram.extend(raw(NLMSG_DONE, &[0; 4]));
        let parts: Vec<Part> = parts(&datagram).into_iter().map(|part| part.expect("ok")).collect();
        assert_eq!(parts, [Part::Unknown, Part::Done], "{padding} bytes of padding");
    }
}

#[test]
fn unknown_kinds_states_and_families_are_left_out() {
    assert_eq!(first(&raw(99, &[1, 2, 3])).expect("well-formed"), Part::Unknown);
    for (family, state) in [(2, 0), (2, 14), (2, 255), (1, 1), (0, 1)] {
        let mut payload = [0; ROW_BYTES];
        payload[..2].copy_from_slice(&[family, state]);
        let part = first(&raw(SOCK_DIAG_BY_FAMILY, &payload)).expect("well-formed");
        assert_eq!(part, Part::Unknown, "family {family}, state {state}");
    }
}

#[test]
fn a_malformed_attribute_hides_the_measurements_only() {
    // The attribute's length, then what its bytes are.
    for (length, sent) in [(0_u16, 8), (3, 8), (4, 4), (107, 108), (200, 108)] {
        let mut payload = vec![0; ROW_BYTES];
        payload[..2].copy_from_slice(&[2, 1]);
        payload.extend(length.to_ne_bytes());
        payload.extend(INET_DIAG_INFO.to_ne_bytes());
        payload.resize(ROW_BYTES + sent, 0);
        let Ok(Part::Row(row)) = first(&raw(SOCK_DIAG_BY_FAMILY, &payload)) else {
            panic!("length {length} hid the socket")
        };
        assert_eq!(row.tcp, None, "length {length}");
    }
}

#[test]
fn whether_ipv6_only_is_a_byte_that_ipv4_sockets_do_not_have() {
    for (family, value, expected) in [
        (10, &[0][..], Some(false)),
        (10, &[1], Some(true)),
        (10, &[255, 0], Some(true)),
        (10, &[], None),
        (2, &[0], None),
        (2, &[1], None),
    ] {
        let mut payload = vec![0; ROW_BYTES];
        payload[..2].copy_from_slice(&[family, State::Listen as u8]);
        payload.extend(u16::try_from(4 + value.len()).expect("small").to_ne_bytes());
        payload.extend([INET_DIAG_SKV6ONLY.to_ne_bytes().as_slice(), value].concat());
        let Ok(Part::Row(row)) = first(&raw(SOCK_DIAG_BY_FAMILY, &payload)) else {
            panic!("a row")
        };
        assert_eq!(row.only_v6, expected, "{family} {value:?}");
    }
}

#[test]
fn only_link_local_addresses_carry_the_interface() {
    for (address, scope) in [("fe80::1", 7), ("::1", 0), ("2001:db8::1", 0)] {
        let mut payload = [0; ROW_BYTES];
        payload[..2].copy_from_slice(&[10, 1]);
        payload[8..24].copy_from_slice(&address.parse::<Ipv6Addr>().expect("valid").octets());
        payload[40..44].copy_from_slice(&7_u32.to_ne_bytes());
        let Ok(Part::Row(row)) = first(&raw(SOCK_DIAG_BY_FAMILY, &payload)) else {
            panic!("a row")
        };
        let SocketAddr::V6(local) = row.local else { panic!("IPv6") };
        assert_eq!((local.scope_id(), row.interface), (scope, 7), "{address}");
    }
}

/// A netlink message written by hand, for what the second implementation refuses to write.
fn raw(kind: u16, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER_BYTES + payload.len()).expect("small");
    let mut bytes = Vec::new();
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend([0; 10]);
    bytes.extend(payload);
    bytes
}

fn with_length(mut message: Vec<u8>, length: u32) -> Vec<u8> {
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message
}

/// Bytes that look like netlink messages more often than chance would have it.
fn nearly_messages() -> impl Strategy<Value = Vec<u8>> {
    let kinds = select(&[SOCK_DIAG_BY_FAMILY, NLMSG_DONE, NLMSG_ERROR, 4, 99]);
    let one = (kinds, 0..120_u32, vec(any::<u8>(), 0..120)).prop_map(|(kind, length, payload)| {
        let message = raw(kind, &payload);
        if length % 4 == 0 { with_length(message, length) } else { message }
    });
    vec(one, 0..4).prop_map(|messages| messages.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn requests_to_close_are_what_the_second_implementation_would_write(
        row in rows(),
        sequence: u32,
        tcp: bool,
    ) {
        let transport = if tcp { Transport::Tcp } else { Transport::Udp };
        let Row { local, remote, interface, cookie, .. } = row;
        let socket = SocketId { transport, local, remote, interface, cookie };
        let cookie = if cfg!(target_endian = "little") { cookie } else { cookie.rotate_left(32) };
        let theirs = oracle::encode_destroy(&SocketId { cookie, ..socket }, sequence);
        prop_assert_eq!(Destroy { socket: &socket, sequence }.encode(), theirs);
    }

    #[test]
    fn any_bytes_come_to_an_end(bytes in prop_oneof![vec(any::<u8>(), 0..400), nearly_messages()]) {
        let parts = parts(&bytes);
        prop_assert!(parts.len() <= bytes.len() / HEADER_BYTES + 1);
    }

    #[test]
    fn generated_rows_come_back(rows in vec(rows(), 0..6), sequence: u32) {
        let datagram: Vec<u8> =
            rows.iter().flat_map(|row| oracle::encode_row(row, sequence)).collect();
        let decoded: Vec<Row> = messages(&datagram)
            .map(|message| {
                let message = message.expect("well-formed");
                assert_eq!(message.sequence, sequence);
                match message.part(Transport::Tcp) {
                    Ok(Part::Row(row)) => *row,
                    other => panic!("{other:?}"),
                }
            })
            .collect();
        prop_assert_eq!(decoded, rows);
    }

    #[test]
    fn a_cut_reply_is_a_beginning_or_malformed(rows in vec(rows(), 1..4)) {
        let datagram: Vec<u8> = rows.iter().flat_map(|row| oracle::encode_row(row, 1)).collect();
        let whole: Vec<Part> = parts(&datagram).into_iter().map(|part| part.expect("ok")).collect();
        let lengths: Vec<usize> = rows.iter().map(oracle::row_bytes).collect();
        for cut in 0..datagram.len() {
            let mut before = parts(&datagram[..cut]);
            let malformed = before.last().is_some_and(is_malformed);
            if malformed {
                before.pop();
            }
            let before: Vec<Part> = before.into_iter().map(|part| part.expect("ok")).collect();
            prop_assert_eq!(&before[..], &whole[..before.len()], "cut at {}", cut);
            let complete: usize = lengths[..before.len()].iter().sum();
            prop_assert_eq!(malformed, complete < cut, "cut at {}", cut);
            prop_assert!(complete + lengths[before.len()] > cut, "a row is missing at {}", cut);
        }
    }
}
