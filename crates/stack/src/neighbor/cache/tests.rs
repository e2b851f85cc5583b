use super::*;
use crate::random::{Keys, Random};

const ONE: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(192, 0, 2, 1));
const MAC: ethernet::Address = ethernet::Address([2, 0, 0, 0, 0, 1]);
const OTHER: ethernet::Address = ethernet::Address([2, 0, 0, 0, 0, 2]);
const ANSWER: Evidence = Evidence::Answer { overrides: true };

fn cache(limit: usize) -> Cache {
    Cache::new(limit, Keyed::new(&mut Random::new(&Keys::new([1; 32]), 0)))
}

fn at(seconds: u64) -> Instant {
    Instant::from_micros(seconds * 1_000_000)
}

fn address(which: u32) -> IpAddr {
    IpAddr::from(which.to_be_bytes())
}

#[test]
fn a_neighbour_is_asked_answers_and_ages() {
    let mut cache = cache(16);
    assert_eq!(cache.lookup(ONE, at(1)), Lookup::Wait { is_new: true });
    assert_eq!(cache.lookup(ONE, at(1)), Lookup::Wait { is_new: false });
    assert_eq!(cache.deadline(), Some(at(2)));
    assert_eq!(cache.pop(at(2)), Some(Action::Solicit { address: ONE, hardware: None }));
    assert_eq!(cache.pop(at(2)), None);
    assert!(cache.learn(ONE, MAC, ANSWER, at(2)), "packets can go");
    assert_eq!(cache.lookup(ONE, at(31)), Lookup::Hardware(MAC));
    assert_eq!(cache.deadline(), None, "reachable");
    assert_eq!(cache.lookup(ONE, at(32)), Lookup::Hardware(MAC));
    assert_eq!(cache.deadline(), Some(at(37)), "delay");
    let probe = Action::Solicit { address: ONE, hardware: Some(MAC) };
    for second in [37, 38, 39] {
        assert_eq!(cache.pop(at(second)), Some(probe));
        assert_eq!(cache.lookup(ONE, at(second)), Lookup::Hardware(MAC));
    }
    assert_eq!(cache.pop(at(40)), None);
    assert_eq!(cache.lookup(ONE, at(40)), Lookup::Wait { is_new: true }, "it is gone");
}

#[test]
fn an_answer_to_a_probe_ends_the_doubt() {
    let mut cache = cache(16);
    cache.learn(ONE, MAC, Evidence::Request, at(1));
    assert_eq!(cache.lookup(ONE, at(1)), Lookup::Hardware(MAC));
    assert!(cache.pop(at(6)).is_some());
    assert!(cache.is_asked(ONE));
    cache.learn(ONE, MAC, ANSWER, at(6));
    assert_eq!((cache.deadline(), cache.is_asked(ONE)), (None, false));
}

/// RFC 4861, section 7.2.5 and appendix C.
#[test]
fn another_address_needs_the_override_flag() {
    let known = |state: &str| {
        let mut cache = cache(16);
        cache.lookup(ONE, at(1));
        cache.learn(ONE, MAC, ANSWER, at(1));
        if state == "stale" {
            cache.learn(ONE, OTHER, Evidence::Announcement { overrides: true }, at(1));
            cache.learn(ONE, MAC, Evidence::Announcement { overrides: true }, at(1));
        }
        cache
    };
    for (state, evidence, expected, is_sure) in [
        ("reachable", Evidence::Answer { overrides: false }, MAC, false),
        ("reachable", Evidence::Announcement { overrides: false }, MAC, false),
        ("reachable", Evidence::Answer { overrides: true }, OTHER, true),
        ("reachable", Evidence::Announcement { overrides: true }, OTHER, false),
        ("reachable", Evidence::Request, OTHER, false),
        ("stale", Evidence::Answer { overrides: false }, MAC, false),
        ("stale", Evidence::Answer { overrides: true }, OTHER, true),
        ("stale", Evidence::Request, OTHER, false),
    ] {
        let mut cache = known(state);
        assert!(!cache.learn(ONE, OTHER, evidence, at(2)));
        assert_eq!(cache.lookup(ONE, at(2)), Lookup::Hardware(expected), "{state} {evidence:?}");
        assert_eq!(cache.deadline().is_none(), is_sure, "{state} {evidence:?}");
    }
    // The same address again changes nothing but by an answer.
    let mut cache = known("reachable");
    cache.learn(ONE, MAC, Evidence::Announcement { overrides: true }, at(2));
    cache.lookup(ONE, at(2));
    assert_eq!(cache.deadline(), None);
}

