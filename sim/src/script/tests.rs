use portolan_wire::tcp::Flags;

use super::*;
use crate::host::Kind;

/// The stack that somebody else wrote: these are tests of the player.
const PEER: &str = "host kind smoltcp\nlisten 80\n< S 0(0) win 8192 <mss 1460>\n";

#[test]
fn a_segment_is_read_whole() {
    let text =
        "+1.5s < b: P. 101(20) ack -3 win 512 <mss 1460, ts 7 last, sack 1:2 =5:6, ...> ecn 3";
    let script = Script::parse(text).expect("it is a step");
    let [(1, when, Step::Sends(name, pattern))] = script.steps.as_slice() else {
        panic!("{:?}", script.steps);
    };
    assert_eq!((when.first_us, when.last_us, name.as_str()), (1_500_000, 1_500_000, "b"));
    let options = vec![
        OptionPattern::Mss(Some(1_460)),
        OptionPattern::Timestamps(Some(7), None),
        OptionPattern::Sack(vec![
            (Number::Relative(1), Number::Relative(2)),
            (Number::Absolute(5), Number::Relative(6)),
        ]),
    ];
    let expected = Pattern {
        flags: Some(Flags::PSH | Flags::ACK),
        sequence: Number::Relative(101),
        length: Some(20),
        acknowledgment: Number::Relative(-3),
        window: Some(512),
        options: Some(options),
        and_others: true,
        ecn: Some(3),
        ..Pattern::default()
    };
    assert_eq!(*pattern, expected);
}

#[test]
fn what_cannot_be_read_is_told_by_its_line() {
    for wrong in ["dance", "+5 listen 80", "< X 0(0)", "< S 0", "> S 0(0) <mss>", "state UP"] {
        let error = Script::parse(&format!("# a comment\n\n{wrong}\n")).expect_err(wrong);
        assert_eq!(error.line, 3, "{error}");
    }
    assert!(Script::parse("host colour 5").is_err());
    let script = Script::parse("ipv6\nhost kind smoltcp\nhost mtu 1280").expect("a setup");
    assert_eq!((script.ipv6, script.setup.kind, script.setup.mtu), (true, Kind::Smoltcp, 1_280));
}

#[test]
fn a_handshake_goes_as_written() {
    let rest = "> S. 0(0) ack 1\n< . 1(0) ack 1\naccept\nstate ESTABLISHED\n< P. 1(5) ack 1\n\
                read 5\n+0..500ms > . 1(0) ack 6\nread nothing\n+1s silence\n< R 6(0)\n";
    assert_eq!(mismatch(rest), None);
}

#[test]
fn every_difference_is_found() {
    let differs = [
        ("> S. 0(0) ack 2", 4, "acknowledgment"),
        ("> S 0(0)", 4, "flags"),
        ("> S. 1(0) ack 1", 4, "sequence"),
        ("> S. 0(1) ack 1", 4, "1 bytes expected"),
        ("> S. 0(0) ack 1 win 3", 4, "window 3"),
        ("> S. 0(0) ack 1 <mss 5, ...>", 4, "option"),
        ("> S. 0(0) ack 1 <>", 4, "no option but"),
        ("silence", 4, "unexpected"),
        ("> S. 0(0) ack 1\n> . 1(0) ack 1", 5, "sent nothing"),
        ("+1ms > S. 0(0) ack 1", 4, "too early"),
        ("> S. 0(0) ack 1\naccept", 5, "accepted nothing"),
        ("> S. 0(0) ack 1\n< . 1(0) ack 1\naccept\nread 1", 7, "Nothing after 0"),
        ("> S. 0(0) ack 1\n+2s < . 1(0) ack 1", 5, "unexpected"),
    ];
    for (rest, line, what) in differs {
        let found = mismatch(rest).expect(rest);
        assert_eq!(found.line, line, "{rest}: {found}");
        assert!(found.what.contains(what), "{rest}: {found}");
    }
}

fn mismatch(rest: &str) -> Option<Mismatch> {
    let script = Script::parse(&format!("{PEER}{rest}")).expect("a script");
    play(&script).mismatch
}
