use super::*;
use crate::edge::Name;

fn row(state: u8, local: (&str, u16), remote: (&str, u16)) -> Row {
    let end = |(address, port): (&str, u16)| (address.parse().expect("an address"), port);
    Row {
        state,
        local: end(local),
        remote: end(remote),
        cookie: 5,
        inode: 4711,
        sent: 10,
        sent_max: 9,
        received: 8,
        retransmits: 2,
        rtt_us: 3,
    }
}

fn context<'a>(rows: &[Row], holders: &'a Holders) -> Context<'a> {
    let listeners = rows.iter().filter(|row| row.state == LISTEN).map(|row| row.local);
    Context { listeners: listeners.collect(), holders, ephemeral: (32_768, 60_999), is_first: true }
}

#[test]
fn the_side_follows_from_who_listens_and_else_from_the_ports() {
    let holders = Holders::new();
    let any = [row(LISTEN, ("0.0.0.0", 7000), ("0.0.0.0", 0))];
    let v6 = [row(LISTEN, ("::", 7000), ("::", 0))];
    let mine = [row(LISTEN, ("127.0.0.1", 7000), ("0.0.0.0", 0))];
    let other = [row(LISTEN, ("127.0.0.9", 7000), ("0.0.0.0", 0))];
    let accepted = row(1, ("127.0.0.1", 7000), ("127.0.0.1", 50_000));
    let mapped = row(1, ("::ffff:127.0.0.1", 7000), ("::ffff:127.0.0.1", 50_000));
    for row in [&accepted, &mapped] {
        for listeners in [&any, &v6, &mine] {
            assert_eq!(context(listeners, &holders).side(row), (Side::Passive, false));
        }
        assert_eq!(context(&other, &holders).side(row), (Side::Passive, true));
    }
    let client = row(1, ("127.0.0.1", 50_000), ("127.0.0.1", 7000));
    assert_eq!(context(&any, &holders).side(&client), (Side::Active, false));
    let odd = row(1, ("127.0.0.1", 50_000), ("127.0.0.1", 50_001));
    assert_eq!(context(&any, &holders).side(&odd), (Side::Active, true));
}

#[test]
fn a_row_is_written_as_the_programs_read_it() {
    let name = Name { comm: *b"server\0\0\0\0\0\0\0\0\0\0", cgroup: 99, is_threads: false };
    let holders = Holders::from([(4711, Holder { name, pid: 42 })]);
    let row = row(8, ("127.0.0.1", 7000), ("::1", 50_000));
    let mut bytes = Vec::new();
    let taken = Duration::from_micros(123);
    context(&[], &holders).encode(&row, 77, taken, &mut bytes);
    assert_eq!(bytes.len(), LISTED_BYTES);
    let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight"));
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four"));
    assert_eq!([0, 8, 16, 24, 32, 40].map(long), [5, 123, 10, 9, 8, 99]);
    assert_eq!(&bytes[48..54], b"server");
    assert_eq!([64, 68, 72, 76].map(word), [42, 2, 3, 77]);
    assert_eq!(bytes[80..96], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1]);
    assert_eq!(bytes[111], 1);
    assert_eq!(bytes[112..116], [7000_u16.to_ne_bytes(), 50_000_u16.to_ne_bytes()].concat());
    assert_eq!(bytes[116..120], [8, 2, 1, 1]);
}

#[test]
fn a_namespace_that_cannot_be_entered_is_found_by_a_process() {
    let here = netns::current().expect("/proc is mounted");
    let mut listed = Listed::new((32_768, 60_999));
    assert_eq!(listed.inode(5, 0), None, "nobody was seen there");
    assert_eq!(listed.inode(5, std::process::id()), Some(here));
    assert_eq!(listed.inode(5, 0), Some(here), "it is remembered");
    assert_eq!(listed.inode(6, std::process::id()), None, "it is another one's");
}