#[test]
fn strangers_make_no_entries() {
    let mut cache = cache(16);
    for which in 0..100 {
        cache.learn(address(which), MAC, ANSWER, at(1));
        cache.learn(address(which), MAC, Evidence::Announcement { overrides: true }, at(1));
    }
    assert_eq!(cache.len(), 0);
    for which in 0..100 {
        cache.learn(address(which), MAC, Evidence::Request, at(1));
    }
    assert_eq!(cache.len(), 4, "a part of the table");
}

#[test]
fn who_is_not_there_takes_half_of_the_table() {
    let mut cache = cache(16);
    let asked = |lookup| lookup == Lookup::Wait { is_new: true };
    let count = (0..100).filter(|which| asked(cache.lookup(address(*which), at(1)))).count();
    assert_eq!(count, 8);
    let mut given_up = 0;
    for second in 2..10 {
        while let Some(action) = cache.pop(at(second)) {
            given_up += usize::from(matches!(action, Action::GiveUp { .. }));
        }
    }
    assert_eq!(given_up, 8);
    assert_eq!(cache.deadline(), None);
    let count = (100..200).filter(|which| asked(cache.lookup(address(*which), at(10)))).count();
    assert_eq!(count, 8, "there is room again");
}

#[test]
fn who_is_in_use_stays() {
    let mut cache = cache(16);
    cache.lookup(ONE, at(1));
    cache.learn(ONE, MAC, ANSWER, at(1));
    for which in 0..1_000 {
        cache.lookup(ONE, at(2));
        let other = address(which);
        assert_ne!(cache.lookup(other, at(2)), Lookup::Full, "{which}");
        cache.learn(other, OTHER, ANSWER, at(2));
        assert!(cache.len() <= 16);
    }
    assert_eq!(cache.lookup(ONE, at(2)), Lookup::Hardware(MAC));
}

#[test]
fn timers_and_counts_are_those_of_the_entries() {
    let mut cache = cache(8);
    let mut random = Random::new(&Keys::new([5; 32]), 0);
    let mut now = at(1);
    for _ in 0..20_000 {
        let one = address(random.below(20));
        let evidence = match random.below(4) {
            0 => Evidence::Request,
            1 => Evidence::Announcement { overrides: random.below(2) == 0 },
            _ => Evidence::Answer { overrides: random.below(2) == 0 },
        };
        match random.below(4) {
            0 => drop(cache.lookup(one, now)),
            1 => drop(cache.learn(one, MAC, evidence, now)),
            2 => drop(cache.pop(now)),
            _ => now += Duration::from_millis(random.below(3_000).into()),
        }
        let count = |is: fn(&State) -> bool| cache.entries.iter().filter(|e| is(&e.state)).count();
        assert_eq!(cache.incomplete, count(|state| matches!(state, State::Incomplete(_))));
        let timed =
            |state: &State| matches!(state, State::Incomplete(_) | State::Delay | State::Probe(_));
        assert_eq!(cache.timers.len(), count(timed));
        assert_eq!(cache.free.len(), count(|state| *state == State::Free));
        assert_eq!(cache.len() + cache.free.len(), cache.entries.len());
        assert!(cache.entries.len() <= 8);
    }
}
