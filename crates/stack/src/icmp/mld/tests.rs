use std::{vec, vec::Vec};

use portolan_wire::mld::Extended;

use super::*;
use crate::random::Keys;

fn group(nth: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, nth)
}

fn listener(groups: u16, seed: u64) -> Listener {
    let random = Random::new(&Keys::new([7; 32]), seed);
    Listener::new((0..groups).map(group), random, Instant::ZERO)
}

/// One that has told at the start what there is to tell.
fn settled(groups: u16, seed: u64) -> (Listener, Instant) {
    let mut listener = listener(groups, seed);
    while let Some(at) = listener.deadline() {
        while listener.pop(at).is_some() {}
    }
    (listener, at(10_000))
}

fn at(millis: u64) -> Instant {
    Instant::from_micros(millis * 1_000)
}

const EXTENDED: Extended<'static> =
    Extended { suppresses: false, robustness: 2, interval_code: 125, sources: &[] };

fn query(group: Ipv6Addr, response_code: u16) -> Query<'static> {
    Query { extended: Some(EXTENDED), response_code, group }
}

fn query_v1(group: Ipv6Addr, response_code: u16) -> Query<'static> {
    Query { extended: None, response_code, group }
}

const ALL: Ipv6Addr = Ipv6Addr::UNSPECIFIED;

type Told = (Version, bool, Vec<Ipv6Addr>);

fn told(report: &Report) -> Told {
    (report.version, report.is_change, report.groups[..report.count].to_vec())
}

/// All that is told from now on, and when.
fn run(listener: &mut Listener) -> Vec<(Instant, Told)> {
    let mut all = Vec::new();
    while let Some(at) = listener.deadline() {
        assert!(all.len() < 1_000, "it never ends");
        while let Some(report) = listener.pop(at) {
            all.push((at, told(&report)));
        }
    }
    all
}

/// RFC 3810, sections 6.1, 9.1 and 9.11.
#[test]
fn joins_are_told_twice_within_a_second() {
    let mut second = Vec::new();
    for seed in 0..100 {
        let all = run(&mut listener(2, seed));
        let news = (Version::Two, true, vec![group(0), group(1)]);
        assert_eq!(
            all.iter().map(|(_, told)| told.clone()).collect::<Vec<_>>(),
            [news.clone(), news]
        );
        assert_eq!(all[0].0, Instant::ZERO);
        second.push(all[1].0);
    }
    assert!(second.iter().all(|moment| *moment <= at(1_000)), "{second:?}");
    assert!(second.iter().max() > second.iter().min(), "not all hosts at once");
    assert_eq!(run(&mut listener(0, 1)), [], "no group, no report");
}

/// RFC 3810, section 6.2: once, at a moment of its own.
#[test]
fn a_query_for_all_is_answered_within_its_time() {
    let mut moments = Vec::new();
    for seed in 0..100 {
        let (mut listener, now) = settled(3, seed);
        listener.handle_query(&query(ALL, 10_000), now);
        let first = listener.deadline().unwrap();
        // Further ones make it no later, and no more.
        listener.handle_query(&query(ALL, 10_000), now);
        listener.handle_query(&query(ALL, 30_000), now);
        assert!(listener.deadline().unwrap() <= first);
        let all = run(&mut listener);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].1, (Version::Two, false, vec![group(0), group(1), group(2)]));
        assert!(all[0].0 >= now && all[0].0 <= now + Duration::from_secs(10), "{:?}", all[0].0);
        moments.push(all[0].0.since(now));
    }
    let late = moments.iter().filter(|moment| **moment > Duration::from_secs(2)).count();
    assert!((10..90).contains(&late), "they are spread: {moments:?}");
}

/// RFC 3810, section 6.2, rules 3 to 5.
#[test]
fn a_query_for_a_group_is_answered_for_that_alone() {
    let (mut listener, now) = settled(3, 1);
    listener.handle_query(&query(group(1), 1_000), now);
    listener.handle_query(&query(group(9), 1_000), now);
    let sources = [[7; 16]; 2];
    let extended = Extended { sources: &sources, ..EXTENDED };
    let for_sources = Query { extended: Some(extended), ..query(group(2), 1_000) };
    listener.handle_query(&for_sources, now);
    let mut all: Vec<_> = run(&mut listener).into_iter().flat_map(|(_, (.., all))| all).collect();
    all.sort_unstable();
    assert_eq!(all, [group(1), group(2)]);
}

/// RFC 3810, section 6.2.
#[test]
fn who_asks_without_end_gets_ten_answers_a_second() {
    for which in [ALL, group(0)] {
        let (mut listener, begin) = settled(2, 1);
        let mut reports = 0;
        for millis in 0..10_000 {
            let now = begin + Duration::from_millis(millis);
            listener.handle_query(&query(which, 0), now);
            while listener.pop(now).is_some() {
                reports += 1;
            }
        }
        assert!((90..=101).contains(&reports), "{reports}");
    }
}

/// RFC 3810, section 8.2.1; RFC 2710, section 4.
#[test]
fn routers_of_version_1_are_answered_in_it_for_a_while() {
    let (mut listener, now) = settled(3, 1);
    listener.handle_query(&query_v1(ALL, 1_000), now);
    // Another host tells one of the groups first.
    listener.handle_report(group(1), now);
    let all = run(&mut listener);
    let mut groups: Vec<_> = all
        .iter()
        .map(|(at, (version, is_change, groups))| {
            assert!(*at <= now + Duration::from_millis(1_200), "{at:?}");
            assert_eq!((*version, *is_change, groups.len()), (Version::One, false, 1));
            groups[0]
        })
        .collect();
    groups.sort_unstable();
    assert_eq!(groups, [group(0), group(2)]);
    for (later, version) in [(250, Version::One), (252, Version::Two)] {
        let now = now + Duration::from_secs(later);
        listener.handle_query(&query(group(0), 0), now);
        let report = listener.pop(now + Duration::from_millis(1)).unwrap();
        assert_eq!(report.version, version, "after {later} s");
    }
    // Of version 2, each host tells.
    let now = now + Duration::from_secs(260);
    listener.handle_query(&query(group(0), 0), now);
    listener.handle_report(group(0), now);
    assert!(listener.pop(now + Duration::from_millis(1)).is_some());
}

/// An MTU of 1,280 takes 61 records.
#[test]
fn many_groups_go_in_several_reports() {
    let mut listener = listener(64, 1);
    let first = listener.pop(Instant::ZERO).unwrap();
    let second = listener.pop(Instant::ZERO).unwrap();
    assert_eq!((first.count, second.count), (61, 3));
    assert!(first.is_change && second.is_change);
    assert_eq!(listener.pop(Instant::ZERO), None);
    let mut buffer = Vec::new();
    assert_eq!(first.write(Ipv6Addr::UNSPECIFIED, &mut buffer), Ok(ALL_ROUTERS));
    assert!(40 + buffer.len() <= 1_280, "{}", buffer.len());
}

/// RFC 3590, section 4.
#[test]
fn what_was_told_without_an_address_is_told_again_with_one() {
    let (mut listener, now) = settled(1, 1);
    listener.address_is_usable(now);
    assert_eq!(listener.deadline(), None);
    listener.is_anonymous();
    listener.address_is_usable(now);
    assert_eq!(run(&mut listener).len(), 2);
}
