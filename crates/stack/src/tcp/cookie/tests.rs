use core::{net::IpAddr, time::Duration};
use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::random::{Keys, Random};

const THEIRS: Seq = Seq(0x1234_5678);

fn flow() -> Flow {
    Flow {
        local: IpAddr::from([10, 0, 0, 1]),
        remote: IpAddr::from([10, 0, 0, 2]),
        local_port: 80,
        remote_port: 40_000,
    }
}

fn flow_v6() -> Flow {
    let address = |last| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, last]);
    Flow { local: address(1), remote: address(2), ..flow() }
}

fn key() -> Key {
    Keys::new([11; 32]).cookie
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

#[test]
fn brings_the_largest_size_of_the_table_that_fits() {
    let back = |flow: &Flow, mss| {
        let cookie = make(&key(), flow, THEIRS, mss, at(100));
        check(&key(), flow, THEIRS, cookie, at(100))
    };
    let v4 = [(0, 536), (535, 536), (536, 536), (1_299, 536), (1_300, 1_300), (1_439, 1_300)];
    for (mss, expected) in v4.into_iter().chain([(1_440, 1_440), (1_460, 1_460), (u16::MAX, 1_460)])
    {
        assert_eq!(back(&flow(), mss), Some(expected), "IPv4, {mss}");
    }
    for (mss, expected) in
        [(0, 1_220), (1_219, 1_220), (1_430, 1_420), (1_440, 1_440), (9_000, 8_940)]
    {
        assert_eq!(back(&flow_v6(), mss), Some(expected), "IPv6, {mss}");
    }
}

#[test]
fn is_valid_for_one_minute_at_least_and_two_at_most() {
    for made in [0, 1, 59, 60, 119, 3_600, 1 << 40] {
        let cookie = make(&key(), &flow(), THEIRS, 1_460, at(made));
        let valid = |after| check(&key(), &flow(), THEIRS, cookie, at(made + after)).is_some();
        assert!(valid(0) && valid(59) && valid(60), "made at {made} s");
        assert!(!valid(120) && !valid(600) && !valid(86_400), "made at {made} s");
        assert!(valid(119 - made % 60));
        assert!(!valid(120 - made % 60));
    }
    // Not before it was made.
    let cookie = make(&key(), &flow(), THEIRS, 1_460, at(600));
    assert_eq!(check(&key(), &flow(), THEIRS, cookie, at(500)), None);
}

#[test]
fn is_wrong_for_any_other_syn() {
    let now = at(1_000);
    let cookie = make(&key(), &flow(), THEIRS, 1_460, now);
    let one = flow();
    let others = [
        Flow { local: IpAddr::from([10, 0, 0, 3]), ..one },
        Flow { remote: IpAddr::from([10, 0, 0, 3]), ..one },
        Flow { local_port: 81, ..one },
        Flow { remote_port: 40_001, ..one },
        flow_v6(),
    ];
    for other in &others {
        assert_eq!(check(&key(), other, THEIRS, cookie, now), None, "{other:?}");
    }
    assert_eq!(check(&key(), &one, THEIRS + 1, cookie, now), None);
    assert_eq!(check(&Keys::new([12; 32]).cookie, &one, THEIRS, cookie, now), None);
    assert!(check(&key(), &one, THEIRS, cookie, now).is_some());
}

/// 8 numbers are valid at a time: 4 sizes in each of 2 minutes. None of the 5,488 neighbours by up
/// to three bits of two of them is, and of 100,000 guesses at most one: 8 in 2^32 would be 0.0002.
#[test]
fn a_guess_is_hardly_ever_right() {
    let now = at(1_000);
    let valid: BTreeSet<u32> = [now, now - Duration::from_mins(1)]
        .iter()
        .flat_map(|now| SIZES_V4.map(|mss| make(&key(), &flow(), THEIRS, mss, *now).0))
        .collect();
    assert_eq!(valid.len(), 8);
    let is_valid = |guess| check(&key(), &flow(), THEIRS, Seq(guess), now).is_some();
    assert!(valid.iter().all(|cookie| is_valid(*cookie)));
    for cookie in valid.iter().take(2) {
        for one in 0..32 {
            for two in one..32 {
                for three in two..32 {
                    let guess = cookie ^ (1 << one | 1 << two | 1 << three);
                    assert_eq!(is_valid(guess), valid.contains(&guess), "{guess:#x}");
                }
            }
        }
    }
    let mut random = Random::new(&Keys::new([13; 32]), 0);
    let accepted = (0..100_000).filter(|_| is_valid(random.next_u32())).count();
    assert!(accepted <= 1, "{accepted} of 100,000 guesses");
}

/// The low bits do not show which size was offered.
#[test]
fn every_bit_looks_random() {
    let mut ones = [0_i32; 32];
    for number in 0..10_000 {
        let cookie = make(&key(), &flow(), Seq(number), 1_460, at(1_000)).0;
        for (bit, ones) in ones.iter_mut().enumerate() {
            *ones += (cookie >> bit & 1) as i32;
        }
    }
    // 6 standard deviations.
    assert!(ones.iter().all(|ones| (ones - 5_000).abs() < 300), "{ones:?}");
}

/// RFC 4987, section 3.6.
#[test]
fn options_lie_where_linux_puts_them() {
    let all = Offered { window_scale: Some(7), sack: true, ecn: true };
    assert_eq!(encode_options(0xffff_ffff, all), 0xffff_fff7);
    assert_eq!(encode_options(0x1000, Offered::default()), 0x0fcf);
    assert_eq!(encode_options(0, all), 0xffff_fff7);
    assert_eq!(decode_options(0xffff_fff7), all);
    let too_much = Offered { window_scale: Some(200), ..all };
    assert_eq!(decode_options(encode_options(0, too_much)).window_scale, Some(14));
}

proptest! {
    #[test]
    fn options_come_back_and_the_clock_does_not_run_ahead(
        timestamp: u32,
        window_scale in prop::option::of(0..=14_u8),
        sack: bool,
        ecn: bool,
    ) {
        let offered = Offered { window_scale, sack, ecn };
        let encoded = encode_options(timestamp, offered);
        prop_assert_eq!(decode_options(encoded), offered);
        prop_assert!(timestamp.wrapping_sub(encoded) < 64);
    }

    #[test]
    fn a_cookie_comes_back_for_every_syn(
        their_isn: u32,
        mss: u16,
        minute in 0..1_u64 << 40,
        age in 0..60_u64,
    ) {
        for flow in [flow(), flow_v6()] {
            let made = at(minute * 60 + 30);
            let cookie = make(&key(), &flow, Seq(their_isn), mss, made);
            let now = made + Duration::from_secs(age);
            let size = check(&key(), &flow, Seq(their_isn), cookie, now);
            prop_assert!(size.is_some_and(|size| size <= mss || size == sizes(&flow)[0]));
        }
    }
}
