use portolan_flow::Transport;

use super::*;

const NETNS: NetnsId = 4_026_531_840;

fn row(cookie: u64, state: State, inode: u32) -> Row {
    let local = "127.0.0.1:80".parse().expect("valid");
    let remote = "127.0.0.2:4000".parse().expect("valid");
    let mut row = Entry::new(NETNS, &blank(local, remote)).row();
    (row.cookie, row.state, row.inode) = (cookie, state, inode);
    row
}

fn blank(local: std::net::SocketAddr, remote: std::net::SocketAddr) -> Row {
    Row {
        transport: Transport::Tcp,
        state: State::Established,
        local,
        remote,
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
        tcp: None,
        memory: None,
    }
}

fn event(row: Row) -> Event {
    let place = match row.state {
        State::Close => Where::Chain(2, 3),
        _ => Where::Socket(1),
    };
    Event { place, netns: NETNS, row }
}

fn changes(table: &mut Table) -> Vec<Change> {
    table.finish().into_iter().map(|(_, change)| change).collect()
}

#[test]
fn what_opens_and_closes_between_two_refreshes_is_not_seen() {
    let mut table = Table::new(10);
    table.begin();
    table.apply(&event(row(1, State::Established, 5)));
    table.apply(&event(row(1, State::Close, 0)));
    assert_eq!(changes(&mut table), []);
    assert_eq!(table.len(), 0);
}

#[test]
fn a_half_open_connection_and_what_becomes_of_it_are_one() {
    let mut table = Table::new(10);
    table.begin();
    let half_open = row(0, State::SynReceived, 0);
    table.dumped(NETNS, &half_open);
    assert_eq!(changes(&mut table), [Change::Opened(half_open.clone())]);
    table.begin();
    let after = row(1, State::Established, 0);
    table.apply(&event(after.clone()));
    // Seen in both, because it changed in between.
    table.dumped(NETNS, &half_open);
    table.without_live();
    assert_eq!(changes(&mut table), [Change::Changed { before: half_open, after }]);
    assert_eq!(table.len(), 1);
}

#[test]
fn a_closed_one_waits_until_the_kernel_says_that_it_does_not() {
    let mut table = Table::new(10);
    table.begin();
    table.apply(&event(row(1, State::FinWait2, 0)));
    table.apply(&event(row(1, State::Close, 0)));
    assert_eq!(table.questions(10, 0), [(1, Where::Chain(2, 3))]);
    table.answer(1, &Answer::Unknown);
    assert_eq!(changes(&mut table), [Change::Opened(row(1, State::TimeWait, 0))]);
    table.begin();
    table.answer(1, &Answer::Gone);
    assert_eq!(changes(&mut table), [Change::Closed(row(1, State::TimeWait, 0))]);
}

#[test]
fn a_change_without_an_event_is_noticed() {
    let mut table = Table::new(10);
    table.begin();
    table.apply(&event(row(1, State::Established, 5)));
    // It came just now: the next word is the kernel's.
    table.answer(1, &Answer::Gone);
    assert_eq!(table.silent(), 0);
    table.finish();
    table.begin();
    assert_eq!(table.checks(10), [(1, Where::Socket(1))]);
    table.answer(1, &Answer::Gone);
    table.answer(1, &Answer::Row(Box::new(row(1, State::CloseWait, 5))));
    assert_eq!(table.silent(), 2);
    table.answer(1, &Answer::Gone);
    table.apply(&event(row(1, State::Close, 0)));
    assert_eq!(table.silent(), 0, "the event was on its way");
}
