use std::{collections::BTreeSet, vec::Vec};

use super::*;
use crate::random::Keys;

const LOCAL: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1));

fn remote(number: u32) -> IpAddr {
    IpAddr::from((0x0a02_0000 + number).to_be_bytes())
}

fn ports(range: RangeInclusive<u16>) -> Ports {
    Ports::new(range, Keys::new([5; 32]).ports)
}

#[test]
fn finds_every_free_port_of_the_range_before_none() {
    for range in [32_768..=60_999, 0..=u16::MAX, 1..=1, u16::MAX..=u16::MAX] {
        let mut ports = ports(range.clone());
        let mut free: BTreeSet<u16> = range.collect();
        while !free.is_empty() {
            let port = ports.pick(LOCAL, remote(1), 80, |port| free.contains(&port));
            assert!(free.remove(&port.expect("there are free ports")));
        }
        assert_eq!(ports.pick(LOCAL, remote(1), 80, |_| false), None);
    }
}

#[test]
fn asks_for_each_port_of_the_range_once() {
    let mut ports = ports(40_000..=40_999);
    let mut asked = Vec::new();
    let answer = ports.pick(LOCAL, remote(1), 80, |port| {
        asked.push(port);
        false
    });
    assert_eq!(answer, None);
    asked.sort_unstable();
    assert_eq!(asked, (40_000..=40_999).collect::<Vec<_>>());
}

#[test]
fn an_empty_range_has_no_port() {
    #[expect(clippy::reversed_empty_ranges)]
    let mut ports = ports(10..=9);
    assert_eq!(ports.pick(LOCAL, remote(1), 80, |_| true), None);
}

/// As for the ports whose answers come to this thread's queue.
#[test]
fn only_ports_that_the_caller_can_use() {
    let mut ports = ports(32_768..=60_999);
    let mine = |port: u16| port.wrapping_mul(40_503) >> 14 == 2;
    let picked: BTreeSet<u16> =
        (0..500).filter_map(|_| ports.pick(LOCAL, remote(1), 80, mine)).collect();
    assert_eq!(picked.len(), 500, "a port comes back only after all others");
    assert!(picked.into_iter().all(mine));
}

/// RFC 6056, section 3.3.4: consecutive for one destination, so that a port comes back late.
#[test]
fn a_destination_goes_through_the_range_in_order() {
    let mut ports = ports(50_000..=50_099);
    let mut pick = || ports.pick(LOCAL, remote(1), 80, |_| true).unwrap();
    let mut last = pick();
    for _ in 0..1_000 {
        let next = pick();
        assert_eq!(next, if last == 50_099 { 50_000 } else { last + 1 });
        last = next;
    }
}

/// RFC 6056, section 3.3.4: where other destinations are does not show in a destination's ports.
#[test]
fn destinations_do_not_reveal_each_other() {
    let (mut quiet, mut busy) = (ports(32_768..=60_999), ports(32_768..=60_999));
    let mut seen = Vec::new();
    let mut differ = 0;
    for round in 0..2_000_u32 {
        // The destination that is watched, with others in between, and without.
        let watched = quiet.pick(LOCAL, remote(0), 443, |_| true);
        differ += u32::from(busy.pick(LOCAL, remote(0), 443, |_| true) != watched);
        seen.extend(busy.pick(LOCAL, remote(1 + round), 443, |_| true));
    }
    // All would differ with one counter; a shared one of 2^16 is met in about 3 of 100 runs.
    assert_eq!(differ, 0);
    // Where destinations begin: their differences spread over the range; chi-square, 15 degrees.
    let mut counts = [0_i64; 16];
    for pair in seen.windows(2) {
        let way = (u32::from(pair[1]) + 28_232 - u32::from(pair[0])) % 28_232;
        counts[(way * 16 / 28_232) as usize] += 1;
    }
    let squares: i64 = counts.iter().map(|count| (count * 16 - 1_999).pow(2)).sum();
    assert!(squares / 16 / 1_999 < 38, "{counts:?}");
}

#[test]
fn every_part_of_the_destination_and_the_key_count() {
    let first = |ports: &mut Ports, local, remote, port| ports.pick(local, remote, port, |_| true);
    let here = |local, remote, port| first(&mut ports(1_024..=65_535), local, remote, port);
    let one = here(LOCAL, remote(1), 80);
    assert_eq!(one, here(LOCAL, remote(1), 80));
    assert_ne!(one, here(LOCAL, remote(2), 80));
    assert_ne!(one, here(LOCAL, remote(1), 81));
    assert_ne!(one, here(remote(3), remote(1), 80));
    let mut other = Ports::new(1_024..=65_535, Keys::new([6; 32]).ports);
    assert_ne!(one, first(&mut other, LOCAL, remote(1), 80));
}

#[test]
fn the_table_is_bounded() {
    let mut ports = ports(1_024..=65_535);
    assert_eq!(size_of_val(&*ports.counters), 128 << 10);
    let allocated = allocation_counter::measure(|| {
        for number in 0..10_000 {
            ports.pick(LOCAL, remote(number), 80, |_| true);
        }
    });
    assert_eq!(allocated.count_total, 0);
}
