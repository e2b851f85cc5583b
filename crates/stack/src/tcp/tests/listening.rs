//! Listeners, their limits, and SYN cookies: RFC 9293, section 3.9.1.1; RFC 4987.

use super::{hand::*, *};

fn small(config: Config, backlog: usize) -> Hand {
    let mut hand = Hand::new(config);
    hand.listener = Some(hand.tcp.listen(None, PORT, backlog).unwrap());
    hand
}

/// RFC 9293, MUST-41, MUST-42: listeners on one port and several addresses, and beside connections.
#[test]
fn listeners_do_not_disturb_anybody() {
    let mut hand = Hand::accepted(plain());
    let any = hand.listener.unwrap();
    let here = hand.tcp.listen(Some(ADDRESSES[0]), PORT, 8).unwrap();
    let there = hand.tcp.listen(Some(ADDRESSES[1]), PORT, 8).unwrap();
    hand.tcp.listen(None, PORT + 1, 8).unwrap();
    assert_eq!(hand.tcp.listen(None, PORT, 8), Err(Error::PortInUse(PORT)));
    assert_eq!(hand.tcp.listen(None, 0, 8), Err(Error::NoPort));
    // The connection of before goes on.
    hand.give(given(ACK, 1, 1).data(b"data"));
    assert_eq!(hand.read(), b"data");
    // A new one is for the listener of the one address.
    hand.flow.remote_port += 1;
    hand.give(given(SYN, 0, 0));
    hand.sent();
    hand.give(given(ACK, 1, 1));
    assert_eq!(hand.tcp.accept(any, hand.now), Ok(None));
    assert_eq!(hand.tcp.accept(there, hand.now), Ok(None));
    assert!(hand.tcp.accept(here, hand.now).unwrap().is_some());
}

/// RFC 9293, section 3.10.4, LISTEN: a listener that is closed refuses; what it has not given away
/// is reset, what it has goes on.
#[test]
fn a_closed_listener_refuses() {
    let mut hand = Hand::accepted(plain());
    hand.flow.remote_port += 1;
    hand.give(given(SYN, 0, 0));
    hand.sent();
    hand.give(given(ACK, 1, 1));
    hand.flow.remote_port += 1;
    hand.give(given(SYN, 0, 0));
    hand.sent();
    hand.tcp.close_listener(hand.listener.unwrap(), hand.now).unwrap();
    // One waited to be accepted.
    assert_eq!(hand.left().iter().filter(|left| left.has(RST)).count(), 1);
    // One was half-open.
    hand.give(given(ACK, 1, 1));
    assert_eq!(hand.left().iter().filter(|left| left.has(RST)).count(), 1);
    hand.flow.remote_port += 1;
    hand.give(given(SYN, 0, 0));
    assert_eq!(hand.left()[0].flags, RST_ACK);
    assert_eq!(hand.tcp.connections(), 1);
    assert_eq!(hand.state(), State::Established);
}

/// RFC 4987, section 3.2: the backlog bounds what is half-open; without cookies more is dropped in
/// silence, so that it comes again.
#[test]
fn a_full_backlog_drops() {
    let mut hand = small(Config { syn_cookies: false, ..plain() }, 3);
    for port in 1_000..1_010 {
        hand.flow.remote_port = port;
        let answers = hand.answer(given(SYN, 0, 0)).len();
        assert_eq!(answers, usize::from(port < 1_003));
    }
    assert_eq!((hand.tcp.connections(), hand.tcp.counters().backlog_full), (3, 7));
    // There is room again when one is reset, or given up.
    hand.flow.remote_port = 1_000;
    hand.give(given(RST, 1, 0));
    hand.flow.remote_port = 1_005;
    assert_eq!(hand.answer(given(SYN, 0, 0)).len(), 1);
    hand.wait(Duration::from_secs(100));
    assert_eq!((hand.tcp.connections(), hand.tcp.timers()), (0, 0));
}

/// A program that does not accept: the end of the handshake is not taken, and the peer's data comes
/// again until there is room.
#[test]
fn a_full_queue_lets_peers_wait() {
    let mut hand = small(plain(), 1);
    for port in [1_000, 1_001] {
        hand.flow.remote_port = port;
        hand.give(given(SYN, 0, 0));
        hand.sent();
        hand.give(given(ACK, 1, 1).data(b"data"));
    }
    assert_eq!(hand.tcp.counters().accept_queue_full, 1);
    let listener = hand.listener.unwrap();
    assert!(hand.tcp.accept(listener, hand.now).unwrap().is_some());
    assert_eq!(hand.tcp.accept(listener, hand.now), Ok(None));
    // SYN with ACK is repeated meanwhile, by which the peer knows that it was not heard.
    let again = hand.wait(Duration::from_secs(2));
    assert!(again.iter().any(|left| left.in_words() == "SYN|ACK 0+0 ack 1"));
    hand.give(given(ACK, 1, 1).data(b"data"));
    hand.id = hand.tcp.accept(listener, hand.now).unwrap();
    assert_eq!(hand.read(), b"data");
}

