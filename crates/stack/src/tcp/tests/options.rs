//! Options: RFC 9293, section 3.2; RFC 7323.

use super::{hand::*, *};
use portolan_wire::tcp::Timestamps;

fn clocks() -> Config {
    Config { timestamps: true, ..plain() }
}

/// A connection with timestamps, where the hand's clock stands at 1,000.
fn with_clocks(config: Config) -> Hand {
    Hand::new(config).opened(given(SYN_ACK, 0, 1).mss(1_460).clock(1_000, 0))
}

/// What the TCP has echoed last.
fn echo(hand: &mut Hand) -> u32 {
    hand.left().pop().unwrap().options.timestamps.unwrap().echo
}

/// RFC 9293, MUST-4, MUST-14, SHLD-5, MAY-3: MSS is sent with each SYN, and SYN alone (MUST-65).
#[test]
fn every_syn_says_how_long_segments_may_be() {
    let mut hand = Hand::new(plain());
    hand.connect();
    let syn = hand.left().pop().unwrap();
    assert_eq!(syn.options.mss, Some(1_460));
    hand.give(given(SYN_ACK, 0, 1));
    hand.write(b"data");
    for left in hand.left() {
        assert_eq!(left.options.mss, None);
    }
    let mut hand = Hand::listening(plain());
    hand.give(given(SYN, 0, 0));
    assert_eq!(hand.left()[0].options.mss, Some(1_460));
}

/// RFC 9293, MUST-67, SHLD-6: it is what the largest packet leaves without the two headers, over
/// IPv4 and IPv6.
#[test]
fn the_length_that_is_told_follows_the_mtu() {
    for (mtu, v4, v6) in [(1_500, 1_460, 1_440), (9_000, 8_960, 8_940), (1_280, 1_240, 1_220)] {
        let mut hand = Hand::new(plain());
        hand.mtu = mtu;
        hand.connect();
        assert_eq!(hand.left()[0].options.mss, Some(v4));
        (hand.flow.local, hand.flow.remote) =
            ("fd00::1".parse().unwrap(), "fd00::2".parse().unwrap());
        hand.connect();
        assert_eq!(hand.left()[0].options.mss, Some(v6));
    }
}

/// RFC 9293, section 3.7.1; CVE-2019-11479: so small a segment is not believed.
#[test]
fn a_tiny_mss_is_not_believed() {
    for mss in [1, 20] {
        let mut hand = Hand::new(plain()).opened(given(SYN_ACK, 0, 1).mss(mss));
        hand.write(&pattern(1_000));
        assert_eq!(hand.left()[0].payload.len(), 48);
    }
}

/// A segment with these bytes of options.
fn with_options(
    hand: &Hand,
    flags: portolan_wire::tcp::Flags,
    seq: u32,
    options: &[u8],
) -> Vec<u8> {
    assert_eq!(options.len() % 4, 0);
    let mut bytes = vec![0; 20];
    bytes[..2].copy_from_slice(&hand.flow.remote_port.to_be_bytes());
    bytes[2..4].copy_from_slice(&hand.flow.local_port.to_be_bytes());
    bytes[4..8].copy_from_slice(&(hand.irs + seq).0.to_be_bytes());
    bytes[8..12].copy_from_slice(&(hand.iss + 1).0.to_be_bytes());
    bytes[12] = ((20 + options.len()) as u8 / 4) << 4;
    bytes[13] = flags.0;
    bytes[14] = 0xff;
    bytes.extend_from_slice(options);
    bytes.extend_from_slice(if seq == 0 { b"" } else { b"data" });
    bytes
}

/// Gives a segment whose checksum is known to be good.
fn give_unchecked(hand: &mut Hand, segment: &[u8]) {
    let arrived = Arrived {
        source: hand.flow.remote,
        destination: hand.flow.local,
        ecn: Ecn::NotCapable,
        checksum: Checksum::Verified,
        segment,
        path_mtu: &|_| 1_500,
    };
    hand.tcp.handle_segment(arrived, hand.now, &mut |_, _| 0);
}

