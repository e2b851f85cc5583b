use portolan_flow::{Flow, Totals, Traffic};
use proptest::{collection::vec, prelude::*};

use crate::{
    metrics::account::Account,
    sample::{flow, process, remote},
};

/// An edge within this host with this traffic.
fn inside(active: Totals, passive: Totals) -> Flow {
    let flow = flow(process("app", "10.0.0.1"), process("db", "10.0.0.1"), 80);
    Flow { traffic: Some(Box::new(Traffic { span_ms: 1_000, active, passive })), ..flow }
}

/// An edge to another host.
fn outward(active: Totals) -> Flow {
    let flow = flow(process("app", "10.0.0.1"), remote("10.0.0.2"), 80);
    let traffic = Traffic { span_ms: 1_000, active, passive: Totals::default() };
    Flow { traffic: Some(Box::new(traffic)), ..flow }
}

/// An edge from another host.
fn inward(passive: Totals) -> Flow {
    let flow = flow(remote("10.0.0.2"), process("db", "10.0.0.1"), 80);
    let traffic = Traffic { span_ms: 1_000, active: Totals::default(), passive };
    Flow { traffic: Some(Box::new(traffic)), ..flow }
}

fn sent(bytes_sent: u64) -> Totals {
    Totals { bytes_sent, ..Totals::default() }
}

fn received(bytes_received: u64) -> Totals {
    Totals { bytes_received, ..Totals::default() }
}

#[test]
fn what_is_under_way_between_two_readings_counts_once() {
    let mut account = Account::default();
    account.add(&inside(sent(100), received(60)));
    assert_eq!(account.bytes(), [100, 0]);
    account.add(&inside(sent(0), received(40)));
    assert_eq!(account.bytes(), [100, 0]);
    account.add(&inside(sent(10), received(10)));
    assert_eq!(account.bytes(), [110, 0]);
}

#[test]
fn directions_are_those_of_the_client() {
    let mut account = Account::default();
    account.add(&outward(Totals { bytes_sent: 1, bytes_received: 2, ..Totals::default() }));
    account.add(&inward(Totals { bytes_sent: 10, bytes_received: 20, ..Totals::default() }));
    assert_eq!(account.bytes(), [21, 12]);
    let datagrams = Totals { datagrams_sent: 3, datagrams_received: 4, ..Totals::default() };
    account.add(&inward(datagrams));
    account.add(&outward(datagrams));
    assert_eq!(account.datagrams(), [7, 7]);
}

#[test]
fn connections_count_by_the_ends_that_are_here() {
    let opened = |opened| Totals { opened, ..Totals::default() };
    let mut account = Account::default();
    assert_eq!(account.opened().map(|(_, count)| count), [None; 3]);
    account.add(&outward(opened(2)));
    account.add(&inward(opened(3)));
    account.add(&inside(opened(4), opened(4)));
    assert_eq!(account.opened(), [("client", Some(2)), ("server", Some(3)), ("both", Some(4))]);
}

#[test]
fn a_mean_has_its_parts_from_one_end() {
    let rtt = |rtt_us_sum, rtt_samples| Totals { rtt_us_sum, rtt_samples, ..Totals::default() };
    let mut account = Account::default();
    account.add(&inside(rtt(100, 1), rtt(900, 9)));
    assert_eq!(account.rtt(), [100, 1]);
    account.add(&inside(Totals::default(), rtt(50, 2)));
    assert_eq!(account.rtt(), [150, 3]);
    let ended = |closed, duration_us_sum| Totals { closed, duration_us_sum, ..Totals::default() };
    account.add(&inside(ended(1, 500), ended(1, 490)));
    account.add(&outward(ended(2, 7)));
    assert_eq!(account.duration(), [507, 3]);
}

fn totals() -> impl Strategy<Value = Totals> {
    vec(0..1_000_u64, 15).prop_map(|counts| {
        let mut totals = Totals::default();
        totals.counts_mut().into_iter().zip(counts).for_each(|(count, any)| *count = any);
        totals
    })
}

/// Every number that is told as one that only goes up.
fn told(account: &Account) -> Vec<u64> {
    let mut all =
        [account.bytes(), account.datagrams(), account.duration(), account.rtt()].concat();
    all.extend(account.opened().map(|(_, count)| count.unwrap_or(0)));
    all.extend(account.failed().map(|(_, count)| count));
    all.extend([account.resets(), account.retransmits()]);
    all
}

proptest! {
    #[test]
    fn nothing_that_is_told_goes_down(readings in vec((0..3_u8, totals(), totals()), 1..20)) {
        let mut account = Account::default();
        for (kind, one, other) in readings {
            let before = told(&account);
            account.add(&match kind {
                0 => inside(one, other),
                1 => outward(one),
                _ => inward(other),
            });
            let after = told(&account);
            prop_assert!(before.iter().zip(&after).all(|(before, after)| before <= after));
        }
    }
}
