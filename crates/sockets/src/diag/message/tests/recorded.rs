//! Dumps of a real kernel, recorded by tests/data/record.py.

use proptest::{prelude::*, sample::Index};

use super::{
    super::*,
    oracle::{decode_row, message},
    parts,
};

const TCP4: &[u8] = include_bytes!("../../../../tests/data/tcp4.bin");
const TCP6: &[u8] = include_bytes!("../../../../tests/data/tcp6.bin");
const UDP4: &[u8] = include_bytes!("../../../../tests/data/udp4.bin");
const UDP6: &[u8] = include_bytes!("../../../../tests/data/udp6.bin");
const RECORDED: [(&[u8], Transport); 4] = [
    (TCP4, Transport::Tcp),
    (TCP6, Transport::Tcp),
    (UDP4, Transport::Udp),
    (UDP6, Transport::Udp),
];

/// The rows of a recording, which must end well.
fn rows(recorded: &[u8], transport: Transport) -> Vec<Row> {
    let mut rows = Vec::new();
    for message in messages(recorded) {
        let message = message.expect("well-formed");
        assert_eq!(message.sequence, 7);
        assert!(!message.interrupted);
        match message.part(transport).expect("well-formed") {
            Part::Row(row) => rows.push(*row),
            Part::Done => return rows,
            other => panic!("{other:?}"),
        }
    }
    panic!("the recording has no end")
}

fn find(rows: &[Row], state: State, local: &str) -> Row {
    let local: SocketAddr = local.parse().expect("valid");
    let found = rows.iter().find(|row| row.state == state && row.local == local);
    found.unwrap_or_else(|| panic!("no {state:?} at {local}")).clone()
}

#[test]
fn the_second_implementation_reads_the_same() {
    for (recorded, transport) in RECORDED {
        let mut expected = Vec::new();
        let mut rest = recorded;
        while !rest.is_empty() {
            let (row, length) = decode_row(rest, transport);
            expected.extend(row);
            rest = rest.get(length..).unwrap_or_default();
        }
        let mut rows = rows(recorded, transport);
        for row in rows.iter_mut().filter(|row| row.timer == 3) {
            row.expires_ms = 0; // which the second implementation drops
        }
        assert_eq!(rows, expected);
    }
}

#[test]
fn the_recorded_sockets() {
    let tcp4 = rows(TCP4, Transport::Tcp);
    assert_eq!(tcp4.len(), 6);
    let listener = find(&tcp4, State::Listen, "127.0.0.1:5432");
    assert_eq!(listener.remote, "0.0.0.0:0".parse().expect("valid"));
    assert_ne!((listener.inode, listener.send_queue), (0, 0), "an inode and a backlog's limit");
    let server = find(&tcp4, State::Established, "127.0.0.1:5432");
    let client = tcp4.iter().find(|row| row.local == server.remote).expect("the other end");
    assert_eq!(client.remote, server.local);
    assert_eq!(client.tcp.expect("measured").bytes_acked, Some(801), "800 and the SYN");
    assert_eq!(server.tcp.expect("measured").bytes_received, Some(800));
    assert_eq!(server.tcp.expect("measured").bytes_sent, Some(6));
    let over = find(&tcp4, State::TimeWait, "127.0.0.2:8080");
    assert_eq!((over.inode, over.timer, over.tcp), (0, 3, None));
    assert!((1..=60_000).contains(&over.expires_ms), "{} ms", over.expires_ms);

    let tcp6 = rows(TCP6, Transport::Tcp);
    assert_eq!(tcp6.len(), 7);
    find(&tcp6, State::Listen, "[::1]:5433");
    assert_eq!(find(&tcp6, State::Listen, "[::]:9092").only_v6, Some(false));
    find(&tcp6, State::TimeWait, "[::1]:8081");
    find(&tcp6, State::Established, "[::ffff:127.0.0.1]:9092");

    for (recorded, local) in [(UDP4, "127.0.0.1:53"), (UDP6, "[::1]:53")] {
        let udp = rows(recorded, Transport::Udp);
        assert_eq!(udp.len(), 2);
        let server = find(&udp, State::Close, local);
        assert_ne!(server.receive_queue, 0, "a datagram waits");
        let client = udp.iter().find(|row| row.remote == server.local).expect("connected");
        assert_eq!(client.state, State::Established);
    }
    for row in tcp4.iter().chain(&tcp6) {
        let told = row.state == State::Listen && row.local.is_ipv6();
        assert_eq!(row.only_v6.is_some(), told, "{row:?}");
    }
    let all = RECORDED.map(|(recorded, transport)| rows(recorded, transport)).concat();
    assert!(all.iter().all(|row| row.cookie != 0 && row.interface == 0 && row.uid == 0));
}

#[test]
fn every_beginning_is_a_prefix_or_malformed() {
    for (recorded, _) in RECORDED {
        let whole: Vec<String> = parts(recorded).iter().map(|part| format!("{part:?}")).collect();
        for cut in 0..recorded.len() {
            let mut cut_parts = parts(&recorded[..cut]);
            if matches!(cut_parts.last(), Some(Err(Error::Malformed { .. }))) {
                cut_parts.pop();
            }
            assert!(cut_parts.len() < whole.len(), "cut at {cut}");
            for (part, expected) in cut_parts.iter().zip(&whole) {
                assert_eq!(&format!("{part:?}"), expected, "cut at {cut}");
            }
        }
    }
}

/// Bytes to be changed: where, and to what.
fn mutations() -> impl Strategy<Value = Vec<(Index, u8)>> {
    proptest::collection::vec((any::<Index>(), any::<u8>()), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn mutated_recordings_come_to_an_end(which in 0..4_usize, mutations in mutations()) {
        let mut bytes = RECORDED[which].0.to_vec();
        for (at, byte) in mutations {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        prop_assert!(parts(&bytes).len() <= bytes.len() / HEADER_BYTES + 1);
    }
}

#[test]
fn what_follows_the_end_is_another_message() {
    let done = netlink_packet_core::DoneMessage::default();
    let mut bytes = message(7, 0, netlink_packet_core::NetlinkPayload::Done(done));
    let (expected, end) = (parts(TCP4).len() + 1, bytes.len());
    bytes.extend_from_slice(TCP4);
    assert_eq!(end % 4, 0);
    assert_eq!(parts(&bytes).len(), expected);
}
