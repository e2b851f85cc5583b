use std::fs;

use proptest::{collection::vec, prelude::*, sample::select};

use super::*;

const RECORDED: [(&str, Transport, usize); 4] = [
    (include_str!("../../../tests/data/proc-tcp.txt"), Transport::Tcp, 6),
    (include_str!("../../../tests/data/proc-tcp6.txt"), Transport::Tcp, 7),
    (include_str!("../../../tests/data/proc-udp.txt"), Transport::Udp, 2),
    (include_str!("../../../tests/data/proc-udp6.txt"), Transport::Udp, 2),
];

fn parsed(line: &str) -> Row {
    match parse(line.as_bytes(), Transport::Tcp) {
        Line::Row(row) => *row,
        other => panic!("{other:?}: {line}"),
    }
}

fn socket(text: &str) -> SocketAddr {
    text.parse().expect("a valid socket address")
}

#[test]
fn recorded_tables_are_read_whole() {
    for (table, transport, sockets) in RECORDED {
        let (headings, rows): (Vec<Line>, Vec<Line>) = table
            .lines()
            .map(|line| parse(line.as_bytes(), transport))
            .partition(|line| *line == Line::Heading);
        assert_eq!((headings.len(), rows.len()), (1, sockets), "{table}");
        assert!(rows.iter().all(|line| matches!(line, Line::Row(_))), "{table}");
    }
}

#[test]
fn the_tables_of_this_host_are_read_whole() {
    for (name, transport) in [
        ("tcp", Transport::Tcp),
        ("tcp6", Transport::Tcp),
        ("udp", Transport::Udp),
        ("udp6", Transport::Udp),
    ] {
        let Ok(table) = fs::read_to_string(format!("/proc/net/{name}")) else {
            assert!(name.ends_with('6'), "every host has /proc/net/{name}");
            continue;
        };
        for line in table.lines() {
            let parsed = parse(line.as_bytes(), transport);
            assert_ne!(parsed, Line::Unreadable, "{name}: {line}");
        }
    }
}

/// As Documentation/networking/proc_net_tcp.rst explains it.
#[test]
#[cfg(target_endian = "little")]
fn the_line_of_the_kernel_documentation() {
    let row = parsed(
        "  46: 010310AC:9C4C 030310AC:1770 01 00000150:00000000 01:00000019 00000000  1000 \
         0 54165785 4 cd1e6040 25 4 27 3 -1",
    );
    let expected = Row {
        transport: Transport::Tcp,
        state: State::Established,
        local: socket("172.16.3.1:40012"),
        remote: socket("172.16.3.3:6000"),
        interface: 0,
        only_v6: None,
        receive_queue: 0,
        send_queue: 0x150,
        uid: 1000,
        inode: 54_165_785,
        cookie: 0,
        retransmits: 0,
        timer: 1,
        expires_ms: 250,
        tcp: None,
        memory: None,
    };
    assert_eq!(row, expected);
}

/// What comes after the inode changed over the years, and a TIME-WAIT has nothing there.
/// Written in the format of these kernels, not recorded on them.
#[test]
#[cfg(target_endian = "little")]
fn the_lines_of_older_kernels() {
    for (line, local, inode) in [
        // 2.6, 64 bits: real pointers, the retransmission timeout in jiffies.
        (
            "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0 \
             0 9134 1 ffff81003e2ee8c0 3000 0 0 2 -1",
            "0.0.0.0:22",
            9134,
        ),
        // 3.10
        (
            "   3: 0100007F:0277 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0 \
             0 21875 1 ffff8800395407c0 100 0 0 10 0                     ",
            "127.0.0.1:631",
            21875,
        ),
        // 3.10, TIME-WAIT
        (
            "   1: 0100007F:A0B4 0100007F:1F90 06 00000000:00000000 03:000017A2 00000000     0 \
             0 0 3 ffff88003b6d9c00",
            "127.0.0.1:41140",
            0,
        ),
        // 3.10, IPv6
        (
            "   0: 00000000000000000000000000000000:006F 00000000000000000000000000000000:0000 0A \
             00000000:00000000 00:00000000 00000000     0        0 16012 1 ffff880039230000 \
             100 0 0 10 0",
            "[::]:111",
            16012,
        ),
    ] {
        let row = parsed(line);
        assert_eq!((row.local, row.inode), (socket(local), inode), "{line}");
    }
}

