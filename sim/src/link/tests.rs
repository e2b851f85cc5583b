use std::{collections::BTreeSet, net::Ipv4Addr};

use portolan_wire::{protocol, tcp};

use super::*;
use crate::{
    frame::{Way, of_segment},
    host,
};

#[test]
fn a_perfect_wire_only_takes_its_time() {
    let arrived = through(Settings { delay_us: 700, ..Settings::default() }, 100);
    assert_eq!(arrived.len(), 100);
    for (number, (at, end, frame)) in arrived.iter().enumerate() {
        assert_eq!((*at, *end), (moment(number as u64 * 10 + 700), End::Far));
        assert_eq!(*frame, segment(number, 100));
    }
}

#[test]
fn the_rate_spaces_frames_and_the_queue_is_bounded() {
    // A frame of 154 bytes takes 154 us at 1 MB/s; all are sent at once.
    let settings = Settings { rate_bytes: 1_000_000, queue_bytes: 1_000, ..Settings::default() };
    let mut link = Link::new(settings, Random::new(1, "link"));
    let mut arrived = Vec::new();
    for number in 0..20 {
        link.send(segment(number, 100), moment(0), &mut |at, _, _| arrived.push(at.as_micros()));
    }
    // Six frames are 924 bytes.
    assert_eq!(arrived, [154, 308, 462, 616, 770, 924]);
}

#[test]
fn faults_come_about_as_often_as_they_should() {
    let count = |settings: Settings| through(settings, 10_000).len();
    let lossy = count(Settings { loss_ppm: 100_000, ..Settings::default() });
    assert!((8_800..=9_200).contains(&lossy), "{lossy}");
    let doubled = count(Settings { duplicate_ppm: 100_000, ..Settings::default() });
    assert!((10_800..=11_200).contains(&doubled), "{doubled}");
    // Half of the time bad, and then nine in ten lost.
    let burst = Burst { enter_ppm: 100_000, leave_ppm: 100_000, loss_ppm: 900_000 };
    let burst = count(Settings { burst: Some(burst), ..Settings::default() });
    assert!((4_900..=6_100).contains(&burst), "{burst}");
}

#[test]
fn only_what_is_reordered_is_overtaken() {
    let order = |settings: Settings| {
        let mut arrived = through(settings, 1_000);
        arrived.sort_by_key(|(at, ..)| *at);
        let frames: Vec<Frame> = arrived.into_iter().map(|(.., frame)| frame).collect();
        frames
    };
    let sent: Vec<Frame> = (0..1_000).map(|number| segment(number, 100)).collect();
    assert!(order(Settings { jitter_us: 500, ..Settings::default() }) == sent);
    let late = Settings { reorder_ppm: 50_000, reorder_us: 500, ..Settings::default() };
    let reordered = order(late);
    assert!(reordered != sent);
    assert_eq!(reordered.iter().collect::<BTreeSet<_>>().len(), 1_000);
}

#[test]
fn damage_is_found_by_checksums_or_lengths() {
    let settings = Settings { corrupt_ppm: 400_000, truncate_ppm: 200_000, ..Settings::default() };
    let mut damaged = 0;
    for (number, (.., frame)) in through(settings, 2_000).into_iter().enumerate() {
        if frame != segment(number, 100) {
            damaged += 1;
            assert!(Datagram::read(&frame).is_none_or(|datagram| !datagram.is_intact()));
        }
    }
    assert!((900..=1_200).contains(&damaged), "{damaged}");
}

