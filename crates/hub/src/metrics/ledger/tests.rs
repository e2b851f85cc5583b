use std::time::Duration;

use portolan_flow::{End, Flow, Totals, Traffic};
use proptest::{collection::vec, prelude::*, sample::select};

use super::{Interval, Ledger, MapUse, Settings};
use crate::{
    metrics::addresses::Addresses,
    sample::{counted, flow, process, remote},
};

const HOUR_MS: u64 = 3_600_000;

fn opened(opened: u64) -> Totals {
    Totals { opened, ..Totals::default() }
}

/// A reading of one edge to this port.
fn edge(port: u16) -> Flow {
    counted(flow(process("app", "10.0.0.1"), remote("10.0.0.2"), port), opened(1))
}

fn add(ledger: &mut Ledger, flows: &[Flow], now_ms: u64) {
    ledger.add(&Interval { flows, now_ms, ..Interval::default() });
}

/// Each series by one of its labels, and the connections that came up.
fn opened_by(ledger: &Ledger, label: &str) -> Vec<(String, u64)> {
    let of = |entry: &super::Entry| {
        let found = entry.labels.iter().find(|one| one.name == label);
        let text = found.map_or_else(String::new, |label| label.text.to_string());
        (text, entry.account.opened().iter().filter_map(|(_, count)| *count).sum())
    };
    ledger.copy().0.iter().map(of).collect()
}

#[test]
fn counters_add_up_over_readings() {
    let mut ledger = Ledger::new(Settings::default(), 0);
    add(&mut ledger, &[edge(80), edge(81)], 1_000);
    add(&mut ledger, &[edge(80)], 2_000);
    let expected = [("80".to_owned(), 2), ("81".to_owned(), 1)];
    assert_eq!(opened_by(&ledger, "server.port"), expected);
    let (entries, own) = ledger.copy();
    assert_eq!((own.intervals, own.last_ms, own.series), (2, 2_000, 2));
    assert_eq!(entries[0].start_ms, 0, "it began after the interval before");
}

#[test]
fn connections_that_are_up_are_those_of_the_last_reading() {
    let mut ledger = Ledger::new(Settings::default(), 0);
    let up = flow(process("app", "10.0.0.1"), remote("10.0.0.2"), 80);
    add(&mut ledger, &[up.clone(), up], 1_000);
    assert_eq!(ledger.copy().0[0].account.active, 2);
    add(&mut ledger, &[], 2_000);
    assert_eq!(ledger.copy().0[0].account.active, 0);
}

#[test]
fn what_finds_no_room_is_counted_in_one_more() {
    let settings = Settings { series_max: 2, ..Settings::default() };
    let mut ledger = Ledger::new(settings, 0);
    for port in [80, 81, 82, 83, 80] {
        add(&mut ledger, &[edge(port)], 1_000);
    }
    let expected =
        [("10.0.0.1".to_owned(), 2), ("10.0.0.1".to_owned(), 1), ("other".to_owned(), 2)];
    assert_eq!(opened_by(&ledger, "client.address"), expected);
    let (entries, own) = ledger.copy();
    assert_eq!((own.folded, own.series, own.series_max), (2, 2, 2));
    let labels: Vec<_> = entries[2].labels.iter().map(|label| &*label.text).collect();
    assert_eq!(labels, ["other", "other"]);
}

#[test]
fn no_series_at_all_is_one_series() {
    let mut ledger = Ledger::new(Settings { series_max: 0, ..Settings::default() }, 0);
    add(&mut ledger, &[edge(80), edge(81)], 1_000);
    assert_eq!(opened_by(&ledger, "client.address"), [("other".to_owned(), 2)]);
}

#[test]
fn idle_series_make_room_and_begin_again_at_0() {
    let settings = Settings { series_max: 1, ..Settings::default() };
    let mut ledger = Ledger::new(settings, 0);
    add(&mut ledger, &[edge(80)], 1_000);
    add(&mut ledger, &[], 1_000 + HOUR_MS);
    assert_eq!(opened_by(&ledger, "server.port"), [("80".to_owned(), 1)], "not longer than that");
    add(&mut ledger, &[], 1_001 + HOUR_MS);
    assert_eq!(opened_by(&ledger, "server.port"), []);
    assert_eq!((ledger.copy().1.dropped, ledger.copy().1.series), (1, 0));
    add(&mut ledger, &[edge(81)], 2_000 + HOUR_MS);
    assert_eq!(opened_by(&ledger, "server.port"), [("81".to_owned(), 1)], "there was room");
    assert_eq!(ledger.copy().0[0].start_ms, 1_001 + HOUR_MS);
    let day = 24 * HOUR_MS;
    add(&mut ledger, &[], day);
    add(&mut ledger, &[edge(80)], day + 1);
    assert_eq!(opened_by(&ledger, "server.port"), [("80".to_owned(), 1)], "not 2");
}

