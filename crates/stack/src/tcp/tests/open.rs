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
