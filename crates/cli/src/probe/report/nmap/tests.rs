use super::*;
use crate::probe::report::sample::{HOSTILE, closed, open};

#[test]
fn ports_are_listed_as_ranges() {
    assert_eq!(ranges([]), "");
    assert_eq!(ranges([80]), "80");
    assert_eq!(ranges([1, 2, 3, 4, 5, 22, 80, 81]), "1-5,22,80-81");
    assert_eq!(ranges([0, 65_534, 65_535]), "0,65534-65535");
    assert_eq!(ranges([22, 22, 23]), "22-23");
    assert_eq!(ranges(0..=u16::MAX), "0-65535");
}

#[test]
fn verdicts_become_states_that_readers_know() {
    assert_eq!(Outcome::of(&open("10.0.0.1:22")), Outcome::SynAck);
    let refused = closed("10.0.0.1:22");
    assert_eq!(Outcome::of(&refused).reason(), "reset");
    let refused = Finding { method: MethodName::Connect, ..refused };
    assert_eq!(Outcome::of(&refused).reason(), "conn-refused");
    for (verdict, state, reason) in [
        (Verdict::Filtered, "filtered", "no-response"),
        (Verdict::Unreachable(Reason::Network), "filtered", "net-unreach"),
        (Verdict::Unreachable(Reason::Host), "filtered", "host-unreach"),
        (Verdict::Unreachable(Reason::Protocol), "filtered", "proto-unreach"),
        (Verdict::Unreachable(Reason::Port), "filtered", "port-unreach"),
        (Verdict::Unreachable(Reason::Prohibited), "filtered", "admin-prohibited"),
        (Verdict::Unreachable(Reason::HopLimit), "filtered", "time-exceeded"),
        (Verdict::Error(13), "unknown", "localhost-response"),
    ] {
        let outcome = Outcome::of(&Finding { verdict, ..refused });
        assert_eq!((outcome.state().name(), outcome.reason()), (state, reason));
        assert!(Outcome::ALL.contains(&outcome));
    }
}

#[test]
fn names_become_one_word() {
    let mut out = Vec::new();
    word("db-1.example", &mut out);
    word(HOSTILE, &mut out);
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(text.starts_with("db-1.examplea\"><b>&'\\u{a}\\u{9}\\u{0}\\u{1b}[2J\\u{28}x\\u{29}"));
    assert!(!text.contains(char::is_whitespace));
}
