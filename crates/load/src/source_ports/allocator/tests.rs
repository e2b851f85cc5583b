use std::collections::BTreeSet;

use proptest::{
    prelude::{Just, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest},
    strategy::Strategy as Generated,
};

use super::*;

const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn destination() -> SocketAddr {
    SocketAddr::new(LOOPBACK, 80)
}

fn host(reserved: &[RangeInclusive<u16>], listening: &[u16]) -> Host {
    Host { ephemeral: 1..=65_535, reserved: reserved.into(), listening: listening.into() }
}

fn choice(strategy: Strategy, ports: RangeInclusive<u16>) -> Choice {
    Choice { strategy, why: String::new(), ports, binds_address: false }
}

fn explicit(ports: RangeInclusive<u16>, host: &Host) -> (SourcePorts, PairId) {
    let mut ports = SourcePorts::new(&choice(Strategy::Explicit, ports), host, 0, 1);
    let pair = ports.pair(LOOPBACK, destination(), 0);
    (ports, pair)
}

fn port(lease: &Lease) -> u16 {
    match lease.source() {
        Source::Port(source) => source.port(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_port_comes_again_after_all_others() {
    let (mut ports, _) = explicit(10..=13, &host(&[12..=12], &[]));
    let pair = ports.pair(LOOPBACK, destination(), 4);
    let mut next = || {
        let lease = ports.take(pair).unwrap();
        let port = port(&lease);
        ports.give_back(lease, End::TimeWait);
        port
    };
    let handed: Vec<u16> = (0..7).map(|_| next()).collect();
    assert_eq!(handed, [11, 13, 10, 11, 13, 10, 11]);
}

#[test]
fn what_was_just_closed_comes_last_wherever_it_is() {
    let (mut ports, pair) = explicit(10..=19, &host(&[], &[]));
    let mut held: Vec<Lease> = (0..5).map(|_| ports.take(pair).unwrap()).collect();
    let (kept, given) = (held.remove(0), held);
    for lease in given {
        ports.give_back(lease, End::TimeWait);
    }
    // Of all that was never used, the first; and what was reset may come in its turn.
    let next = ports.take(pair).unwrap();
    assert_eq!(port(&next), 15);
    ports.give_back(next, End::Free);
    let rest: Vec<u16> = std::iter::from_fn(|| ports.take(pair)).map(|it| port(&it)).collect();
    assert_eq!(rest, [16, 17, 18, 19, 15, 11, 12, 13, 14]);
    assert_eq!(port(&kept), 10);
}

#[test]
fn what_is_taken_is_skipped_and_comes_last() {
    let (mut ports, pair) = explicit(10..=13, &host(&[], &[11]));
    let first = ports.take(pair).unwrap();
    assert_eq!(port(&first), 10);
    ports.give_back(first, End::Conflict);
    let rest: Vec<u16> = std::iter::from_fn(|| ports.take(pair)).map(|it| port(&it)).collect();
    assert_eq!(rest[..2], [12, 13]);
    assert_eq!(BTreeSet::from_iter(rest[2..].iter()), BTreeSet::from([&10, &11]));
    assert_eq!(ports.occupancy(pair), Occupancy { in_use: 4, free: 0, conflicts: 1 });
}

#[test]
fn pairs_do_not_know_of_each_other() {
    let (mut ports, pair) = explicit(10..=11, &host(&[], &[]));
    let other = ports.pair(LOOPBACK, SocketAddr::new(LOOPBACK, 81), 0);
    let held: Vec<Lease> = (0..2).map(|_| ports.take(pair).unwrap()).collect();
    assert!(ports.take(pair).is_none());
    assert_eq!(ports.pairs().count(), 1, "nothing is held of a pair that was not used");
    assert!(ports.take(other).is_some());
    assert_eq!(ports.total(), Occupancy { in_use: 3, free: 1, conflicts: 0 });
    assert_eq!(held.len(), 2);
}

#[test]
fn nobody_connects_with_itself() {
    let (mut ports, pair) = explicit(79..=81, &host(&[], &[]));
    let handed: Vec<u16> = std::iter::from_fn(|| ports.take(pair)).map(|it| port(&it)).collect();
    assert_eq!(handed, [79, 81]);
    let elsewhere = ports.pair("127.0.0.2".parse().unwrap(), destination(), 0);
    assert_eq!(std::iter::from_fn(|| ports.take(elsewhere)).count(), 3);
}

#[test]
fn none_is_none() {
    let (mut ports, pair) = explicit(10..=13, &host(&[0..=20], &[]));
    assert_eq!((ports.ports(), ports.take(pair)), (0, None));
}

#[test]
fn the_kernel_gets_a_few_ports_to_choose_from_and_the_next_few_when_they_are_used() {
    let choice = choice(Strategy::Range, 1_000..=1_129);
    let mut ports = SourcePorts::new(&choice, &host(&[], &[]), 0, 1);
    let pair = ports.pair(LOOPBACK, destination(), 0);
    let within = |lease: &Lease| match lease.source() {
        Source::Within(None, ports) => ports.clone(),
        other => panic!("{other:?}"),
    };
    let mut held: Vec<Lease> = (0..130).map(|_| ports.take(pair).unwrap()).collect();
    assert!(ports.take(pair).is_none());
    assert_eq!(within(&held[0]), 1_000..=1_063);
    assert_eq!(held.iter().filter(|it| within(it) == (1_064..=1_127)).count(), 64);
    assert_eq!(within(&held[129]), 1_128..=1_129);
    ports.give_back(held.remove(70), End::Free);
    assert_eq!(within(&ports.take(pair).unwrap()), 1_064..=1_127);
    assert!(ports.take(pair).is_none());
}

#[test]
fn short_connections_do_not_stay_within_the_same_few_ports() {
    let choice = choice(Strategy::Range, 1_000..=1_191);
    let mut ports = SourcePorts::new(&choice, &host(&[], &[]), 0, 1);
    let pair = ports.pair(LOOPBACK, destination(), 0);
    let mut handed = Vec::new();
    for _ in 0..64 * 7 {
        let lease = ports.take(pair).unwrap();
        let Source::Within(None, within) = lease.source() else { panic!("{lease:?}") };
        handed.push(*within.start());
        ports.give_back(lease, End::TimeWait);
    }
    let turns: Vec<u16> = handed.chunks(64).map(|turn| turn[0]).collect();
    assert!(handed.chunks(64).all(|turn| turn.iter().all(|first| *first == turn[0])));
    assert_eq!(turns, [1_000, 1_064, 1_128, 1_000, 1_064, 1_128, 1_000]);
}

#[test]
fn what_the_kernel_finds_full_is_left_for_the_next() {
    let mut ports =
        SourcePorts::new(&choice(Strategy::Range, 1_000..=1_127), &host(&[], &[]), 0, 1);
    let pair = ports.pair(LOOPBACK, destination(), 0);
    let first = ports.take(pair).unwrap();
    ports.give_back(first, End::Conflict);
    let next = ports.take(pair).unwrap();
    assert_eq!(next.source(), &Source::Within(None, 1_064..=1_127));
}

#[test]
fn what_the_kernel_does_is_counted() {
    let mut choice = choice(Strategy::Kernel, 1_000..=1_099);
    choice.binds_address = true;
    let mut ports = SourcePorts::new(&choice, &host(&[], &[]), 1, 2);
    let pair = ports.pair(LOOPBACK, destination(), 0);
    let lease = ports.take(pair).unwrap();
    assert_eq!(lease.source(), &Source::Kernel(Some(LOOPBACK)));
    assert_eq!(ports.occupancy(pair), Occupancy { in_use: 1, free: 49, conflicts: 0 });
    ports.give_back(lease, End::TimeWait);
    assert_eq!(ports.occupancy(pair).in_use, 0);
}

/// What a test does with an allocator.
#[derive(Clone, Copy, Debug)]
enum Step {
    Take,
    GiveBack(usize, End),
}

fn steps() -> impl Generated<Value = Vec<Step>> {
    let end = prop_oneof![Just(End::Free), Just(End::TimeWait), Just(End::Conflict)];
    let give = (any::<usize>(), end).prop_map(|(nth, end)| Step::GiveBack(nth, end));
    prop::collection::vec(prop_oneof![2 => Just(Step::Take), 1 => give], 1..600)
}

proptest! {
    #[test]
    fn a_port_is_in_use_once_never_reserved_and_none_is_none(
        first in 1_u16..60_000,
        more in 0_u16..300,
        reserved in prop::collection::vec((0_u16..300, 0_u16..20), 0..4),
        listening in prop::collection::btree_set(0_u16..300, 0..10),
        anywhere: u32,
        steps in steps(),
    ) {
        let reserved: Vec<_> =
            reserved.iter().map(|(at, more)| first + at..=first + at + more).collect();
        let listening: Vec<u16> = listening.iter().map(|at| first + at).collect();
        let all: BTreeSet<u16> = (first..=first + more)
            .filter(|port| !reserved.iter().any(|taken| taken.contains(port)) && *port != 80)
            .collect();
        let host = host(&reserved, &listening);
        let (mut ports, _) = explicit(first..=first + more, &host);
        let pair = ports.pair(LOOPBACK, destination(), anywhere);
        let (mut held, mut in_use) = (Vec::new(), BTreeSet::new());
        let (mut conflicts, mut looked_at) = (0, 0);
        for step in steps {
            match step {
                Step::Take => match ports.take(pair) {
                    Some(lease) => {
                        let port = port(&lease);
                        prop_assert!(all.contains(&port), "{port} is not to be had");
                        prop_assert!(in_use.insert(port), "{port} is in use");
                        held.push(lease);
                    }
                    None => prop_assert_eq!(&in_use, &all, "there is one"),
                },
                Step::GiveBack(nth, end) if !held.is_empty() => {
                    let lease = held.swap_remove(nth % held.len());
                    in_use.remove(&port(&lease));
                    conflicts += u64::from(end == End::Conflict);
                    ports.give_back(lease, end);
                }
                Step::GiveBack(..) => {}
            }
            if !matches!(step, Step::Take) || ports.pairs().next().is_none() {
                continue;
            }
            let now = ports.looked_at(pair);
            // Each take looks at so many words at most, whatever is in use.
            prop_assert!(now - looked_at <= 600 * 12);
            looked_at = now;
        }
        let occupancy = ports.occupancy(pair);
        prop_assert_eq!((occupancy.in_use, occupancy.conflicts), (in_use.len() as u64, conflicts));
        // Everything comes back.
        for lease in held {
            ports.give_back(lease, End::TimeWait);
        }
        let again: BTreeSet<u16> =
            std::iter::from_fn(|| ports.take(pair)).map(|it| port(&it)).collect();
        prop_assert_eq!(again, all);
    }

    #[test]
    fn workers_share_a_range_without_meeting(
        first in 1_u16..60_000, more in 0_u16..2_000, of in 1_usize..5, anywhere: u32,
    ) {
        let range = first..=first + more;
        let mut seen = BTreeSet::new();
        for nth in 0..of {
            let choice = choice(Strategy::Explicit, range.clone());
            let mut ports = SourcePorts::new(&choice, &host(&[], &[]), nth, of);
            let pair = ports.pair("127.0.0.9".parse().unwrap(), destination(), anywhere);
            for lease in std::iter::from_fn(|| ports.take(pair)) {
                prop_assert!(seen.insert(port(&lease)));
            }
        }
        prop_assert!(seen.into_iter().eq(range));
    }

    #[test]
    fn parts_of_a_range_are_the_range(
        first in 1_u16..60_000, more in 8_u16..5_000, of in 1_usize..9,
    ) {
        let range = first..=first + more;
        let parts = (0..of).flat_map(|nth| share_range(&range, nth, of));
        prop_assert!(parts.eq(range.clone()));
    }
}

#[test]
fn each_take_looks_at_a_few_words_however_many_ports_are_in_use() {
    let (mut ports, pair) = explicit(1..=65_535, &host(&[], &[]));
    let mut held: Vec<Lease> = std::iter::from_fn(|| ports.take(pair)).collect();
    assert_eq!(held.len(), 65_534);
    // The worst: one port at a time, far from where the last one was.
    let mut most = 0;
    for nth in 0..10_000_usize {
        let at = nth.wrapping_mul(40_503) % held.len();
        let lease = held.swap_remove(at);
        ports.give_back(lease, if nth % 2 == 0 { End::TimeWait } else { End::Free });
        let before = ports.looked_at(pair);
        held.push(ports.take(pair).unwrap());
        // The two bitmaps are exchanged in between, so their sum is what counts.
        most = most.max(ports.looked_at(pair) - before);
    }
    assert!(most <= 12, "{most}");
}