/// RFC 4987, section 3.6: with a full backlog nothing is remembered, and a connection comes about
/// all the same; with options by the timestamp.
#[test]
fn a_cookie_brings_a_connection_back() {
    let all = Config { ecn: EcnUse::Off, ..Config::default() };
    for (config, is_rich) in [(plain(), false), (all, true)] {
        let mut hand = small(config, 1);
        hand.give(given(SYN, 0, 0));
        hand.sent();
        hand.flow.remote_port += 1;
        let mut syn = given(SYN, 0, 0).mss(1_300);
        if is_rich {
            syn = syn.scale(6).sack_permitted().clock(500, 0);
        }
        hand.give(syn);
        let answer = hand.left().pop().unwrap();
        assert_eq!(answer.in_words(), "SYN|ACK 0+0 ack 1");
        assert_eq!((hand.tcp.connections(), hand.tcp.counters().cookies_sent), (1, 1));
        hand.wait(Duration::from_millis(200));
        let mut ack = given(ACK, 1, 1).window(1_000).data(b"data");
        if let Some(clocks) = answer.options.timestamps {
            ack = ack.clock(700, clocks.value);
        }
        hand.give(ack);
        assert_eq!(hand.tcp.counters().cookies_accepted, 1);
        let port = hand.flow.remote_port;
        hand.id = hand.tcp.accept(hand.listener.unwrap(), hand.now).unwrap();
        let info = hand.info();
        assert_eq!((info.flow.remote_port, info.state), (port, State::Established));
        assert_eq!((info.sack, info.timestamps, info.scaling), (is_rich, is_rich, is_rich));
        assert_eq!(info.window, if is_rich { 64_000 } else { 1_000 });
        assert_eq!(info.segment_len, if is_rich { 1_288 } else { 1_300 });
        assert_eq!(hand.read(), b"data");
    }
}

/// RFC 6298, section 3: when the SYN left nobody knows, so that it is no measurement.
#[test]
fn a_cookie_is_no_measurement() {
    let mut hand = small(plain(), 1);
    hand.give(given(SYN, 0, 0));
    hand.flow.remote_port += 1;
    hand.sent();
    hand.give(given(SYN, 0, 0));
    hand.sent();
    hand.wait(Duration::from_millis(300));
    hand.give(given(ACK, 1, 1));
    hand.id = hand.tcp.accept(hand.listener.unwrap(), hand.now).unwrap();
    assert_eq!(hand.info().round_trip, None);
    assert_eq!(hand.info().retransmission_timeout, Duration::from_secs(1));
}

/// RFC 4987, section 3.6: cookies of others, and old ones, are refused; so are all when none were
/// sent.
#[test]
fn a_wrong_cookie_is_refused() {
    let mut hand = small(plain(), 1);
    hand.give(given(ACK, 1, 1));
    assert_eq!((hand.left()[0].flags, hand.tcp.counters().cookies_wrong), (RST, 0));
    hand.give(given(SYN, 0, 0));
    hand.flow.remote_port += 1;
    hand.sent();
    hand.give(given(SYN, 0, 0));
    hand.sent();
    for given in [given(ACK, 1, -100_000), given(ACK, 2, 1), given(ACK, 1, 100_000)] {
        hand.give(given);
        assert_eq!(hand.left()[0].flags, RST);
    }
    assert_eq!(hand.tcp.counters().cookies_wrong, 3);
    hand.now += Duration::from_secs(121);
    hand.give(given(ACK, 1, 1));
    assert!(hand.left().iter().any(|left| left.flags == RST));
    assert_eq!(hand.tcp.counters().cookies_accepted, 0);
}

/// With both ends of our own, a flood of connections through a backlog of one.
#[test]
fn cookies_carry_data_both_ways() {
    let mut pair = Pair::new();
    let listener = pair.ends[1].listen(None, PORT, 2).unwrap();
    let clients: Vec<ConnectionId> = (0..20).map(|_| pair.connect()).collect();
    let mut servers = Vec::new();
    for _ in 0..200 {
        pair.run(Duration::from_millis(50));
        while let Some(server) = pair.ends[1].accept(listener, pair.now).unwrap() {
            servers.push(server);
        }
        if servers.len() == 20 {
            break;
        }
    }
    assert!(pair.ends[1].counters().cookies_accepted > 0);
    let mut carried = 0;
    for client in clients {
        let flow = pair.ends[0].info(client).unwrap().flow;
        let of = |server: &&ConnectionId| {
            pair.ends[1].info(**server).unwrap().flow.remote_port == flow.local_port
        };
        let Some(server) = servers.iter().find(of).copied() else { continue };
        let data = pattern(30_000);
        assert!(pair.transfer([client, server], 0, &data) == data);
        assert!(pair.transfer([client, server], 1, &data) == data);
        carried += 1;
    }
    assert!(carried > 2, "{carried}");
}

/// Whoever looks part by part sees each connection once, half-open ones and those without a program
/// too.
#[test]
fn all_connections_can_be_looked_at() {
    let mut hand = small(plain(), 1_000);
    let first = hand.flow.remote_port;
    for nth in 0..600 {
        hand.flow.remote_port = first + nth;
        hand.give(given(SYN, 0, 0));
    }
    let (mut ports, mut from, mut parts) = (Vec::new(), Some(0), 0);
    while let Some(at) = from {
        let (infos, next) = hand.tcp.infos(at, 100);
        ports.extend(infos.map(|info| {
            assert_eq!(info.state, State::SynReceived);
            info.flow.remote_port
        }));
        (from, parts) = (next, parts + 1);
    }
    ports.sort_unstable();
    assert_eq!(ports, (first..first + 600).collect::<Vec<_>>());
    assert!(parts >= 6, "{parts}");
}
