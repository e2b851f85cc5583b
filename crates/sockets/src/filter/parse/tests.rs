use super::*;
use crate::filter::{HostNames, WellKnown};

/// Names of its own.
struct Invented;

impl Names for Invented {
    fn port(&self, service: &str) -> Option<u16> {
        (service == "mine").then_some(4711)
    }

    fn interface(&self, name: &str) -> Option<u32> {
        (name == "eth0").then_some(7)
    }
}

/// The expression as it is written in full.
fn read(text: &str) -> String {
    match parse(text, &WellKnown) {
        Ok((_, Some(expression))) => expression.to_string(),
        Ok((_, None)) => String::new(),
        Err(error) => panic!("{error}"),
    }
}

fn wrong(text: &str) -> String {
    parse(text, &WellKnown).expect_err(text).to_string()
}

#[test]
fn comparisons_of_ports() {
    for (text, full) in [
        ("sport = :443", "sport = :443"),
        ("sport 443", "sport = :443"),
        ("sport :https", "sport = :443"),
        ("sport eq https", "sport = :443"),
        ("sport == :443", "sport = :443"),
        ("dport != :22", "dport != :22"),
        ("dport ne :22", "dport != :22"),
        ("dport neq ssh", "dport != :22"),
        ("sport >= :1024", "sport >= :1024"),
        ("sport ge 1024", "sport >= :1024"),
        ("sport geq 1024", "sport >= :1024"),
        ("dport lt 1024", "dport < :1024"),
        ("dport<1024", "dport < :1024"),
        ("dport le 0", "dport <= :0"),
        ("dport leq 65535", "dport <= :65535"),
        ("dport gt 1", "dport > :1"),
        ("dport = :*", "dst *"),
        ("sport *", "src *"),
        ("sport != :*", "not src *"),
    ] {
        assert_eq!(read(text), full, "{text}");
    }
}

#[test]
fn addresses_with_and_without_ports() {
    for (text, full) in [
        ("dst 10.0.0.0/8", "dst 10.0.0.0/8"),
        ("dst 10/8", "dst 10.0.0.0/8"),
        ("dst 193.233.7/24", "dst 193.233.7.0/24"),
        ("src :443", "src :443"),
        ("src = :443", "src :443"),
        ("src *:443", "src :443"),
        ("src *", "src *"),
        ("src *:*", "src *"),
        ("src :*", "src *"),
        ("src any", "src *"),
        ("src all", "src *"),
        ("src default", "src *"),
        ("dst = any:443", "dst :443"),
        ("dst != any", "not dst *"),
        ("src inet:10.0.0.1", "src inet:10.0.0.1"),
        ("src inet:10/8", "src inet:10.0.0.0/8"),
        ("dst inet:10.0.0.1:https", "dst inet:10.0.0.1:443"),
        ("dst inet:any", "dst inet:*"),
        ("dst inet::443", "dst inet:*:443"),
        ("dst inet6:*", "dst inet6:*"),
        ("src inet6:[::1]:22", "src inet6:[::1]:22"),
        ("src inet6:2001:db8::/32", "src inet6:[2001:db8::/32]"),
        ("src != inet6:::1", "not src inet6:[::1]"),
        ("dst 10.0.0.1:https", "dst 10.0.0.1:443"),
        ("dst 10.0.0.1:*", "dst 10.0.0.1"),
        ("dst 10.0.0.0/8:ssh", "dst 10.0.0.0/8:22"),
        ("dst 10.0.0.1/32", "dst 10.0.0.1"),
        ("dst [2001:db8::1]:443", "dst [2001:db8::1]:443"),
        ("dst [2001:db8::/32]:443", "dst [2001:db8::/32]:443"),
        ("dst [2001:db8::]/32:443", "dst [2001:db8::/32]:443"),
        ("dst [2001:db8::]/32", "dst [2001:db8::/32]"),
        ("dst 2001:db8::/32", "dst [2001:db8::/32]"),
        ("dst ::1", "dst [::1]"),
        ("dst ::/0", "dst [::/0]"),
        ("dst ::ffff:1.2.3.4", "dst [::ffff:1.2.3.4]"),
        ("src != 10.0.0.1", "not src 10.0.0.1"),
        ("dev 3", "dev = 3"),
        ("dev != 3", "not dev = 3"),
        ("uid = 0", "uid = 0"),
        ("uid ne 4294967295", "not uid = 4294967295"),
    ] {
        assert_eq!(read(text), full, "{text}");
    }
}

