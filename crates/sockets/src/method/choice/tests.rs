use std::sync::Arc;

use super::*;
use crate::{Details, Filter};

fn wish(query: &Query, again: bool) -> Wish<'_> {
    Wish { query, owners: false, again }
}

#[test]
fn what_is_read_again_and_again_is_walked() {
    let query = Query::all(Transport::Tcp);
    let choice = choose(&wish(&query, true)).expect("one works");
    assert_eq!(choice.method, MethodName::Walk, "{:?}", choice.passed_over);
    assert!(choice.passed_over.is_empty());
}

#[test]
fn what_is_read_once_is_worth_loading_a_program_only_if_it_is_much() {
    let query = Query::all(Transport::Tcp);
    let choice = choose(&wish(&query, false)).expect("one works");
    assert_eq!(choice.method, MethodName::Diag, "few sockets are open here");
    assert!(matches!(choice.passed_over[..], [(MethodName::Walk, PassedOver::NotWorthIt)]));
}

#[test]
fn a_method_that_tells_less_than_asked_is_not_chosen() {
    let details = Details { tcp_info: true, ..Details::default() };
    let query = Query { details, ..Query::all(Transport::Tcp) };
    let choice = choose(&wish(&query, true)).expect("one works");
    assert_eq!(choice.method, MethodName::Diag);
    assert!(matches!(choice.passed_over[..], [(MethodName::Walk, PassedOver::TellsTooLittle)]));
}

#[test]
fn filters_and_rare_states_are_left_to_the_kernel() {
    let filter = Some(Arc::new(Filter::parse("sport = :443").expect("a filter")));
    let states = States::NONE.with(State::CloseWait);
    for query in [
        Query { filter, ..Query::all(Transport::Tcp) },
        Query { states, ..Query::all(Transport::Tcp) },
        Query::all(Transport::Udp),
    ] {
        assert!(!is_worth_loading(&wish(&query, false)));
    }
}

#[test]
fn connections_are_counted_as_the_kernel_tells_them() {
    let v4 = "sockets: used 299\nTCP: inuse 12 orphan 9 tw 3 alloc 13 mem 1\nUDP: inuse 4 mem 0\n";
    assert_eq!(count(v4), 15);
    assert_eq!(count("TCP6: inuse 7\nUDP6: inuse 2\n"), 7);
    assert_eq!(count("TCP: inuse\nTCP: inuse x tw 2\n"), 2);
    assert_eq!(count(""), 0);
}
