use super::*;

/// A key as a program writes it.
fn key() -> Vec<u8> {
    let mut bytes = vec![0; EDGE_BYTES];
    bytes[0..8].copy_from_slice(&77_u64.to_ne_bytes());
    bytes[18..20].fill(0xff);
    bytes[20..24].copy_from_slice(&[127, 0, 0, 1]);
    bytes[24..40].copy_from_slice(&[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    bytes[40..46].copy_from_slice(b"nginx\0");
    // What an earlier name left there.
    bytes[47] = b'x';
    bytes[56..60].copy_from_slice(&4_026_531_840_u32.to_ne_bytes());
    bytes[60..62].copy_from_slice(&443_u16.to_ne_bytes());
    bytes[64..67].copy_from_slice(&[2, 6, 1]);
    bytes
}

#[test]
fn a_key_is_read() {
    let edge = Edge::read(&key()).expect("it is one");
    assert_eq!(edge.local.to_string(), "127.0.0.1", "IPv4-mapped is IPv4");
    assert_eq!(edge.remote.to_string(), "2001:db8::1");
    assert_eq!((edge.name.comm(), edge.name.cgroup), (&b"nginx"[..], 77));
    assert_eq!(edge.name.comm[7], 0, "what is behind the end is of no meaning");
    assert_eq!((edge.netns, edge.port), (4_026_531_840, 443));
    assert_eq!((edge.side, edge.transport), (Side::Passive, Transport::Tcp));
    assert!(edge.guessed);
}

#[test]
fn what_no_program_writes_is_no_key() {
    for (at, value) in [(64, 0), (64, 3), (65, 1)] {
        let mut bytes = key();
        bytes[at] = value;
        assert_eq!(Edge::read(&bytes), None, "{value} at {at}");
    }
    assert_eq!(Edge::read(&key()[..EDGE_BYTES - 1]), None);
}

#[test]
fn a_value_has_its_counts_in_order() {
    // 8 is the process and what fills up its word.
    let mut bytes: Vec<u8> = (1..=17_u64).flat_map(u64::to_ne_bytes).collect();
    bytes[56..60].copy_from_slice(&99_u32.to_ne_bytes());
    let mut counted = Counted::read(&bytes).expect("it is whole");
    let expected = Totals {
        opened: 1,
        closed: 2,
        bytes_sent: 3,
        bytes_received: 4,
        rtt_us_sum: 5,
        rtt_samples: 6,
        duration_us_sum: 7,
        resets: 9,
        refused: 10,
        timed_out: 11,
        unreachable: 12,
        abandoned: 13,
        datagrams_sent: 14,
        datagrams_received: 15,
        retransmits: 16,
    };
    assert_eq!(counted.totals, expected);
    assert_eq!((counted.up, counted.pid), (17, 99));
    counted.add(&Counted { up: 4, ..Counted::default() });
    assert_eq!((counted.up, counted.pid), (21, 99), "no process is no news");
    assert_eq!(Counted::read(&bytes[1..]), None);
}

#[test]
fn a_name_of_sixteen_bytes_is_read_to_its_end() {
    let name = name(&[b'a'; 24], 0, 16);
    assert_eq!(name.comm(), [b'a'; 16]);
    assert!(!name.is_empty());
    assert!(Name::default().is_empty());
}