#[test]
fn what_grew_beyond_its_field_is_the_largest() {
    let one = row(socket("127.0.0.1:80"), socket("127.0.0.1:81"));
    let good = kernel_line(3, &one, 1);
    let row = parsed(&good.replacen(" 00000001 ", " 00000100 ", 1));
    assert_eq!(row.retransmits, u8::MAX);
    let row = parsed(&good.replacen("01:0000000C", "01:FFFFFFFF", 1));
    assert_eq!(row.expires_ms, u32::MAX);
}

#[test]
fn probes_count_for_the_timers_that_send_them() {
    let one = row(socket("127.0.0.1:80"), socket("127.0.0.1:81"));
    for (timer, expected) in [(0, 3), (1, 3), (2, 7), (3, 3), (4, 7)] {
        let line = kernel_line(3, &Row { retransmits: 3, ..one.clone() }, 1);
        let line = line.replacen("01:", &format!("{timer:02X}:"), 1);
        let line = line.replacen("        0 ", "        7 ", 1);
        assert_eq!(parsed(&line).retransmits, expected, "timer {timer}: {line}");
    }
}

#[test]
fn headings_and_empty_lines_are_no_sockets() {
    for line in ["", "   ", "  sl  local_address rem_address   st tx_queue"] {
        assert_eq!(parse(line.as_bytes(), Transport::Tcp), Line::Heading, "{line:?}");
    }
}

#[test]
fn what_is_not_as_the_kernel_prints_it_is_unreadable() {
    let good = kernel_line(3, &row(socket("127.0.0.1:80"), socket("127.0.0.1:81")), 2);
    assert!(matches!(parse(good.as_bytes(), Transport::Tcp), Line::Row(_)));
    for (from, to) in [
        (" 01 ", " 0E "),                    // no such state
        (" 01 ", " 00 "),                    // nor this one
        (":0050", ":00500"),                 // no port
        (":0050", ""),                       // none at all
        ("0000000A:0000000B", "0000000A"),   // half a pair
        ("0000000A:0000000B", "G:0000000B"), // no number
        ("02:", "102:"),                     // no timer
        (" 1000 ", " -1 "),                  // no user
        (" 77 ", " inode "),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "{from}");
        assert_eq!(parse(bad.as_bytes(), Transport::Tcp), Line::Unreadable, "{bad}");
    }
    let remote = kernel_address(socket("127.0.0.1:81"));
    let mixed = good.replacen(&remote, &kernel_address(socket("[::1]:81")), 1);
    assert_eq!(parse(mixed.as_bytes(), Transport::Tcp), Line::Unreadable, "{mixed}");
    assert_eq!(parse(b"0: \xff", Transport::Tcp), Line::Unreadable);
}

fn row(local: SocketAddr, remote: SocketAddr) -> Row {
    Row {
        transport: Transport::Tcp,
        state: State::Established,
        local,
        remote,
        interface: 0,
        only_v6: None,
        receive_queue: 0xb,
        send_queue: 0xa,
        uid: 1000,
        inode: 77,
        cookie: 0,
        retransmits: 1,
        timer: 2,
        expires_ms: 120,
        tcp: None,
        memory: None,
    }
}

fn word(octets: [u8; 4]) -> String {
    format!("{:08X}", u32::from_ne_bytes(octets))
}

fn kernel_address(address: SocketAddr) -> String {
    let words: String = match address.ip() {
        std::net::IpAddr::V4(v4) => word(v4.octets()),
        std::net::IpAddr::V6(v6) => v6
            .octets()
            .chunks(4)
            .map(|chunk| word(chunk.try_into().expect("four octets")))
            .collect(),
    };
    format!("{words}:{:04X}", address.port())
}