#[test]
fn what_is_too_large_is_answered_with_the_mtu_that_is_not() {
    let settings = Settings { mtu: 576, ..Settings::default() };
    let mut link = Link::new(settings, Random::new(1, "link"));
    let mut arrived = Vec::new();
    link.send(segment(1, 537), moment(0), &mut |_, end, frame| arrived.push((end, frame)));
    link.send(segment(2, 536), moment(0), &mut |_, end, frame| arrived.push((end, frame)));
    let [(End::Near, error), (End::Far, small)] = arrived.as_slice() else {
        panic!("{arrived:?}");
    };
    assert_eq!(*small, segment(2, 536));
    let error = Datagram::read(error).expect("an IP packet");
    assert_eq!((error.destination, error.protocol), (way().source, protocol::ICMPV4));
    assert!(error.is_intact());
    let message = portolan_wire::icmpv4::Packet::parse(error.payload).expect("a message of ICMP");
    assert_eq!(message.next_hop_mtu(), Some(576));

    let settings = Settings { mtu: 576, answer: Answer::Nothing, ..Settings::default() };
    let mut hole = Link::new(settings, Random::new(1, "link"));
    hole.send(segment(1, 537), moment(0), &mut |_, _, frame| panic!("{frame:?}"));
}

#[test]
fn a_pause_holds_or_loses() {
    for lost in [false, true] {
        let mut link = Link::new(Settings::default(), Random::new(1, "link"));
        link.change(Change::Pause { us: 1_000, lost }, moment(0));
        let mut arrived = Vec::new();
        link.send(segment(1, 10), moment(500), &mut |at, _, _| arrived.push(at));
        link.send(segment(2, 10), moment(1_000), &mut |at, _, _| arrived.push(at));
        let expected = if lost { vec![moment(1_000)] } else { vec![moment(1_000); 2] };
        assert_eq!(arrived, expected);
    }
}

#[test]
fn after_the_calm_nothing_goes_wrong() {
    let settings = Settings {
        loss_ppm: 500_000,
        corrupt_ppm: 500_000,
        duplicate_ppm: 500_000,
        delay_us: 30,
        ..Settings::default()
    };
    let mut link = Link::new(settings, Random::new(1, "link"));
    link.calm();
    for number in 0..100 {
        let mut arrived = Vec::new();
        link.send(segment(number, 100), moment(7), &mut |at, _, frame| arrived.push((at, frame)));
        assert_eq!(arrived, [(moment(37), segment(number, 100))]);
    }
}

#[test]
fn a_window_that_shrinks_is_right_but_smaller() {
    let settings = Settings { shrink_ppm: 1_000_000, ..Settings::default() };
    let mut link = Link::new(settings, Random::new(1, "link"));
    let mut windows = BTreeSet::new();
    for number in 0..100 {
        let mut header = header(number);
        header.window = 1_000;
        let frame = of_segment(way(), 0, &header, &[7; 10]);
        link.send(frame, moment(0), &mut |_, _, frame| {
            let datagram = Datagram::read(&frame).expect("an IP packet");
            assert!(datagram.is_intact());
            windows.insert(datagram.segment().expect("a segment").packet.window());
        });
    }
    assert_eq!(windows, BTreeSet::from([0, 100, 500, 999]));
    assert_eq!(link.coverage.count(Happening::WindowShrunk), 100);
}

/// What comes out for so many frames, one every 10 us.
fn through(settings: Settings, count: usize) -> Vec<(Instant, End, Frame)> {
    let mut link = Link::new(settings, Random::new(1, "link"));
    let mut arrived = Vec::new();
    for number in 0..count {
        link.send(segment(number, 100), moment(number as u64 * 10), &mut |at, end, frame| {
            arrived.push((at, end, frame));
        });
    }
    arrived
}

fn segment(number: usize, bytes: usize) -> Frame {
    of_segment(way(), 0, &header(number), &vec![7; bytes])
}

fn header(number: usize) -> tcp::Repr {
    tcp::Repr {
        source_port: 1,
        destination_port: 2,
        sequence: portolan_wire::Seq(u32::try_from(number).expect("a small number")),
        acknowledgment: portolan_wire::Seq(0),
        flags: Flags::ACK,
        window: 0,
        urgent_pointer: 0,
        options: tcp::Options::default(),
    }
}

fn way() -> Way {
    Way {
        source_mac: host::mac(0),
        destination_mac: host::mac(1),
        source: Ipv4Addr::new(198, 51, 100, 1).into(),
        destination: Ipv4Addr::new(198, 51, 100, 2).into(),
    }
}

fn moment(micros: u64) -> Instant {
    Instant::from_micros(micros)
}