/// RFC 9293, MUST-5, MUST-6, MUST-68, MUST-64: options in any segment, unknown ones by their
/// length, at odd places.
#[test]
fn unknown_options_are_skipped_by_their_length() {
    for options in [
        &[253, 4, 2, 4, 2, 4, 2, 0][..],
        &[1, 253, 3, 99, 2, 4, 2, 0],
        &[1, 1, 1, 2, 4, 2, 0, 0],
        &[254, 2, 2, 4, 2, 0, 0, 99],
    ] {
        let mut hand = Hand::connecting(plain());
        let segment = with_options(&hand, SYN_ACK, 0, options);
        give_unchecked(&mut hand, &segment);
        assert_eq!(hand.state(), State::Established);
        assert_eq!(hand.info().segment_len, 512, "{options:?}");
        hand.sent();
        let segment = with_options(&hand, ACK, 1, options);
        give_unchecked(&mut hand, &segment);
        assert_eq!(hand.read(), b"data");
    }
}

/// RFC 9293, MUST-7: lengths that cannot be, of zero, one, and beyond the header.
#[test]
fn illegal_lengths_do_no_harm() {
    for options in [&[2, 0, 0, 0][..], &[2, 1, 0, 0], &[2, 9, 0, 0], &[8, 255, 1, 1], &[1, 1, 1, 3]]
    {
        let mut hand = Hand::connecting(plain());
        let segment = with_options(&hand, SYN_ACK, 0, options);
        give_unchecked(&mut hand, &segment);
        assert_eq!((hand.state(), hand.info().segment_len), (State::Established, 536));
        let segment = with_options(&hand, ACK, 1, options);
        give_unchecked(&mut hand, &segment);
        assert_eq!(hand.read(), b"data");
    }
}

/// An option whose length is not that of its kind is as if it were not there, and one of length 0
/// or 1, or that does not end within the header, ends them: what a listener of Linux 6.18 answers
/// to these SYNs, and what it takes as a full segment. RFC 9293, MUST-7: handled without crashing.
#[test]
fn options_of_wrong_length_are_read_as_linux_does() {
    const MSS: &[u8] = &[2, 4, 0x03, 0xe8];
    const SCALE: &[u8] = &[3, 3, 7];
    const SACK: &[u8] = &[4, 2];
    const CLOCK: &[u8] = &[8, 10, 0, 0, 0, 9, 0, 0, 0, 0];
    let cases: [(&[&[u8]], &str); 19] = [
        (&[MSS, SCALE, SACK, CLOCK], "1000 scale sack clock"),
        (&[&[2, 3, 5], SCALE, SACK, CLOCK], "536 scale sack clock"),
        (&[&[2, 5, 3, 0xe8, 0], SCALE, SACK, CLOCK], "536 scale sack clock"),
        (&[MSS, &[3, 4, 7, 7], SACK, CLOCK], "1000 sack clock"),
        (&[MSS, &[3, 2], SACK, CLOCK], "1000 sack clock"),
        (&[MSS, &[4, 3, 0], SCALE, CLOCK], "1000 scale clock"),
        (&[&[8, 9, 0, 0, 0, 9, 0, 0, 0], MSS, SCALE, SACK], "1000 scale sack"),
        (&[&[8, 11, 0, 0, 0, 9, 0, 0, 0, 0, 0], MSS, SCALE, SACK], "1000 scale sack"),
        (&[MSS, &[3, 0], SACK, CLOCK], "1000"),
        (&[MSS, &[3, 1], SACK, CLOCK], "1000"),
        (&[MSS, &[99, 1], SACK, CLOCK], "1000"),
        (&[MSS, &[99, 0], SACK, CLOCK], "1000"),
        (&[MSS, SACK, &[8, 12, 0, 0, 0, 9, 0, 0, 0, 0]], "1000 sack"),
        (&[MSS, SACK, &[99, 40, 3, 3, 7, 0]], "1000 sack"),
        (&[MSS, SACK, SCALE, &[1, 1, 8]], "1000 scale sack"),
        (&[MSS, &[0], SCALE, SACK, CLOCK], "1000"),
        (&[&[2, 4, 0, 0], SCALE, SACK, CLOCK], "536 scale sack clock"),
        (&[MSS, &[2, 4, 2, 0], SCALE, SACK, CLOCK], "512 scale sack clock"),
        (&[MSS, &[3, 3, 15], SACK, CLOCK], "1000 scale sack clock"),
    ];
    for (options, expected) in cases {
        let mut options = options.concat();
        options.resize(options.len().next_multiple_of(4), 0);
        let mut hand = Hand::listening(Config::default());
        let syn = with_options(&hand, SYN, 0, &options);
        give_unchecked(&mut hand, &syn);
        let answer = hand.left().pop().unwrap().options;
        let agreed = [
            (answer.window_scale.is_some(), " scale"),
            (answer.sack_permitted, " sack"),
            (answer.timestamps.is_some(), " clock"),
        ];
        let agreed: std::string::String =
            agreed.iter().filter(|(is_there, _)| *is_there).map(|(_, name)| *name).collect();
        let ack = with_options(
            &hand,
            ACK,
            1,
            if answer.timestamps.is_some() { &[1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0] } else { &[] },
        );
        give_unchecked(&mut hand, &ack);
        hand.id = hand.tcp.accept(hand.listener.unwrap(), hand.now).unwrap();
        let mss = hand.info().segment_len + if answer.timestamps.is_some() { 12 } else { 0 };
        assert_eq!(std::format!("{mss}{agreed}"), expected, "{options:?}");
    }
}