#[test]
fn a_connection_that_stays_up_keeps_its_series() {
    let idle = Duration::from_secs(10);
    let mut ledger = Ledger::new(Settings { idle, ..Settings::default() }, 0);
    let up = flow(process("app", "10.0.0.1"), remote("10.0.0.2"), 80);
    for second in 1..60 {
        add(&mut ledger, std::slice::from_ref(&up), second * 1_000);
    }
    assert_eq!(ledger.copy().1.series, 1);
    let mut history = up;
    (history.active, history.passive) = Default::default();
    for second in 60..80 {
        add(&mut ledger, std::slice::from_ref(&history), second * 1_000);
    }
    assert_eq!(ledger.copy().1.series, 0, "history is not traffic");
}

#[test]
fn a_clock_that_jumps_does_no_harm() {
    let mut ledger = Ledger::new(Settings::default(), 9_000);
    add(&mut ledger, &[edge(80)], 1_000);
    add(&mut ledger, &[edge(80)], u64::MAX);
    add(&mut ledger, &[edge(80)], 500);
    let (entries, _) = ledger.copy();
    assert!(entries.iter().all(|entry| entry.start_ms <= 1_000));
}

#[test]
fn losses_add_up_by_reason_and_reasons_are_bounded() {
    let mut ledger = Ledger::new(Settings::default(), 0);
    let names: Vec<String> = (0..100).map(|n| format!("reason_{n}")).collect();
    let losses: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
    for now_ms in [1_000, 2_000] {
        let map = Some(MapUse { entries: now_ms, capacity: 10 });
        ledger.add(&Interval { losses: &losses, map, now_ms, ..Interval::default() });
    }
    let own = ledger.copy().1;
    assert_eq!(own.losses.values().sum::<u64>(), 200);
    assert_eq!(own.losses["reason_0"], 2);
    assert_eq!(own.losses.len(), 65);
    assert_eq!(own.map, Some(MapUse { entries: 2_000, capacity: 10 }));
}

#[test]
fn what_the_method_had_no_room_for_is_a_series_of_its_own() {
    let mut ledger = Ledger::new(Settings::default(), 0);
    let overflow = Totals { opened: 7, bytes_sent: 100, ..Totals::default() };
    ledger.add(&Interval { overflow: Some(&overflow), now_ms: 1, ..Interval::default() });
    assert_eq!(opened_by(&ledger, "client.address"), [("overflow".to_owned(), 7)]);
    assert!(!ledger.copy().0[0].has_sides);
}

fn ends() -> impl Strategy<Value = End> {
    let addresses = ["10.0.0.1", "10.0.0.2", "192.0.2.1", "203.0.113.9", "2001:db8::1"].to_vec();
    (select(&["app", "db", "\n"]), select(addresses), any::<bool>()).prop_map(
        |(name, address, is_seen)| if is_seen { process(name, address) } else { remote(address) },
    )
}

fn totals() -> impl Strategy<Value = Totals> {
    vec(prop_oneof![Just(0), 1..1_000_u64], 15).prop_map(|counts| {
        let mut totals = Totals::default();
        totals.counts_mut().into_iter().zip(counts).for_each(|(count, any)| *count = any);
        totals
    })
}

prop_compose! {
    fn flows()(
        client in ends(),
        server in ends(),
        port in 1..6_u16,
        active in totals(),
        passive in totals(),
        side in 0..3_u8,
    ) -> Flow {
        let [active, passive] = match side {
            0 => [active, Totals::default()],
            1 => [Totals::default(), passive],
            _ => [active, passive],
        };
        let traffic = Some(Box::new(Traffic { span_ms: 1_000, active, passive }));
        Flow { traffic, ..flow(client, server, port) }
    }
}

/// All that all series have, each end for itself, without what is only the average's.
fn all_parts(ledger: &Ledger) -> [Totals; 2] {
    let mut sums = [Totals::default(); 2];
    for entry in ledger.copy().0 {
        for (sum, part) in sums.iter_mut().zip(entry.account.parts()) {
            sum.add(&part);
        }
    }
    sums.map(without_rtt)
}

fn without_rtt(totals: Totals) -> Totals {
    Totals { rtt_us_sum: 0, rtt_samples: 0, ..totals }
}

