//! The dump loop, fed by hand and by the kernel.

use netlink_packet_core::{DoneMessage, ErrorMessage, NetlinkPayload};

use super::*;
use crate::{
    Details, State, States,
    diag::message::tests::oracle::{encode_row, message},
    scene::in_own_namespace,
};

/// The sequence number of the request that the forged replies answer.
const SEQUENCE: u32 = 5;

fn row(inode: u32) -> Row {
    Row {
        transport: Transport::Tcp,
        state: State::Established,
        local: "127.0.0.1:80".parse().expect("valid"),
        remote: "127.0.0.1:40000".parse().expect("valid"),
        interface: 0,
        only_v6: None,
        receive_queue: 0,
        send_queue: 0,
        uid: 0,
        inode,
        cookie: 1,
        retransmits: 0,
        timer: 0,
        expires_ms: 0,
        tcp: None,
        memory: None,
    }
}

fn done(sequence: u32, flags: u16, code: i32) -> Vec<u8> {
    let mut done = DoneMessage::default();
    done.code = code;
    message(sequence, flags, NetlinkPayload::Done(done))
}

fn refusal(sequence: u32, code: i32) -> Vec<u8> {
    let mut error = ErrorMessage::default();
    error.code = std::num::NonZeroI32::new(code);
    message(sequence, 0, NetlinkPayload::Error(error))
}

/// What a dump of IPv6 comes to when the kernel answers with these datagrams; `None` when it would
/// wait for more.
fn fed(datagrams: &[Vec<u8>]) -> (Vec<u32>, Option<Result<Coverage, Error>>) {
    let mut diag = Diag::open(&Place::here()).expect("every supported kernel has sock_diag");
    diag.sequence = SEQUENCE;
    let mut inodes = Vec::new();
    let mut each = |row: &Row| inodes.push(row.inode);
    let mut coverage = Coverage::default();
    for datagram in datagrams {
        match diag.take(datagram, Family::V6, Transport::Tcp, &mut coverage, &mut each) {
            Ok(false) => {}
            Ok(true) => return (inodes, Some(Ok(coverage))),
            Err(error) => return (inodes, Some(Err(error))),
        }
    }
    (inodes, None)
}

#[test]
fn a_dump_of_several_datagrams() {
    let first = [encode_row(&row(1), SEQUENCE), encode_row(&row(2), SEQUENCE)].concat();
    let last = [encode_row(&row(3), SEQUENCE), done(SEQUENCE, 0, 0)].concat();
    let (inodes, end) = fed(&[first.clone(), last]);
    assert_eq!(inodes, [1, 2, 3]);
    let coverage = end.expect("ended").expect("well");
    assert_eq!(coverage, Coverage { rows: 3, skipped: 0, torn: false });
    let (inodes, end) = fed(&[first]);
    assert_eq!((inodes, end.is_none()), (vec![1, 2], true), "there is more to come");
}

#[test]
fn what_answers_another_request_is_passed_over() {
    let stale = [
        encode_row(&row(1), SEQUENCE - 1),
        done(SEQUENCE - 1, 0x10, 0),
        refusal(SEQUENCE - 1, -16),
    ];
    let fresh = [encode_row(&row(2), SEQUENCE), done(SEQUENCE, 0, 0)].concat();
    let (inodes, end) = fed(&[stale.concat(), fresh]);
    assert_eq!(inodes, [2]);
    let coverage = end.expect("ended").expect("well");
    assert_eq!(coverage, Coverage { rows: 1, skipped: 0, torn: false });
}

#[test]
fn nothing_counts_after_the_end() {
    let datagram = [done(SEQUENCE, 0, 0), encode_row(&row(1), SEQUENCE)].concat();
    assert_eq!(fed(&[datagram]).0, [0; 0]);
}

#[test]
fn a_table_that_changed_is_torn() {
    for torn_end in [false, true] {
        let mut one = encode_row(&row(1), SEQUENCE);
        one[6..8].copy_from_slice(&if torn_end { 0_u16 } else { 0x10 }.to_ne_bytes());
        let end = done(SEQUENCE, if torn_end { 0x10 } else { 0 }, 0);
        let (_, end) = fed(&[one, end]);
        assert!(end.expect("ended").expect("well").torn, "at the end: {torn_end}");
    }
}

#[test]
fn a_refusal_names_the_dump_and_the_way_out() {
    for reply in [refusal(SEQUENCE, -2), done(SEQUENCE, 0, -2)] {
        let (_, end) = fed(&[encode_row(&row(1), SEQUENCE), reply]);
        let error = end.expect("ended").expect_err("refused");
        let Error::Refused { transport: Transport::Tcp, family: "IPv6", source } = &error else {
            panic!("{error}")
        };
        assert_eq!(source.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("--method procfs"), "{error}");
    }
}

#[test]
fn rows_before_a_malformed_message_are_delivered() {
    let mut datagram = encode_row(&row(1), SEQUENCE);
    datagram.extend(&encode_row(&row(2), SEQUENCE)[..40]);
    let (inodes, end) = fed(&[datagram]);
    assert_eq!(inodes, [1]);
    assert!(matches!(end.expect("ended"), Err(Error::Malformed { .. })));
}

#[test]
fn what_this_version_does_not_know_is_counted() {
    let mut strange = encode_row(&row(1), SEQUENCE);
    strange[16] = 99; // no such address family
    let (inodes, end) = fed(&[strange, done(SEQUENCE, 0, 0)]);
    assert_eq!(inodes, [0; 0]);
    let coverage = end.expect("ended").expect("well");
    assert_eq!(coverage, Coverage { rows: 0, skipped: 1, torn: false });
}

/// Opens so many listeners that a dump with measurements takes several datagrams.
fn many_listeners() -> Vec<std::net::TcpListener> {
    (0..300).map(|_| std::net::TcpListener::bind("127.0.0.1:0").expect("bound")).collect()
}

fn listed(diag: &mut Diag) -> Result<usize, Error> {
    let query = Query {
        states: States::NONE.with(State::Listen),
        details: Details { tcp_info: true, ..Details::default() },
        ..Query::all(Transport::Tcp)
    };
    let mut rows = 0;
    diag.read(&query, &mut |_| rows += 1).map(|_| rows)
}

#[test]
fn a_long_dump_is_read_whole_again_and_again() {
    in_own_namespace(|| {
        let listeners = many_listeners();
        let mut diag = Diag::open(&Place::here()).expect("opened");
        for _ in 0..3 {
            assert_eq!(listed(&mut diag).expect("listed"), listeners.len());
        }
    });
}

#[test]
fn a_dump_that_was_given_up_does_not_spoil_the_next() {
    in_own_namespace(|| {
        let listeners = many_listeners();
        let mut diag = Diag::open(&Place::here()).expect("opened");
        let query = Query {
            details: Details { tcp_info: true, ..Details::default() },
            ..Query::all(Transport::Tcp)
        };
        let given_up = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            diag.read(&query, &mut |_| std::panic::resume_unwind(Box::new("enough")))
        }));
        assert!(given_up.is_err());
        assert_eq!(listed(&mut diag).expect("listed"), listeners.len());
    });
}