/// RFC 9293, MUST-69, MUST-68: our options have lengths, and fill up to 32 bits with what is no
/// option.
#[test]
fn our_options_are_padded() {
    let mut hand = Hand::new(Config::default());
    hand.connect();
    let syn = hand.left().pop().unwrap();
    let packet = Packet::parse(&syn.bytes).unwrap();
    assert_eq!(packet.header_len() % 4, 0);
    let mut rest = &syn.bytes[20..packet.header_len()];
    while let [kind, more @ ..] = rest {
        rest = match kind {
            0 => {
                assert!(more.iter().all(|byte| *byte == 0));
                &[]
            }
            1 => more,
            _ => &rest[usize::from(more[0])..],
        };
    }
}

/// RFC 9293, MUST-2, MUST-3: checksums are computed, and looked at.
#[test]
fn checksums_are_right_and_looked_at() {
    let mut hand = Hand::connecting(plain());
    let mut segment = with_options(&hand, SYN_ACK, 0, &[]);
    hand.give_bytes(&segment, Ecn::NotCapable);
    assert_eq!((hand.state(), hand.tcp.counters().checksum_wrong), (State::SynSent, 1));
    let packet = Packet::parse(&segment).unwrap();
    let repr = packet.repr();
    repr.emit(&mut segment, hand.flow.remote, hand.flow.local).unwrap();
    hand.give_bytes(&segment, Ecn::NotCapable);
    assert_eq!(hand.state(), State::Established);
    // Each that leaves is looked at by the hand; a change of one bit would be found.
    hand.write(b"data");
    let mut bytes = hand.left().pop().unwrap().bytes;
    let (local, remote) = (hand.flow.local, hand.flow.remote);
    assert!(Packet::parse(&bytes).unwrap().is_intact(local, remote));
    bytes[21] ^= 1;
    assert!(!Packet::parse(&bytes).unwrap().is_intact(local, remote));
}

