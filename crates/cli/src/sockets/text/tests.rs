use std::sync::Arc;

use portolan_flow::{Process, Transport};
use portolan_sockets::{Holder, Place};

use super::*;

const ALL: Columns = Columns {
    heading: true,
    processes: true,
    extended: true,
    info: true,
    timer: true,
    namespace: false,
};

fn row(local: &str, remote: &str) -> Row {
    Row {
        transport: Transport::Tcp,
        state: State::Established,
        local: local.parse().expect("an address"),
        remote: remote.parse().expect("an address"),
        interface: 0,
        receive_queue: 1,
        send_queue: 2,
        uid: 33,
        inode: 4711,
        cookie: 0x1f,
        retransmits: 3,
        timer: 1,
        expires_ms: 200,
        tcp: None,
    }
}

fn line(columns: Columns, row: &Row, name: Option<&str>) -> String {
    let holder = name.map(|name| Holder {
        pid: 7,
        process: Arc::new(Process { name: name.to_owned(), unit: None, container: None }),
    });
    let place = Place::here();
    let listed = Listed { row, place: &place, holder: holder.as_ref() };
    let mut out = Vec::new();
    let mut table = Table { columns, line: String::new() };
    table.row(&listed, &mut out).expect("a vector takes all");
    String::from_utf8(out).expect("text")
}

#[test]
fn a_line_has_the_columns_asked_for() {
    let plain = Columns { processes: false, extended: false, timer: false, info: false, ..ALL };
    let row = row("10.0.0.1:40000", "10.0.0.2:443");
    let expected = "tcp   ESTAB      1      2      10.0.0.1:40000        10.0.0.2:443\n";
    assert_eq!(line(plain, &row, None), expected);
    let expected = "tcp   ESTAB      1      2      10.0.0.1:40000        10.0.0.2:443          \
                    nginx[7] uid:33 inode:4711 cookie:1f timer:retransmit,200ms,3\n";
    assert_eq!(line(ALL, &row, Some("nginx")), expected);
}

#[test]
fn a_missing_peer_is_a_star_and_long_addresses_push() {
    let row = row("[2001:db8:1111:2222:3333:4444:5555:6666]:443", "[::]:0");
    let line = line(Columns { processes: false, extended: false, timer: false, ..ALL }, &row, None);
    assert!(line.ends_with(" [2001:db8:1111:2222:3333:4444:5555:6666]:443 [::]:*\n"), "{line}");
}

#[test]
fn names_cannot_write_to_the_terminal() {
    let line = line(ALL, &row("10.0.0.1:1", "10.0.0.2:2"), Some("a\x1b[2J\n"));
    assert_eq!(line.matches('\n').count(), 1);
    assert!(!line.contains('\x1b'), "{line}");
}