proptest! {
    #[test]
    fn sums_over_all_series_are_those_of_the_readings(
        readings in vec(vec(flows(), 0..12), 1..6),
        series_max in 0..12_usize,
        width in select(&[0, 16, 24, 32]),
    ) {
        let rule = format!("0.0.0.0/0=/{width}").parse().expect("a rule");
        let addresses = Addresses::with(&[rule]);
        let mut ledger =
            Ledger::new(Settings { series_max, addresses, ..Settings::default() }, 0);
        let mut expected = [Totals::default(); 2];
        let mut once = Totals::default();
        let mut active = 0;
        for (second, flows) in (1..).zip(&readings) {
            add(&mut ledger, flows, second * 1_000);
            active = flows.iter().map(Flow::connections).sum();
            for traffic in flows.iter().filter_map(|flow| flow.traffic.as_deref()) {
                expected[0].add(&traffic.active);
                expected[1].add(&traffic.passive);
                once.add(&traffic.counted_once().active);
            }
        }
        prop_assert_eq!(all_parts(&ledger), expected.map(without_rtt));
        let (entries, own) = ledger.copy();
        prop_assert!(entries.len() <= series_max + 1);
        prop_assert_eq!(entries.iter().map(|entry| entry.account.active).sum::<u64>(), active);
        prop_assert_eq!(usize::try_from(own.series).ok(), Some(ledger.index.len()));
        let sum = |of: fn(&super::Account) -> u64| -> u64 {
            entries.iter().map(|entry| of(&entry.account)).sum()
        };
        prop_assert_eq!(sum(|account| account.rtt()[1]), once.rtt_samples);
        prop_assert_eq!(sum(super::Account::retransmits), once.retransmits);
        // Never more than all readings for themselves would tell, never less than one end saw.
        prop_assert!(sum(|account| account.bytes()[0]) <= once.bytes_sent);
        prop_assert!(sum(|account| account.bytes()[0]) >= expected[0].bytes_sent);
        prop_assert!(sum(|account| account.bytes()[1]) >= expected[0].bytes_received);
    }

    #[test]
    fn where_both_ends_agree_each_thing_counts_exactly_once(
        readings in vec(vec((flows(), any::<bool>()), 0..12), 1..6),
        series_max in 0..12_usize,
    ) {
        let mut ledger = Ledger::new(Settings { series_max, ..Settings::default() }, 0);
        let mut once = Totals::default();
        for (second, flows) in (1..).zip(readings) {
            let flows = flows.into_iter().map(|(flow, both)| agreeing(flow, both));
            let flows: Vec<Flow> = flows.collect();
            add(&mut ledger, &flows, second * 1_000);
            for traffic in flows.iter().filter_map(|flow| flow.traffic.as_deref()) {
                once.add(&traffic.counted_once().active);
            }
        }
        let mut told = Totals::default();
        for entry in ledger.copy().0 {
            told.add(&as_totals(&entry.account));
        }
        prop_assert_eq!(told, once);
    }
}

/// The same flow as both of its ends see it, or as the one does that is here.
fn agreeing(mut flow: Flow, both: bool) -> Flow {
    let Some(traffic) = &mut flow.traffic else { return flow };
    let mut once = Totals { retransmits: 0, ..traffic.counted_once().active };
    // A mean of nothing has no sum.
    once.rtt_us_sum *= u64::from(once.rtt_samples > 0);
    once.duration_us_sum *= u64::from(once.closed > 0);
    let mirrored = Totals {
        bytes_sent: once.bytes_received,
        bytes_received: once.bytes_sent,
        datagrams_sent: once.datagrams_received,
        datagrams_received: once.datagrams_sent,
        ..once
    };
    (traffic.active, traffic.passive) = match (&flow.client.namespace, &flow.server.namespace) {
        (Some(_), Some(_)) => (once, mirrored),
        _ if both => (once, Totals::default()),
        _ => (Totals::default(), mirrored),
    };
    flow
}

/// What is told of an account, as the client's end would have counted it.
fn as_totals(account: &super::Account) -> Totals {
    let [bytes_sent, bytes_received] = account.bytes();
    let [datagrams_sent, datagrams_received] = account.datagrams();
    let [refused, timed_out, unreachable, abandoned] = account.failed().map(|(_, count)| count);
    let [duration_us_sum, closed] = account.duration();
    let [rtt_us_sum, rtt_samples] = account.rtt();
    Totals {
        opened: account.opened().iter().filter_map(|(_, count)| *count).sum(),
        closed,
        resets: account.resets(),
        refused,
        timed_out,
        unreachable,
        abandoned,
        bytes_sent,
        bytes_received,
        datagrams_sent,
        datagrams_received,
        retransmits: account.retransmits(),
        rtt_us_sum,
        rtt_samples,
        duration_us_sum,
    }
}
