use std::sync::Arc;

use clap::ValueEnum;
use portolan_flow::{Process, Transport};
use portolan_sockets::{Holder, Place};

use super::*;

/// What -p -e -o -i add.
const EXTRAS: [Column; 6] =
    [Column::Process, Column::Uid, Column::Inode, Column::Cookie, Column::Timer, Column::Info];

fn row(local: &str, remote: &str) -> Row {
    Row {
        transport: Transport::Tcp,
        state: State::Established,
        local: local.parse().expect("an address"),
        remote: remote.parse().expect("an address"),
        interface: 0,
        only_v6: None,
        receive_queue: 1,
        send_queue: 2,
        uid: 33,
        inode: 4711,
        cookie: 0x1f,
        retransmits: 3,
        timer: 1,
        expires_ms: 200,
        tcp: None,
        memory: None,
    }
}

fn layout(chosen: Option<&[Column]>, extras: &[Column]) -> Layout {
    let chosen = chosen.map(<[Column]>::to_vec);
    Layout { json: false, heading: true, chosen, extras: extras.to_vec() }
}

fn written(layout: &Layout, row: &Row, name: Option<&str>) -> String {
    let holder = name.map(|name| Holder {
        pid: 7,
        process: Arc::new(Process { name: name.to_owned(), unit: None, container: None }),
    });
    let place = Place::here();
    let listed = Listed { row, place: &place, holder: holder.as_ref() };
    let mut out = Vec::new();
    Table::new(layout).row(&listed, &mut out);
    String::from_utf8(out).expect("text")
}

fn line(extras: &[Column], row: &Row, name: Option<&str>) -> String {
    written(&layout(None, extras), row, name)
}

fn heading(layout: &Layout) -> String {
    let mut out = Vec::new();
    Table::new(layout).heading(&mut out);
    String::from_utf8(out).expect("text")
}

#[test]
fn a_line_has_the_columns_asked_for() {
    let row = row("10.0.0.1:40000", "10.0.0.2:443");
    let expected = "tcp   ESTAB      1      2      10.0.0.1:40000        10.0.0.2:443\n";
    assert_eq!(line(&[], &row, None), expected);
    let expected = "tcp   ESTAB      1      2      10.0.0.1:40000        10.0.0.2:443          \
                    nginx[7] uid:33 inode:4711 cookie:1f timer:retransmit,200ms,3\n";
    assert_eq!(line(&EXTRAS, &row, Some("nginx")), expected);
    let expected =
        "Netid State      Recv-Q Send-Q Local Address:Port    Peer Address:Port     Process\n";
    assert_eq!(heading(&layout(None, &EXTRAS)), expected);
}

#[test]
fn queues_of_every_length_keep_the_columns_or_push_them() {
    for (queue, expected) in [
        (0, "tcp   ESTAB      0      0      10.0.0.1:1"),
        (7, "tcp   ESTAB      7      7      10.0.0.1:1"),
        (999_999, "tcp   ESTAB      999999 999999 10.0.0.1:1"),
        (u32::MAX, "tcp   ESTAB      4294967295 4294967295 10.0.0.1:1"),
    ] {
        let mut row = row("10.0.0.1:1", "10.0.0.2:2");
        (row.receive_queue, row.send_queue) = (queue, queue);
        let line = line(&[], &row, None);
        assert!(line.starts_with(&format!("{expected} ")), "{line}");
    }
}

#[test]
fn every_state_has_its_name_and_one_blank_at_least() {
    for state in State::ALL {
        let row = Row { state, ..row("10.0.0.1:1", "10.0.0.2:2") };
        let expected = format!("tcp   {:10} 1      2      10.0.0.1:1 ", state.name());
        assert!(line(&[], &row, None).starts_with(&expected), "{state:?}");
    }
}

#[test]
fn a_missing_peer_is_a_star_and_long_addresses_push() {
    let row = row("[2001:db8:1111:2222:3333:4444:5555:6666]:443", "[::]:0");
    let line = line(&[], &row, None);
    assert!(line.ends_with(" [2001:db8:1111:2222:3333:4444:5555:6666]:443 [::]:*\n"), "{line}");
}

