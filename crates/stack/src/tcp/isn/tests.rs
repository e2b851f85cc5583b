use core::{net::IpAddr, time::Duration};
use std::{vec, vec::Vec};

use super::*;
use crate::random::Keys;

fn flow(number: u32) -> Flow {
    Flow {
        local: IpAddr::from([10, 0, 0, 1]),
        remote: IpAddr::from((0x0a01_0000 + number / 7).to_be_bytes()),
        local_port: 80,
        remote_port: (1_024 + number % 7) as u16,
    }
}

fn key() -> Key {
    Keys::new([42; 32]).isn
}

/// RFC 6528, section 3: ISN = M + F(...), M counts once in 4 microseconds.
#[test]
fn the_numbers_of_a_flow_follow_the_clock() {
    let first = isn(&key(), &flow(1), Instant::ZERO);
    let micros = |micros| isn(&key(), &flow(1), Instant::from_micros(micros)).distance(first);
    assert_eq!((micros(3), micros(4), micros(4_000_000)), (0, 1, 1_000_000));
    // The clock wraps around after 2^34 microseconds, and goes on.
    assert_eq!((micros(4 << 32), micros((4 << 32) + 4)), (0, 1));
}

/// RFC 9293, section 3.4.1: a new connection begins behind the numbers of the last one, as long as
/// that sent less than 250 kB/s or lived for less than half the clock's way.
#[test]
fn later_connections_of_a_flow_begin_later() {
    let mut now = Instant::from_micros(u64::from(u32::MAX));
    let mut last = isn(&key(), &flow(2), now);
    for _ in 0..1_000 {
        now += Duration::from_secs(240);
        let next = isn(&key(), &flow(2), now);
        assert!(next.after(last));
        last = next;
    }
}

#[test]
fn every_part_of_the_flow_and_the_key_count() {
    let of = |flow: &Flow| isn(&key(), flow, Instant::ZERO);
    let one = flow(0);
    let others = [
        Flow { local: IpAddr::from([10, 0, 0, 2]), ..one },
        Flow { remote: IpAddr::from([10, 0, 0, 2]), ..one },
        Flow { local_port: 81, ..one },
        Flow { remote_port: 81, ..one },
        Flow { local: one.remote, remote: one.local, ..one },
        Flow { local_port: one.remote_port, remote_port: one.local_port, ..one },
    ];
    for other in &others {
        assert_ne!(of(&one), of(other), "{other:?}");
    }
    assert_ne!(of(&one), isn(&Keys::new([43; 32]).isn, &one, Instant::ZERO));
}

/// What a stranger sees: the differences of numbers that different flows got one after the other.
/// The seed is fixed, so that the test always says the same.
fn differences_look_random(number: impl Fn(u32) -> u32) {
    const COUNT: u32 = 64_000;
    let differences: Vec<u32> =
        (0..COUNT).map(|place| number(place + 1).wrapping_sub(number(place))).collect();
    // Each bit is set in half of them: 5 standard deviations of sqrt(n) / 2.
    for bit in 0..32 {
        let ones = differences.iter().filter(|number| **number >> bit & 1 == 1).count() as i64;
        assert!((ones * 2 - i64::from(COUNT)).abs() < 5 * 253, "bit {bit}: {ones} of {COUNT}");
    }
    // Chi-square of each byte: 255 degrees of freedom; 400 is 6.4 standard deviations off.
    for shift in [0, 8, 16, 24] {
        let mut counts = vec![0_i64; 256];
        for number in &differences {
            counts[(number >> shift & 0xff) as usize] += 1;
        }
        let expected = i64::from(COUNT) / 256;
        let squares: i64 = counts.iter().map(|count| (count - expected).pow(2)).sum();
        assert!(
            (100..400).contains(&(squares / expected)),
            "byte at {shift}: {squares} / {expected}"
        );
    }
    // And none is seen more often than by chance.
    let mut sorted = differences;
    sorted.sort_unstable();
    sorted.dedup();
    assert!(COUNT as usize - sorted.len() < 10);
}

#[test]
fn the_numbers_of_different_flows_look_random() {
    differences_look_random(|place| {
        isn(&key(), &flow(place), Instant::from_micros(u64::from(place) * 10)).0
    });
}

/// RFC 7323, section 5.4.
#[test]
fn the_timestamps_of_different_flows_look_random() {
    let key = Keys::new([42; 32]).timestamp;
    differences_look_random(|place| timestamp_offset(&key, &flow(place)));
    assert_eq!(timestamp_offset(&key, &flow(1)), timestamp_offset(&key, &flow(1)));
}