/// `get_tcp4_sock`, `get_tcp6_sock`, `get_timewait4_sock`, `udp4_format_sock`: the columns are the
/// same up to the inode.
fn kernel_line(bucket: u32, row: &Row, timer_active: u8) -> String {
    // `icsk_probes_out` has a column of its own.
    let (retransmits, probes) = match timer_active {
        2 | 4 => (0, row.retransmits),
        _ => (row.retransmits, 0),
    };
    format!(
        "{bucket:4}: {} {} {:02X} {:08X}:{:08X} {timer_active:02X}:{:08X} {:08X} {:5} {:8} \
         {} {} {:016x} {} {} {} {} {}",
        kernel_address(row.local),
        kernel_address(row.remote),
        row.state as u8,
        row.send_queue,
        row.receive_queue,
        row.expires_ms / 10,
        retransmits,
        row.uid,
        probes,
        row.inode,
        2,
        0xffff_8800_u64,
        20,
        4,
        30,
        10,
        -1
    )
}

fn addresses() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
    let v4 = any::<[(u32, u16); 2]>()
        .prop_map(|ends| ends.map(|(bits, port)| SocketAddr::from((Ipv4Addr::from(bits), port))));
    let v6 = any::<[(u128, u16); 2]>()
        .prop_map(|ends| ends.map(|(bits, port)| SocketAddr::from((Ipv6Addr::from(bits), port))));
    prop_oneof![v4, v6].prop_map(|[local, remote]| (local, remote))
}

prop_compose! {
    fn rows()(
        transport in select(&[Transport::Tcp, Transport::Udp]),
        state in select(&State::ALL),
        (local, remote) in addresses(),
        receive_queue: u32,
        send_queue: u32,
        uid: u32,
        inode: u32,
        retransmits: u8,
        timer in 0..5_u8,
        ticks in 0..=u32::MAX / MS_PER_TICK,
    ) -> Row {
        let expires_ms = ticks * MS_PER_TICK;
        let row = row(local, remote);
        Row {
            transport, state, receive_queue, send_queue, uid, inode, retransmits, timer, expires_ms,
            ..row
        }
    }
}

/// Lines with one word exchanged for another.
fn nearly_lines() -> impl Strategy<Value = String> {
    let strange = prop_oneof![
        "[0-9A-F:]{0,40}",
        "[ -~]{0,12}",
        select(&["+1", "-1", "0x1", ":", "\u{fe}é", "99999999999999999999"])
            .prop_map(str::to_owned),
    ];
    (rows(), 0..16_usize, strange).prop_map(|(row, at, strange)| {
        let line = kernel_line(1, &row, row.timer);
        let mut words: Vec<&str> = line.split_whitespace().collect();
        words[at] = &strange;
        words.join(" ")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_the_kernel_prints_comes_back(row in rows(), bucket in 0..20_000_u32) {
        let line = kernel_line(bucket, &row, row.timer);
        prop_assert_eq!(parse(line.as_bytes(), row.transport), Line::Row(Box::new(row)));
    }

    #[test]
    fn any_bytes_are_read(line in vec(any::<u8>(), 0..300)) {
        let _ = parse(&line, Transport::Tcp);
    }

    #[test]
    fn any_words_are_read(line in nearly_lines()) {
        let _ = parse(line.as_bytes(), Transport::Tcp);
    }

    #[test]
    fn a_cut_line_is_never_another_socket(row in rows()) {
        let line = kernel_line(1, &row, row.timer);
        let whole = parse(line.as_bytes(), row.transport);
        for cut in 0..line.len() {
            match parse(&line.as_bytes()[..cut], row.transport) {
                Line::Row(found) => {
                    // Only the inode, the last word, can lack digits.
                    let found = Line::Row(Box::new(Row { inode: row.inode, ..*found }));
                    prop_assert_eq!(&found, &whole, "cut at {}", cut);
                }
                Line::Heading | Line::Unreadable => {}
            }
        }
    }
}
