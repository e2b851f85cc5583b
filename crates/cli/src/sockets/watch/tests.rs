use portolan_flow::Transport;
use portolan_sockets::State;

use super::*;

fn row(state: State) -> Row {
    Row {
        transport: Transport::Tcp,
        state,
        local: ([127, 0, 0, 1], 80).into(),
        remote: ([127, 0, 0, 1], 40000).into(),
        interface: 0,
        only_v6: None,
        receive_queue: 0,
        send_queue: 0,
        uid: 0,
        inode: 7,
        cookie: 9,
        retransmits: 0,
        timer: 0,
        expires_ms: 0,
        tcp: None,
        memory: None,
    }
}

fn changed(before: State, after: State) -> Change {
    Change::Changed { before: row(before), after: row(after) }
}

#[test]
fn what_comes_among_the_listed_is_opened_and_what_leaves_them_is_closed() {
    let established = |row: &Row| row.state == State::Established;
    for (change, expected) in [
        (Change::Opened(row(State::Established)), Some((Mark::Opened, State::Established))),
        (Change::Opened(row(State::SynSent)), None),
        (Change::Closed(row(State::Established)), Some((Mark::Closed, State::Established))),
        (Change::Closed(row(State::CloseWait)), None),
        (changed(State::SynSent, State::Established), Some((Mark::Opened, State::Established))),
        (changed(State::Established, State::CloseWait), Some((Mark::Closed, State::Established))),
        (
            changed(State::Established, State::Established),
            Some((Mark::Changed, State::Established)),
        ),
        (changed(State::CloseWait, State::LastAck), None),
    ] {
        let told = seen(&change, established).map(|(mark, row)| (mark, row.state));
        assert_eq!(told, expected, "{change:?}");
    }
}

#[test]
fn a_pace_is_within_reason() {
    assert_eq!(pace("500ms"), Ok(Duration::from_millis(500)));
    assert_eq!(pace("10ms"), Ok(PACE_MIN));
    for bad in ["1ms", "2h", "-1s", "soon", ""] {
        assert!(pace(bad).is_err(), "{bad}");
    }
}

#[test]
fn what_has_no_events_is_refused() {
    assert!(ensure_told(&usual_columns(true)).is_ok());
    let error = ensure_told(&[Column::Local, Column::Memory]).expect_err("no events");
    assert!(error.to_string().contains("memory"), "{error}");
}
