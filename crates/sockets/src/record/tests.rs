use proptest::{array::uniform, collection::vec, option, prelude::*, sample::select};

use super::*;

/// Writes a row as the programs do.
fn encode(row: &Row) -> Vec<u8> {
    let family = if row.local.is_ipv4() { AF_INET } else { AF_INET6 };
    let mut bytes = vec![family, row.state as u8, row.timer, row.retransmits];
    for port in [row.local.port(), row.remote.port()] {
        bytes.extend(port.to_ne_bytes());
    }
    let words = [row.receive_queue, row.send_queue, row.interface, row.uid, row.inode];
    for word in words.into_iter().chain([row.expires_ms]) {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(row.cookie.to_ne_bytes());
    for address in [row.local, row.remote] {
        match address.ip() {
            std::net::IpAddr::V4(address) => bytes.extend(address.octets()),
            std::net::IpAddr::V6(address) => bytes.extend(address.octets()),
        }
    }
    bytes
}

fn all(bytes: &[u8], transport: Transport) -> (Vec<Row>, usize) {
    let mut rows = Vec::new();
    let left = decode(bytes, transport, &mut |row| rows.push(row.clone()));
    (rows, left)
}

fn addresses() -> impl Strategy<Value = ([u8; 16], [u8; 16], Option<bool>)> {
    // Now and then link-local ones, whose scope is the interface.
    (any::<[u8; 16]>(), any::<[u8; 16]>(), option::of(any::<bool>()))
}

prop_compose! {
    fn any_row()(
        is_v4: bool,
        (local, remote, link_local) in addresses(),
        ports in uniform(any::<u16>()),
        state in select(&State::ALL),
        words in uniform::<_, 6>(any::<u32>()),
        (timer, retransmits, cookie) in any::<(u8, u8, u64)>(),
    ) -> Row {
        let [local_port, remote_port]: [u16; 2] = ports;
        let [receive_queue, send_queue, interface, uid, inode, expires_ms] = words;
        let address = |mut octets: [u8; 16], is_link_local, port| {
            if is_v4 {
                let octets: [u8; 4] = octets[..4].try_into().expect("four bytes");
                return SocketAddr::V4(SocketAddrV4::new(octets.into(), port));
            }
            if is_link_local {
                octets[..2].copy_from_slice(&[0xfe, 0x80]);
            }
            with_scope(octets.into(), port, interface)
        };
        Row {
            transport: Transport::Tcp,
            state,
            local: address(local, link_local == Some(true), local_port),
            remote: address(remote, link_local.is_some(), remote_port),
            interface,
            only_v6: None,
            receive_queue,
            send_queue,
            uid,
            inode,
            cookie,
            retransmits,
            timer,
            expires_ms,
            tcp: None,
            memory: None,
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in vec(any::<u8>(), 0..400)) {
        let (rows, left) = all(&bytes, Transport::Udp);
        prop_assert!(left <= bytes.len());
        prop_assert!(rows.len() <= bytes.len() / (FIXED_BYTES + 8));
    }

    /// As above, but most of the records make sense.
    #[test]
    fn nearly_sensible_bytes_are_read_without_panic(
        rows in vec(any_row(), 0..5),
        at: prop::sample::Index,
        byte: u8,
        cut: prop::sample::Index,
    ) {
        let mut bytes: Vec<u8> = rows.iter().flat_map(encode).collect();
        bytes.push(0);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(cut.index(bytes.len()));
        let (_, left) = all(&bytes, Transport::Tcp);
        prop_assert!(left <= bytes.len());
    }

    #[test]
    fn rows_come_back_as_they_were_written(rows in vec(any_row(), 0..20)) {
        let bytes: Vec<u8> = rows.iter().flat_map(encode).collect();
        prop_assert_eq!(all(&bytes, Transport::Tcp), (rows, 0));
    }

    /// A reader that is cut short goes on with what was left.
    #[test]
    fn rows_before_a_cut_are_read_and_the_rest_is_left(
        rows in vec(any_row(), 1..10),
        cut: prop::sample::Index,
    ) {
        let bytes: Vec<u8> = rows.iter().flat_map(encode).collect();
        let (head, tail) = bytes.split_at(cut.index(bytes.len()));
        let (mut found, left) = all(head, Transport::Tcp);
        prop_assert!(left < BYTES_MAX);
        let rest = [&head[head.len() - left..], tail].concat();
        let (more, left) = all(&rest, Transport::Tcp);
        found.extend(more);
        prop_assert_eq!((found, left), (rows, 0));
    }
}

/// The layout of `bpf/row.h`, byte by byte, on a little-endian machine.
#[test]
#[cfg(target_endian = "little")]
fn records_byte_by_byte() {
    let v4: &[u8] = &[
        2, 1, 2, 3, // family, state, timer, retransmits
        0x90, 0x1f, 0x01, 0xbb, // ports 8080 and 47873
        8, 0, 0, 0, 9, 0, 0, 1, // queues
        5, 0, 0, 0, // interface
        0xe8, 3, 0, 0, // uid 1000
        0x78, 0x56, 0x34, 0x12, // inode
        0x10, 0x27, 0, 0, // 10 seconds
        1, 2, 3, 4, 5, 6, 7, 8, // cookie
        127, 0, 0, 1, 192, 0, 2, 7,
    ];
    let (rows, left) = all(v4, Transport::Tcp);
    let expected = Row {
        transport: Transport::Tcp,
        state: State::Established,
        local: "127.0.0.1:8080".parse().expect("valid"),
        remote: "192.0.2.7:47873".parse().expect("valid"),
        interface: 5,
        only_v6: None,
        receive_queue: 8,
        send_queue: 0x0100_0009,
        uid: 1000,
        inode: 0x1234_5678,
        cookie: 0x0807_0605_0403_0201,
        retransmits: 3,
        timer: 2,
        expires_ms: 10_000,
        tcp: None,
        memory: None,
    };
    assert_eq!((rows, left), (vec![expected], 0));

    let mut v6 = vec![10, 7, 0, 0, 53, 0, 0, 0];
    v6.resize(FIXED_BYTES, 0);
    v6[16] = 3;
    v6.extend([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    v6.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    let (rows, left) = all(&v6, Transport::Udp);
    assert_eq!((rows.len(), left), (1, 0));
    assert_eq!(rows[0].local.to_string(), "[fe80::1%3]:53");
    assert_eq!(rows[0].remote.to_string(), "[2001:db8::2]:0");
    assert_eq!((rows[0].transport, rows[0].state), (Transport::Udp, State::Close));
}

#[test]
fn what_makes_no_sense_ends_the_reading() {
    let good = {
        let mut bytes = vec![0; FIXED_BYTES + 8];
        bytes[..2].copy_from_slice(&[AF_INET, 1]);
        bytes
    };
    assert_eq!(all(&good, Transport::Tcp).0.len(), 1);
    for (at, value) in [(0, 0), (0, 1), (0, 255), (1, 0), (1, 14), (1, 255)] {
        let mut bad = good.clone();
        bad[at] = value;
        let bytes = [good.clone(), bad, good.clone()].concat();
        let (rows, left) = all(&bytes, Transport::Tcp);
        assert_eq!((rows.len(), left), (1, 2 * good.len()), "byte {at} is {value}");
    }
    assert_eq!(all(&[], Transport::Tcp), (vec![], 0));
}
