use portolan_flow::Transport;

use super::*;
use crate::Details;
use crate::{Filter, State, States};

#[test]
fn what_is_asked_for_is_laid_out_as_the_programs_read_it() {
    let states = States::NONE.with(State::Listen).with(State::Established);
    let details = Details { holder: true, timer: true, ..Details::NONE };
    let query = Query { states, details, ..Query::all(Transport::Udp) };
    let Asked(bytes) = Asked::new(&query);
    assert_eq!(bytes[0..4], (1_u32 << 10 | 1 << 1).to_ne_bytes());
    assert_eq!(bytes[4..8], 10_u32.to_ne_bytes());
    let tick_ns = u64::from_ne_bytes(bytes[8..16].try_into().expect("eight bytes"));
    // CONFIG_HZ is 100, 250, 300 or 1000, and not much else.
    assert!((1_000_000..=10_000_000).contains(&tick_ns), "{tick_ns}");
}

fn want(query: &Query) -> u32 {
    let Asked(bytes) = Asked::new(query);
    u32::from_ne_bytes(bytes[4..8].try_into().expect("four bytes"))
}

/// Or it would be compared with 0.
#[test]
fn what_a_filter_looks_at_is_asked_for_too() {
    let filter = |text| Filter::parse(text).map(Into::into).ok();
    let query =
        |text| Query { details: Details::NONE, filter: filter(text), ..Query::all(Transport::Tcp) };
    assert_eq!(want(&query("uid = 65534")), 2);
    let states = query("state listening");
    assert_eq!(want(&states), 0);
    let Asked(bytes) = Asked::new(&states);
    assert_eq!(bytes[0..4], (1_u32 << 10).to_ne_bytes());
}

#[test]
fn each_detail_is_asked_for_by_a_bit_of_its_own() {
    let want = |details| want(&Query { details, ..Query::all(Transport::Tcp) });
    assert_eq!(want(Details::NONE), 0);
    assert_eq!(want(Details { queues: true, ..Details::NONE }), 1);
    assert_eq!(want(Details { holder: true, ..Details::NONE }), 2);
    assert_eq!(want(Details { cookie: true, ..Details::NONE }), 4);
    assert_eq!(want(Details { timer: true, ..Details::NONE }), 8);
    // What no program tells.
    assert_eq!(want(Details { tcp_info: true, memory: true, ..Details::NONE }), 0);
}

#[test]
fn a_read_that_was_cut_short_is_tried_again() {
    let mut answers = vec![
        Ok(7),
        Err(io::ErrorKind::Interrupted.into()),
        Err(io::ErrorKind::WouldBlock.into()),
        Err(io::ErrorKind::WouldBlock.into()),
    ];
    assert_eq!(persist(|| answers.pop().expect("is asked no more")).expect("in the end"), 7);
    assert!(answers.is_empty());
}

#[test]
fn but_not_for_ever_and_not_for_other_reasons() {
    let mut reads = 0;
    let error = persist(|| {
        reads += 1;
        Err(io::ErrorKind::WouldBlock.into())
    });
    assert_eq!(error.expect_err("no end").kind(), io::ErrorKind::WouldBlock);
    assert_eq!(reads, ATTEMPTS);
    let error = persist(|| Err(io::ErrorKind::OutOfMemory.into()));
    assert_eq!(error.expect_err("at once").kind(), io::ErrorKind::OutOfMemory);
}