/// RFC 7323, section 2.3: a shift of more than 14 is taken for 14.
#[test]
fn a_shift_is_fourteen_at_most() {
    let config = Config { window_scaling: true, ..plain() };
    for shift in [14, 15, 255] {
        let mut hand = Hand::new(config.clone()).opened(given(SYN_ACK, 0, 1).scale(shift));
        hand.give(given(ACK, 1, 1).window(3));
        assert_eq!(hand.info().window, 3 << 14);
    }
    // Our own is what the buffer needs.
    for (bytes, shift) in [(65_535, 0), (65_536, 1), (1 << 20, 5), (1 << 30, 14), (u32::MAX, 14)] {
        let mut hand = Hand::new(Config { receive_buffer_bytes: bytes, ..config.clone() });
        hand.connect();
        assert_eq!(hand.left()[0].options.window_scale, Some(shift), "{bytes}");
    }
}

/// RFC 7323, section 2.2: windows are shifted if both SYNs say so, and not that of SYN itself.
#[test]
fn windows_are_shifted_if_both_agree() {
    let config = Config { window_scaling: true, ..plain() };
    let mut hand = Hand::new(config.clone()).opened(given(SYN_ACK, 0, 1).scale(3).window(1_000));
    assert_eq!(hand.info().window, 1_000);
    hand.give(given(ACK, 1, 1).window(1_000));
    assert_eq!(hand.info().window, 8_000);
    let mut hand = Hand::new(config.clone()).opened(given(SYN_ACK, 0, 1).window(1_000));
    hand.give(given(ACK, 1, 1).window(1_000));
    assert_eq!((hand.info().window, hand.info().scaling), (1_000, false));
    // Section 1.3: who was not asked does not answer with it.
    for (syn, answer) in [(given(SYN, 0, 0), None), (given(SYN, 0, 0).scale(0), Some(5))] {
        let mut hand = Hand::listening(config.clone());
        hand.give(syn);
        assert_eq!(hand.left()[0].options.window_scale, answer);
    }
}

/// RFC 7323, section 3.2: timestamps are in every segment, or in none; SYN with ACK has them if SYN
/// has.
#[test]
fn timestamps_are_in_all_segments_or_none() {
    let mut hand = Hand::new(clocks());
    hand.connect();
    let ours = hand.left()[0].options.timestamps.unwrap();
    assert_eq!(ours.echo, 0);
    hand.give(given(SYN_ACK, 0, 1).clock(77, ours.value));
    hand.write(b"data");
    let left = hand.left();
    assert!(left.iter().all(|left| left.options.timestamps.unwrap().echo == 77));
    let mut hand = Hand::new(clocks()).opened(given(SYN_ACK, 0, 1));
    hand.write(b"data");
    assert_eq!(hand.left()[0].options.timestamps, None);
    for (syn, is_there) in [(given(SYN, 0, 0), false), (given(SYN, 0, 0).clock(5, 0), true)] {
        let mut hand = Hand::listening(clocks());
        hand.give(syn);
        assert_eq!(hand.left()[0].options.timestamps.is_some(), is_there);
    }
}

/// RFC 7323, section 3.2: on such a connection a segment without timestamps is dropped in silence,
/// but for RST.
#[test]
fn a_segment_without_its_timestamp_is_dropped() {
    let mut hand = with_clocks(clocks());
    assert_eq!(hand.answer(given(ACK, 1, 1).data(b"data")), [""; 0]);
    assert_eq!(hand.info().unread, 0);
    hand.give(given(RST, 1, 0));
    assert_eq!(hand.info().reason, Some(Reason::Reset));
}

/// RFC 7323, section 4.3: what is echoed is the timestamp of the first segment that is not
/// acknowledged, and no later one that came out of order.
#[test]
fn the_earliest_timestamp_is_echoed() {
    let config = Config { delayed_ack: Duration::from_millis(400), ..clocks() };
    let mut hand = with_clocks(config);
    // Behind a gap: the echo stays.
    hand.give(given(ACK, 101, 1).clock(1_010, 0).data(&[1; 100]));
    assert_eq!(echo(&mut hand), 1_000);
    hand.give(given(ACK, 1, 1).clock(1_005, 0).data(&[1; 100]));
    assert_eq!(echo(&mut hand), 1_005);
    // Acknowledgments leave at once at first; later two wait for one.
    for index in 0..20 {
        hand.give(given(ACK, 201 + index, 1).clock(1_010, 0).data(&[1]));
    }
    hand.wait(Duration::from_secs(1));
    hand.give(given(ACK, 221, 1).clock(1_020, 0).data(&[1]));
    hand.give(given(ACK, 222, 1).clock(1_030, 0).data(&[1]));
    let late = hand.wait(Duration::from_secs(1));
    assert_eq!(late[0].options.timestamps.unwrap().echo, 1_020);
}