#[test]
fn or_binds_less_than_and_which_binds_less_than_not() {
    for (text, full) in [
        ("sport 1 sport 2", "sport = :1 and sport = :2"),
        ("sport 1 and sport 2", "sport = :1 and sport = :2"),
        ("sport 1&&sport 2&sport 3", "sport = :1 and sport = :2 and sport = :3"),
        (
            "sport 1 or sport 2 | sport 3||sport 4",
            "sport = :1 or sport = :2 or sport = :3 or sport = :4",
        ),
        ("sport 1 or sport 2 sport 3", "sport = :1 or sport = :2 and sport = :3"),
        ("(sport 1 or sport 2) sport 3", "( sport = :1 or sport = :2 ) and sport = :3"),
        ("not sport 1 sport 2", "not sport = :1 and sport = :2"),
        ("!(sport 1 sport 2)", "not ( sport = :1 and sport = :2 )"),
        ("not not ! sport 1", "not not not sport = :1"),
        ("((((sport 1))))", "sport = :1"),
        ("( sport 1 and sport 2 ) and sport 3", "( sport = :1 and sport = :2 ) and sport = :3"),
    ] {
        assert_eq!(read(text), full, "{text}");
    }
    let or_last = parse("sport 1 or sport 2 sport 3", &WellKnown).expect("valid").1;
    assert!(matches!(or_last, Some(Expression::Any(parts)) if parts.len() == 2));
}

#[test]
fn names_are_asked_for() {
    let read = |text| parse(text, &Invented).map(|(_, expression)| expression.expect("one"));
    let port = |number| Expression::Term(Term::Port(End::Local, Comparison::Equal, number));
    assert_eq!(read("sport = :mine"), Ok(port(4711)));
    assert_eq!(read("dev eth0"), Ok(Expression::Term(Term::Interface(7))));
    for text in ["sport = :https", "src :https", "dev eth1", "uid = mine"] {
        assert!(read(text).is_err(), "{text}");
    }
    let host = HostNames::of_services("mine 4711/tcp");
    assert!(parse("src :mine", &host).is_ok() && parse("dst :ssh", &host).is_ok());
}

#[test]
fn states_come_first() {
    let states = |text: &str| parse(text, &WellKnown).expect(text).0;
    let of = |states: &[State]| Some(states.iter().fold(States::NONE, |all, one| all.with(*one)));
    let bits = |states: Option<States>| states.map(States::bits);
    for (text, expected) in [
        ("", None),
        ("sport 1", None),
        ("state established", of(&[State::Established])),
        ("state ESTAB sport 1", of(&[State::Established])),
        ("state listen state unconn", of(&[State::Listen, State::Close])),
        ("state closed", of(&[State::Close])),
        ("state unconnected", of(&[State::Close])),
        ("state syn-rcv", of(&[State::SynReceived])),
        ("state bucket", of(&[State::SynReceived, State::TimeWait])),
        ("state all exclude connected", of(&[State::Listen, State::Close])),
        ("exclude connected state last-ack", of(&[State::Listen, State::Close, State::LastAck])),
        ("excl big exclude time-wait", of(&[State::SynReceived])),
        ("state connected exclude synchronized", of(&[State::SynSent])),
        ("exclude all", Some(States::NONE)),
    ] {
        assert_eq!(bits(states(text)), bits(expected), "{text}");
    }
    for state in State::ALL {
        let read = parse(&format!("state {}", state_name(state)), &WellKnown);
        let read = read.ok().and_then(|(states, _)| bits(states));
        let expected = bits(of(&[state])).filter(|_| state != State::BoundInactive);
        assert_eq!(read, expected, "{state:?}");
    }
}

#[test]
fn the_error_shows_the_place() {
    assert_eq!(
        wrong("sport = x"),
        "filter: expected a port after \"sport =\" at column 9, found \"x\"\n\
         \x20 sport = x\n\
         \x20         ^"
    );
    assert_eq!(
        wrong("sport ="),
        "filter: expected a port after \"sport =\" at column 8, found the end\n\
         \x20 sport =\n\
         \x20        ^"
    );
    assert_eq!(
        wrong("sport 1 and dst 10.0.0.0/33:22"),
        "filter: expected how many bits of the address count after \"dst\" at column 26, \
         found \"33:22\"\n\
         \x20 sport 1 and dst 10.0.0.0/33:22\n\
         \x20                          ^"
    );
}