/// The first interface of every network namespace is `lo`.
#[test]
fn the_own_end_has_its_interface_and_a_wildcard_its_versions_as_in_ss() {
    for (local, interface, only_v6, ends) in [
        ("0.0.0.0:53", 0, None, "0.0.0.0:53            0.0.0.0:*"),
        ("0.0.0.0:53", 1, None, "0.0.0.0%lo:53         0.0.0.0:*"),
        ("0.0.0.0:53", u32::MAX, None, "0.0.0.0%4294967295:53 0.0.0.0:*"),
        ("[::]:53", 0, None, "[::]:53               [::]:*"),
        ("[::]:53", 0, Some(true), "[::]:53               [::]:*"),
        ("[::]:53", 0, Some(false), "*:53                  *:*"),
        ("[::]:53", 1, None, "[::]%lo:53            [::]:*"),
        ("[::]:53", 1, Some(true), "[::]%lo:53            [::]:*"),
        ("[::]:53", 1, Some(false), "*%lo:53               *:*"),
        ("[::1]:53", 0, Some(false), "[::1]:53              *:*"),
        ("[::ffff:10.0.0.1]:53", 1, Some(false), "[::ffff:10.0.0.1]%lo:53 *:*"),
        ("[fe80::1%1]:53", 1, Some(true), "[fe80::1]%lo:53       [::]:*"),
    ] {
        let remote = if local.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
        let row = Row { interface, only_v6, ..row(local, remote) };
        let expected = format!("tcp   ESTAB      1      2      {ends}\n");
        assert_eq!(line(&[], &row, None), expected, "{row:?}");
        let chosen = layout(Some(&[Column::Local, Column::Peer]), &[]);
        assert_eq!(written(&chosen, &row, None), format!("{ends}\n"), "{row:?}");
    }
}

#[test]
fn the_peer_has_no_interface() {
    let row = Row { interface: 1, ..row("[fe80::1%1]:1", "[fe80::2%1]:2") };
    let expected = "tcp   ESTAB      1      2      [fe80::1]%lo:1        [fe80::2]:2\n";
    assert_eq!(line(&[], &row, None), expected);
}

#[test]
fn names_cannot_write_to_the_terminal() {
    let hostile = Some("a\x1b[2J\n");
    let row = row("10.0.0.1:1", "10.0.0.2:2");
    let chosen = layout(Some(&[Column::Process, Column::Pid]), &[]);
    for line in [line(&EXTRAS, &row, hostile), written(&chosen, &row, hostile)] {
        assert_eq!(line.matches('\n').count(), 1);
        assert!(!line.contains('\x1b'), "{line}");
    }
}

#[test]
fn memory_is_written_as_ss_does_and_an_older_kernels_is_shorter() {
    let mut row = row("10.0.0.1:1", "10.0.0.2:2");
    let whole = SocketMemory {
        receive_queue_bytes: 1,
        receive_limit_bytes: 131_072,
        send_queue_bytes: 6,
        send_limit_bytes: 2_626_560,
        handed_down_bytes: 3,
        reserved_bytes: 5,
        option_bytes: 7,
        backlog_bytes: Some(8),
        drops: Some(9),
    };
    row.memory = Some(whole);
    let whole_line = line(&[Column::Memory], &row, None);
    let expected = " skmem:(r1,rb131072,t3,tb2626560,f5,w6,o7,bl8,d9)\n";
    assert!(whole_line.ends_with(expected), "{whole_line}");
    row.memory = Some(SocketMemory { backlog_bytes: None, drops: None, ..whole });
    let short = line(&[Column::Memory], &row, None);
    assert!(short.ends_with(",o7)\n"), "{short}");
}

#[test]
fn measurements_are_to_the_microsecond_and_not_of_listeners() {
    let mut row = row("10.0.0.1:1", "10.0.0.2:2");
    row.tcp = Some(TcpInfo {
        rtt_us: 12_005,
        rtt_variation_us: 70,
        send_mss: 1448,
        congestion_window: 10,
        retransmits_total: 2,
        bytes_sent: Some(99),
        bytes_received: None,
        ..TcpInfo::default()
    });
    let expected = " rtt:12.005ms/0.070 mss:1448 cwnd:10 retrans:2 sent:99\n";
    assert!(line(&[Column::Info], &row, None).ends_with(expected));
    row.state = State::Listen;
    assert!(!line(&[Column::Info], &row, None).contains("rtt"));
}

#[test]
fn chosen_columns_stand_in_their_order_and_what_is_unknown_is_a_dash() {
    let columns = [Column::RecvQ, Column::Process, Column::Rtt, Column::Peer, Column::State];
    let layout = layout(Some(&columns), &[]);
    let row = row("10.0.0.1:40000", "0.0.0.0:0");
    assert_eq!(heading(&layout), "Recv-Q Process         RTT Peer Address:Port     State\n");
    let expected = "1      nginx           -   0.0.0.0:*             ESTAB\n";
    assert_eq!(written(&layout, &row, Some("nginx")), expected);
    let expected = "1      -               -   0.0.0.0:*             ESTAB\n";
    assert_eq!(written(&layout, &row, None), expected);
}

#[test]
fn a_line_has_as_many_words_as_columns_were_chosen() {
    let all = Column::value_variants();
    let layout = layout(Some(all), &[]);
    let unknown = Row { cookie: 0, timer: 0, ..row("10.0.0.1:1", "10.0.0.2:2") };
    let line = written(&layout, &unknown, None);
    assert_eq!(line.split_whitespace().count(), all.len(), "{line}");
}
