use super::*;

const SEQUENCE: u32 = 7;

/// One socket as the kernel tells it: `inet_diag_msg`, and `tcp_info` of so many bytes.
fn message(family: u8, state: u8, info_bytes: usize) -> Vec<u8> {
    let mut payload = vec![0; ROW_BYTES];
    payload[0] = family;
    payload[1] = state;
    payload[4..6].copy_from_slice(&5432_u16.to_be_bytes());
    payload[6..8].copy_from_slice(&40_000_u16.to_be_bytes());
    payload[8..12].copy_from_slice(&[127, 0, 0, 1]);
    payload[24..28].copy_from_slice(&[127, 0, 0, 2]);
    payload[44..48].copy_from_slice(&5_u32.to_ne_bytes());
    payload[48..52].copy_from_slice(&1_u32.to_ne_bytes());
    // What waits to be acknowledged, and to be sent.
    payload[60..64].copy_from_slice(&150_u32.to_ne_bytes());
    payload[68..72].copy_from_slice(&4711_u32.to_ne_bytes());
    let mut info = vec![0; 240];
    info[68..72].copy_from_slice(&250_u32.to_ne_bytes());
    info[100..104].copy_from_slice(&3_u32.to_ne_bytes());
    info[120..128].copy_from_slice(&1_001_u64.to_ne_bytes());
    info[128..136].copy_from_slice(&77_u64.to_ne_bytes());
    info[144..148].copy_from_slice(&50_u32.to_ne_bytes());
    info[200..208].copy_from_slice(&1_400_u64.to_ne_bytes());
    info[208..216].copy_from_slice(&300_u64.to_ne_bytes());
    let length = u16::try_from(4 + info_bytes).expect("short");
    // Another attribute comes first.
    payload.extend([5, 0, 8, 0, 1, 0, 0, 0]);
    payload.extend(length.to_ne_bytes());
    payload.extend(INET_DIAG_INFO.to_ne_bytes());
    payload.extend(&info[..info_bytes]);
    framed(TCPDIAG_GETSOCK, SEQUENCE, &payload)
}

fn framed(kind: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER_BYTES + payload.len()).expect("short");
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend([0, 0]);
    message.extend(sequence.to_ne_bytes());
    message.extend([0; 4]);
    message.extend(payload);
    message
}

fn rows(datagram: &[u8]) -> (Vec<Row>, io::Result<bool>) {
    let mut rows = Vec::new();
    let ended = take(datagram, SEQUENCE, &mut |row| rows.push(row));
    (rows, ended)
}

#[test]
fn a_row_is_read() {
    let (rows, ended) = rows(&message(AF_INET, 1, 240));
    let expected = Row {
        state: 1,
        local: (IpAddr::from([127, 0, 0, 1]), 5432),
        remote: (IpAddr::from([127, 0, 0, 2]), 40_000),
        cookie: 1 << 32 | 5,
        inode: 4711,
        // 1,001 acknowledged, a SYN among them, and 100 of 150 under way.
        sent: 1_101,
        sent_max: 1_100,
        received: 77,
        retransmits: 3,
        rtt_us: 250,
    };
    assert_eq!(rows, [expected]);
    assert!(!ended.expect("it is whole"));
}

#[test]
fn a_fin_is_no_byte_that_was_sent() {
    let mut datagram = message(AF_INET, 4, 240);
    let (with_more_to_send, _) = rows(&datagram);
    assert_eq!(with_more_to_send[0].sent, 1_101);
    // Nothing is unsent: the FIN has left as well, or waits with the rest.
    let at = datagram.len() - 240 + 144;
    datagram[at..at + 4].fill(0);
    assert_eq!(rows(&datagram).0[0].sent, 1_150);
}

#[test]
fn what_an_older_kernel_does_not_tell_is_no_bound() {
    let (rows, _) = rows(&message(10, 1, 160));
    assert_eq!((rows[0].sent_max, rows[0].retransmits), (u64::MAX, 3));
    assert!(rows[0].local.0.is_ipv6());
}

#[test]
fn the_end_of_a_listing_and_of_others() {
    let done = |number: i32| framed(NLMSG_DONE, SEQUENCE, &number.to_ne_bytes());
    assert!(rows(&done(0)).1.expect("it is the end"));
    let error = rows(&done(-1)).1.expect_err("it was refused");
    assert_eq!(error.raw_os_error(), Some(1));
    let refused = framed(NLMSG_ERROR, SEQUENCE, &(-93_i32).to_ne_bytes());
    assert_eq!(rows(&refused).1.expect_err("it was refused").raw_os_error(), Some(93));
    // An answer to somebody who gave up.
    let stale = framed(NLMSG_DONE, SEQUENCE - 1, &0_i32.to_ne_bytes());
    assert!(!rows(&stale).1.expect("it is whole"));
}

#[test]
fn what_is_cut_short_is_an_error_or_no_row() {
    let whole = message(AF_INET, 1, 240);
    for length in 1..whole.len() {
        rows(&whole[..length]).1.expect_err("it is cut short");
    }
    for length in 0..ROW_BYTES {
        let (rows, ended) = rows(&framed(TCPDIAG_GETSOCK, SEQUENCE, &vec![1; length]));
        assert!(rows.is_empty() && !ended.expect("a whole message"), "{length}");
    }
    // Attributes of no length, and longer than there is.
    for attribute in [[0, 0, 2, 0], [255, 255, 2, 0]] {
        let payload = [&[1; ROW_BYTES][..], &attribute].concat();
        assert_eq!(rows(&framed(TCPDIAG_GETSOCK, SEQUENCE, &payload)).0[0].received, 0);
    }
}

#[test]
fn a_socket_of_this_process_is_listed() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("it listens");
    let client = std::net::TcpStream::connect(address).expect("it listens");
    let mut listing = Listing::open().expect("sock_diag is there");
    for with_listeners in [true, false] {
        let mut ends = Vec::new();
        let mut listeners = 0;
        let ended = listing.tcp(with_listeners, &mut |row| {
            let is_ours = row.local.1 == address.port() || row.remote.1 == address.port();
            match row.state {
                LISTEN if is_ours => listeners += 1,
                1 if is_ours => ends.push(row.cookie),
                _ => {}
            }
        });
        ended.expect("it can be listed");
        assert_eq!((ends.len(), listeners), (2, i32::from(with_listeners)));
        assert_ne!(ends[0], ends[1]);
    }
    drop(client);
}

#[test]
fn a_datagram_socket_of_this_process_is_listed() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let socket = std::net::UdpSocket::bind(address).expect("loopback");
        let address = socket.local_addr().expect("it is bound");
        let mut found = Vec::new();
        let mut listing = Listing::open().expect("sock_diag is there");
        let ended = listing.udp(&mut |row| {
            if row.local == (address.ip(), address.port()) {
                found.push(row.cookie);
            }
        });
        ended.expect("it can be listed");
        assert!(found.len() == 1 && found[0] != 0, "{found:?}");
    }
}