#[test]
fn what_is_no_filter() {
    for (text, expected, column) in [
        ("sport = 65536", "a port after \"sport =\"", 9),
        ("sport = +1", "a port after \"sport =\"", 9),
        ("sport = 10.0.0.1:22", "a port", 9),
        ("src example.org", "hosts by name are not looked up", 5),
        ("src 10.0.0.256", "an address", 5),
        ("src 10.0.0.1.2", "an address", 5),
        ("src 10.0.0", "an address", 5),
        ("src 10.0.0.1:", "a port", 14),
        ("src 10.0.0.1:nothing", "a port", 14),
        ("src 10.0.0.1/", "how many bits", 14),
        ("src 10.0.0.1/+8", "how many bits", 14),
        ("src ::1/129", "how many bits", 9),
        ("src [::1", "a ] at the end", 9),
        ("src [10.0.0.1]", "an IPv6 address", 6),
        ("src [::1]x", "a : and a port, or the end", 10),
        ("src [::1/64]/64", "a : and a port, or the end", 13),
        ("src *x", "a : and a port, or the end", 6),
        ("sport < :*", "a port after \"sport <\"", 9),
        ("sport >= *", "a port after \"sport >=\"", 10),
        ("src anyone", "hosts by name are not looked up", 5),
        ("src any/8", "an address", 5),
        ("src anyx:1", "an address", 5),
        ("src inet:", "an IPv4 address after \"src\"", 10),
        ("src inet6:", "an IPv6 address", 11),
        ("src inet:[::1]", "an IPv4 address", 10),
        ("src inet6:10.0.0.1", "an IPv6 address", 11),
        ("src inet:10.0.0.1:nothing", "a port", 19),
        ("src inet6:[::1", "a ] at the end", 15),
        ("src inet:10.0.0.1/33", "how many bits", 19),
        ("src unix:x", "an address", 5),
        ("src", "an address after \"src\"", 4),
        ("src < 10.0.0.1", "= or != after \"src\"", 5),
        ("uid >= 1", "= or !=", 5),
        ("uid root", "a user id", 5),
        ("dev eth0", "the name or index of an interface", 5),
        ("( sport 1", "a ) for the ( of column 1", 10),
        ("sport 1 )", "and, or, or the end", 9),
        ("sport 1 or", "one of src", 11),
        ("or sport 1", "one of src", 1),
        ("()", "one of src", 2),
        ("sport 1 443", "and, or, or another", 9),
        ("state", "one of all", 6),
        ("state up", "one of all", 7),
        ("state established and sport 1", "one of src", 19),
        ("sport 1 state established", "states in front", 9),
        ("autobound", "one of src", 1),
        ("é = 1", "one of src", 1),
        ("sport é", "a port", 7),
    ] {
        let error = parse(text, &WellKnown).expect_err(text);
        let shown = error.to_string();
        assert!(error.expected().contains(expected), "{text}: {shown}");
        assert!(shown.contains(&format!(" at column {column}, ")), "{text}: {shown}");
    }
}

#[test]
fn what_would_steer_a_terminal_is_escaped() {
    for (text, ending) in [
        ("sport\t=\tx", "column 9, found \"x\"\n  sport\\t=\\tx\n            ^"),
        ("sport\n= \u{1b}[31m", "found \"\\u{1b}[31m\"\n  sport\\n= \\u{1b}[31m\n           ^"),
        ("\u{1b}\u{7} x", "column 1, found \"\\u{1b}\\u{7}\"\n  \\u{1b}\\u{7} x\n  ^"),
        ("uid\n=\u{202e}é\"", "found \"\\u{202e}é\"\"\n  uid\\n=\\u{202e}é\"\n        ^"),
    ] {
        let shown = wrong(text);
        assert!(shown.ends_with(ending), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown}");
    }
}

#[test]
fn of_a_long_filter_only_the_place_is_shown() {
    let text = format!("{}sport = {} or sport 2", "sport 1 or ".repeat(100), "x".repeat(500));
    let shown = wrong(&text);
    assert!(shown.contains("at column 1109, "), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() < 130), "{shown}");
    let lines: Vec<&str> = shown.lines().collect();
    let mark = lines[2].find('^').expect("a mark");
    assert_eq!(lines[1].chars().nth(mark), Some('x'), "{shown}");
    assert_eq!(lines[1].chars().nth(mark - 1), Some(' '), "{shown}");
}

#[test]
fn length_and_depth_have_bounds() {
    let longest = "sport 1 ".repeat(TEXT_BYTES_MAX / 8);
    assert!(parse(&longest, &WellKnown).is_ok());
    let shown = wrong(&format!("{longest} "));
    assert!(shown.contains("the end after 4096 bytes at column 4097"), "{shown}");
    assert!(wrong(&"é".repeat(4000)).contains("at column 2049"));
    for opening in ["(", "not ", "!", "( not "] {
        let levels = opening.split_whitespace().count();
        let closing = |count| ")".repeat(count * opening.matches('(').count());
        let nested = |count| format!("{}sport 1{}", opening.repeat(count), closing(count));
        assert!(parse(&nested(DEPTH_MAX / levels), &WellKnown).is_ok(), "{opening}");
        let shown = wrong(&nested(DEPTH_MAX / levels + 1));
        assert!(shown.contains("at most 100 levels of not and ("), "{shown}");
        let _ = wrong(&opening.repeat(TEXT_BYTES_MAX / opening.len()));
    }
}
