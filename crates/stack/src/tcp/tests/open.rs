use super::*;

/// RFC 9293, section 3.5, figure 6.
#[test]
fn three_segments_open_a_connection() {
    let mut pair = Pair::new();
    let [client, server] = pair.connected();
    assert_eq!(pair.state(0, client), State::Established);
    assert_eq!(pair.state(1, server), State::Established);
    assert_eq!(pair.number, 3, "{:#?}", pair.log);
    let info = pair.ends[0].info(client).unwrap();
    assert!(info.sack && info.timestamps && info.scaling && !info.ecn);
    assert_eq!(info.segment_len, 1_448);
}

#[test]
fn a_closed_port_refuses() {
    let mut pair = Pair::new();
    let client = pair.connect();
    pair.run(Duration::from_millis(100));
    assert_eq!(pair.ends[0].info(client).unwrap().reason, Some(Reason::Refused));
    assert!(matches!(
        pair.ends[0].read(client, &mut [0; 1], pair.now),
        Err(Error::Ended(Reason::Refused))
    ));
    pair.ends[0].close(client, pair.now).unwrap();
    assert_eq!(pair.ends[0].connections(), 0);
}

#[test]
fn a_lost_syn_is_sent_again() {
    let mut pair = Pair::new();
    pair.arrives = |passing| passing.number != 0 && passing.number != 2;
    pair.ends[1].listen(None, PORT, 8).unwrap();
    let client = pair.connect();
    pair.run(Duration::from_secs(10));
    assert_eq!(pair.state(0, client), State::Established);
}

#[test]
fn nobody_answers() {
    let mut pair = Pair::new();
    pair.arrives = |_| false;
    let client = pair.connect();
    pair.run(Duration::from_secs(179));
    assert_eq!(pair.state(0, client), State::SynSent);
    pair.run(Duration::from_secs(120));
    assert_eq!(pair.ends[0].info(client).unwrap().reason, Some(Reason::TimedOut));
}

/// Who watches sees a connection that no program has.
#[test]
fn the_numbers_of_a_flow_are_told_from_syn_to_the_end_of_the_wait() {
    let mut pair = Pair::new();
    let listener = pair.ends[1].listen(None, PORT, 8).unwrap();
    let client = pair.connect();
    let flow = pair.ends[0].info(client).unwrap().flow;
    let back = Flow {
        local: flow.remote,
        remote: flow.local,
        local_port: flow.remote_port,
        remote_port: flow.local_port,
    };
    let states = |pair: &Pair| {
        let of = |end: usize, flow: &Flow| pair.ends[end].numbers(flow).map(|one| one.state);
        [of(0, &flow), of(1, &back)]
    };
    assert_eq!(states(&pair), [Some(State::SynSent), None]);
    pair.run(Duration::from_millis(9));
    assert_eq!(states(&pair), [Some(State::SynSent), Some(State::SynReceived)]);
    pair.run(Duration::from_millis(91));
    // It waits to be accepted.
    assert_eq!(states(&pair), [Some(State::Established); 2]);
    pair.ends[0].write(client, b"four", pair.now).unwrap();
    pair.run(Duration::from_millis(3));
    let [one, other] = [(0, &flow), (1, &back)].map(|(end, of)| pair.ends[end].numbers(of));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!((one.snd_una + 4, one.snd_una), (one.snd_nxt, other.rcv_nxt));
    assert!(one.snd_wnd >= 4 && one.snd_una + one.snd_wnd == other.rcv_nxt + other.rcv_wnd);
    let server = pair.ends[1].accept(listener, pair.now).unwrap().unwrap();
    pair.run(Duration::from_millis(100));
    pair.ends[1].read(server, &mut [0; 4], pair.now).unwrap();
    pair.ends[0].close(client, pair.now).unwrap();
    pair.ends[1].close(server, pair.now).unwrap();
    pair.run(Duration::from_millis(100));
    assert_eq!(states(&pair)[0], Some(State::TimeWait));
    pair.run(Duration::from_secs(61));
    assert_eq!(states(&pair), [None, None]);
}

/// RFC 9293, section 3.6, figure 12.
#[test]
fn four_segments_close_a_connection() {
    let mut pair = Pair::new();
    let [client, server] = pair.connected();
    pair.ends[0].finish(client, pair.now).unwrap();
    pair.run(Duration::from_millis(100));
    assert_eq!(pair.state(0, client), State::FinWait2);
    assert_eq!(pair.state(1, server), State::CloseWait);
    pair.ends[1].finish(server, pair.now).unwrap();
    pair.run(Duration::from_millis(100));
    assert_eq!(pair.state(0, client), State::Closed);
    assert_eq!(pair.state(1, server), State::Closed);
    assert_eq!((pair.ends[0].time_waits(), pair.ends[1].time_waits()), (1, 0));
    pair.ends[0].close(client, pair.now).unwrap();
    pair.ends[1].close(server, pair.now).unwrap();
    pair.run(Duration::from_secs(61));
    for end in &pair.ends {
        assert_eq!((end.connections(), end.time_waits(), end.timers()), (0, 0, 0));
        assert_eq!(end.ports.in_use(), 0, "TIME-WAIT has released it");
    }
}

/// RFC 9293, MUST-2 and MUST-3: what a device has left for another one to complete shows no damage,
/// and is taken only if the device says so.
#[test]
fn a_partial_checksum_needs_a_device_that_vouches_for_it() {
    let offloaded = Config { checksum_offload: true, ..Config::default() };
    let mut pair = Pair::with(offloaded, Config::default());
    pair.ends[1].listen(None, PORT, 8).unwrap();
    pair.connect();
    pair.run(Duration::from_millis(100));
    assert_eq!(pair.ends[1].counters().checksum_wrong, 1);
    assert_eq!(pair.ends[1].connections(), 0);
}
