use std::net::Ipv4Addr;

use portolan_flow::Transport;
use portolan_sockets::{Place, State};
use proptest::{collection::vec, option, prelude::*};

use super::*;

fn row(receive_queue: u32, local: &str) -> Row {
    Row {
        transport: Transport::Tcp,
        state: State::Established,
        local: local.parse().expect("an address"),
        remote: (Ipv4Addr::LOCALHOST, 9).into(),
        interface: 0,
        only_v6: None,
        receive_queue,
        send_queue: 0,
        uid: 0,
        inode: 0,
        cookie: 0,
        retransmits: 0,
        timer: 0,
        expires_ms: 0,
        tcp: None,
        memory: None,
    }
}

/// The positions of the rows, in order.
fn sorted(order: Option<&str>, limit: Option<usize>, rows: &[Row]) -> Vec<usize> {
    let place = Place::here();
    let mut sorted = Sorted::new(order.map(|text| text.parse().expect("valid")), limit);
    for (at, row) in rows.iter().enumerate() {
        let listed = Listed { row, place: &place, holder: None };
        sorted.add(&listed, || at).expect("few");
    }
    sorted.into_vec()
}

#[test]
fn numbers_are_compared_as_numbers() {
    let rows = [10, 9, 100, 9].map(|queue| row(queue, "10.0.0.1:1"));
    assert_eq!(sorted(Some("recv-q"), None, &rows), [1, 3, 0, 2], "equal ones stay as they came");
    assert_eq!(sorted(Some("-recv-q"), None, &rows), [2, 0, 1, 3]);
    assert_eq!(sorted(Some("-recv-q"), Some(2), &rows), [2, 0]);
    assert_eq!(sorted(None, Some(2), &rows), [0, 1], "without an order the first come first");
}

#[test]
fn addresses_are_compared_by_address_then_port() {
    let texts = ["10.0.0.10:1", "[::1]:1", "10.0.0.9:80", "10.0.0.9:9", "[::ffff:10.0.0.9]:10"];
    let rows = texts.map(|local| row(0, local));
    assert_eq!(sorted(Some("local"), None, &rows), [3, 4, 2, 0, 1]);
    assert_eq!(sorted(Some("local-address"), None, &rows), [2, 3, 4, 0, 1]);
    assert_eq!(sorted(Some("local-port"), None, &rows), [0, 1, 3, 4, 2]);
}

#[test]
fn what_is_not_known_comes_last_in_both_orders() {
    let mut rows = [0, 0, 0].map(|queue| row(queue, "10.0.0.1:1"));
    (rows[1].cookie, rows[2].cookie) = (7, 3);
    assert_eq!(sorted(Some("cookie"), None, &rows), [2, 1, 0]);
    assert_eq!(sorted(Some("-cookie"), None, &rows), [1, 2, 0]);
    assert_eq!(sorted(Some("rtt"), None, &rows), [0, 1, 2]);
}

#[test]
fn every_column_sorts_by_something_but_those_of_many_values() {
    for column in Column::value_variants() {
        assert_eq!(Order::from_str(&column.name()).is_ok(), *column != Column::Info);
    }
}

#[test]
fn what_is_not_kept_is_not_made() {
    let place = Place::here();
    let mut sorted = Sorted::new(Some("-recv-q".parse().expect("valid")), Some(1));
    let mut made = 0;
    for queue in [5, 4, 3, 6] {
        let row = row(queue, "10.0.0.1:1");
        let listed = Listed { row: &row, place: &place, holder: None };
        sorted.add(&listed, || made += 1).expect("few");
    }
    assert_eq!(made, 2);
}

proptest! {
    #[test]
    fn a_limit_keeps_the_first_of_all(
        queues in vec(0..20_u32, 0..60),
        limit in option::of(1..70_usize),
        descending: bool,
    ) {
        let rows: Vec<Row> = queues.iter().map(|&queue| row(queue, "10.0.0.1:1")).collect();
        let mut expected: Vec<usize> = (0..rows.len()).collect();
        match descending {
            false => expected.sort_by_key(|&at| queues[at]),
            true => expected.sort_by_key(|&at| Reverse(queues[at])),
        }
        expected.truncate(limit.unwrap_or(usize::MAX));
        let order = if descending { "-recv-q" } else { "recv-q" };
        prop_assert_eq!(sorted(Some(order), limit, &rows), expected);
    }
}