/// RFC 7323, section 5.3: R1 drops what is older and answers it; section 5.2: the clock may wrap.
#[test]
fn an_old_segment_is_told_by_its_timestamp() {
    let mut hand = with_clocks(clocks());
    assert_eq!(hand.answer(given(ACK, 1, 1).clock(999, 0).data(b"old!")), ["ACK 1+0 ack 1"]);
    assert_eq!(hand.info().unread, 0);
    hand.give(given(ACK, 1, 1).clock(1_000, 0).data(b"new!"));
    assert_eq!(hand.read(), b"new!");
    hand.give(given(RST, 5, 0).clock(1, 0));
    assert_eq!(hand.info().reason, Some(Reason::Reset));
    // Across the wrap.
    let mut hand = Hand::new(clocks()).opened(given(SYN_ACK, 0, 1).clock(u32::MAX - 1, 0));
    hand.give(given(ACK, 1, 1).clock(5, 0).data(b"new!"));
    assert_eq!(hand.read(), b"new!");
    hand.give(given(ACK, 5, 1).clock(u32::MAX, 0).data(b"old!"));
    assert_eq!(hand.info().unread, 0);
}

/// RFC 7323, section 5.5: after 24 days in silence the clock of the peer says nothing.
#[test]
fn a_timestamp_is_forgotten_after_24_days() {
    let days = |days: u64| Duration::from_secs(days * 86_400);
    let mut hand = with_clocks(clocks());
    hand.wait(days(23));
    hand.give(given(ACK, 1, 1).clock(999, 0).data(b"old!"));
    assert_eq!(hand.info().unread, 0);
    hand.wait(days(2));
    hand.give(given(ACK, 1, 1).clock(999, 0).data(b"new!"));
    assert_eq!(hand.read(), b"new!");
    hand.sent();
    // It counts from then on.
    hand.give(given(ACK, 5, 1).clock(998, 0).data(b"old!"));
    assert_eq!(hand.info().unread, 0);
}

/// RFC 7323, section 4.1; RFC 6298, section 3: an echo measures also what was sent twice.
#[test]
fn an_echo_measures_what_was_sent_twice() {
    let mut hand = with_clocks(clocks());
    hand.write(b"data");
    hand.sent();
    let again = hand.wait(Duration::from_secs(20));
    let last = again.last().unwrap();
    let Timestamps { value, .. } = last.options.timestamps.unwrap();
    hand.now = hand.now + last.at - Duration::from_secs(20);
    let before = hand.info().round_trip;
    hand.now += Duration::from_secs(30);
    hand.give(given(ACK, 1, 5).clock(1_001, value));
    assert!(hand.info().round_trip > before, "{before:?} {:?}", hand.info().round_trip);
}

/// RFC 9293, MUST-18; RFC 6298, section 3: without timestamps it is not measured, and the timeout
/// stays backed off until something is (section 5).
#[test]
fn what_was_sent_twice_is_not_measured() {
    let mut hand = Hand::connected(plain());
    let before = hand.info().round_trip;
    hand.write(b"data");
    hand.sent();
    hand.wait(Duration::from_secs(20));
    let backed_off = hand.info().retransmission_timeout;
    assert!(backed_off > Duration::from_secs(10));
    hand.give(given(ACK, 1, 5));
    assert_eq!(hand.info().round_trip, before);
    assert_eq!(hand.info().retransmission_timeout, backed_off);
}
