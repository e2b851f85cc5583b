use std::num::NonZero;

use portolan_flow::Transport;

use super::*;
use crate::{Row, State, TcpInfo};

const RANGE: (u16, u16) = (32768, 60999);

fn row(local: u16, remote: u16) -> Row {
    Row {
        transport: Transport::Tcp,
        state: State::Established,
        local: ([127, 0, 0, 1], local).into(),
        remote: ([127, 0, 0, 1], remote).into(),
        interface: 0,
        only_v6: None,
        receive_queue: 0,
        send_queue: 0,
        uid: 0,
        inode: 0,
        cookie: 0,
        retransmits: 0,
        timer: 0,
        expires_ms: 0,
        tcp: None::<TcpInfo>,
        memory: None,
    }
}

fn slices(of: u32, filter: Option<&Filter>, range: (u16, u16)) -> Vec<Filter> {
    let of = NonZero::new(of).expect("some");
    Slice::all(of).map(|slice| Filter::within(filter, slice, range)).collect()
}

#[test]
fn every_socket_is_in_exactly_one_slice() {
    let edges = [0, 1, 443, 32767, 32768, 32769, 46883, 46884, 46885, 60998, 60999, 61000, 65535];
    for of in 1..=5 {
        // The second range is that of a host that allows nearly all ports, the third has one port.
        for range in [RANGE, (1, 65535), (50000, 50000)] {
            let slices = slices(of, None, range);
            for (local, remote) in edges.into_iter().flat_map(|a| edges.map(|b| (a, b))) {
                let row = row(local, remote);
                let found = slices.iter().filter(|slice| slice.matches(&row)).count();
                assert_eq!(found, 1, "{local} {remote} in {of} slices of {range:?}");
            }
        }
    }
}

#[test]
fn slices_are_about_equal_for_servers_and_for_clients() {
    let slices = slices(4, None, RANGE);
    for to_row in [|port| row(443, port), |port| row(port, 443)] {
        let counts = slices
            .iter()
            .map(|slice| (RANGE.0..=RANGE.1).filter(|&port| slice.matches(&to_row(port))).count());
        for count in counts {
            assert!((7056..=7059).contains(&count), "{count} of 28232");
        }
    }
}

#[test]
fn a_slice_has_nothing_that_the_filter_does_not_want() {
    let filter = Filter::parse("state established dport = :443").expect("a filter");
    let slices = slices(2, Some(&filter), RANGE);
    let matching = |row: Row| slices.iter().filter(|slice| slice.matches(&row)).count();
    assert_eq!(matching(row(50000, 443)), 1);
    assert_eq!(matching(row(50000, 80)), 0);
    assert_eq!(matching(Row { state: State::CloseWait, ..row(50000, 443) }), 0);
    assert!(slices.iter().all(|slice| slice.bytecode().is_exact()));
}
