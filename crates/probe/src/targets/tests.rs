use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::{Hosts, Target, TargetError, TargetProblem, parse_file};
use crate::{ports::PortsProblem, space::Ranges};

fn services(name: &str) -> Option<u16> {
    match name {
        "http" => Some(80),
        "https" => Some(443),
        "http-alt" => Some(8080),
        _ => None,
    }
}

fn parse(text: &str) -> Result<Target, TargetError> {
    Target::parse(text, &services)
}

/// The ranges, the zone and the port, as text.
fn shown(text: &str) -> String {
    let target = parse(text).unwrap_or_else(|error| panic!("{error}"));
    let ranges: Vec<String> =
        target.hosts.ranges().map(|range| format!("{}-{}", range.first(), range.last())).collect();
    let zone = target.hosts.zone().map(|zone| format!(" %{zone}")).unwrap_or_default();
    let port = target.port.map(|port| format!(" :{port}")).unwrap_or_default();
    let name = match target.hosts {
        Hosts::Name(name) => name,
        _ => String::new(),
    };
    format!("{name}{}{zone}{port}", ranges.join(" "))
}

fn problem(text: &str) -> TargetProblem {
    parse(text).expect_err(text).problem
}

#[test]
fn addresses_are_read() {
    assert_eq!(shown("10.0.0.1"), "10.0.0.1-10.0.0.1");
    assert_eq!(shown(" 10.0.0.1 "), "10.0.0.1-10.0.0.1");
    assert_eq!(shown("2001:db8::1"), "2001:db8::1-2001:db8::1");
    assert_eq!(shown("[::1]"), "::1-::1");
    assert_eq!(shown("::"), "::-::");
    assert_eq!(shown("::ffff:10.0.0.1"), "::ffff:10.0.0.1-::ffff:10.0.0.1");
}

#[test]
fn a_network_may_have_host_bits() {
    assert_eq!(shown("10.0.0.77/24"), "10.0.0.0-10.0.0.255");
    assert_eq!(shown("10.0.0.77/32"), "10.0.0.77-10.0.0.77");
    assert_eq!(shown("10.0.0.77/0"), "0.0.0.0-255.255.255.255");
    assert_eq!(shown("2001:db8::5/120"), "2001:db8::-2001:db8::ff");
    assert_eq!(shown("::/0"), "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
}

#[test]
fn ranges_are_read_in_both_forms() {
    assert_eq!(shown("10.0.0.1-10.0.1.50"), "10.0.0.1-10.0.1.50");
    assert_eq!(shown("10.0.0.1-50"), "10.0.0.1-10.0.0.50");
    assert_eq!(shown("2001:db8::1-2001:db8::ff"), "2001:db8::1-2001:db8::ff");
    assert_eq!(shown("10.0.0.7-10.0.0.7"), "10.0.0.7-10.0.0.7");
}

#[test]
fn lists_of_octets_are_as_few_ranges_as_can_be() {
    assert_eq!(shown("10.0.0.1,5,9"), "10.0.0.1-10.0.0.1 10.0.0.5-10.0.0.5 10.0.0.9-10.0.0.9");
    assert_eq!(shown("10.0.0.9,1-3,2-4"), "10.0.0.1-10.0.0.4 10.0.0.9-10.0.0.9");
    assert_eq!(shown("10.0.0-1.1-254"), "10.0.0.1-10.0.0.254 10.0.1.1-10.0.1.254");
    assert_eq!(shown("10.0-3.*.*"), "10.0.0.0-10.3.255.255");
    assert_eq!(shown("1,3.*.*.*"), "1.0.0.0-1.255.255.255 3.0.0.0-3.255.255.255");
    assert_eq!(shown("*.*.*.*"), "0.0.0.0-255.255.255.255");
    assert_eq!(
        shown("1,2.3,5.0.7"),
        "1.3.0.7-1.3.0.7 1.5.0.7-1.5.0.7 2.3.0.7-2.3.0.7 2.5.0.7-2.5.0.7"
    );
    let target = parse("10.0.*.1").unwrap();
    assert_eq!(target.hosts.ranges().count(), 256);
    assert_eq!(target.to_string(), "10.0.*.1");
}

#[test]
fn an_open_octet_range_goes_to_the_end_as_in_nmap() {
    assert_eq!(shown("10.0.0.-9"), "10.0.0.0-10.0.0.9");
    assert_eq!(shown("10.0.0.250-"), "10.0.0.250-10.0.0.255");
    assert_eq!(shown("10.0.0.-"), "10.0.0.0-10.0.0.255");
}

#[test]
fn every_form_may_have_a_port() {
    assert_eq!(shown("10.0.0.1:80"), "10.0.0.1-10.0.0.1 :80");
    assert_eq!(shown("10.0.0.0/24:80"), "10.0.0.0-10.0.0.255 :80");
    assert_eq!(shown("10.0.0.1-50:http"), "10.0.0.1-10.0.0.50 :80");
    assert_eq!(shown("10.0.0.1-10.0.0.9:443"), "10.0.0.1-10.0.0.9 :443");
    assert_eq!(shown("10.0.0.1,3:443"), "10.0.0.1-10.0.0.1 10.0.0.3-10.0.0.3 :443");
    assert_eq!(shown("[2001:db8::1]:80"), "2001:db8::1-2001:db8::1 :80");
    assert_eq!(shown("[2001:db8::/120]:80"), "2001:db8::-2001:db8::ff :80");
    assert_eq!(shown("[2001:db8::1-2001:db8::9]:http"), "2001:db8::1-2001:db8::9 :80");
    assert_eq!(shown("server.example:65535"), "server.example :65535");
    assert_eq!(shown("server.example:http-alt"), "server.example :8080");
}

#[test]
fn without_brackets_the_end_of_an_ipv6_address_is_no_port() {
    assert_eq!(shown("2001:db8::1:80"), "2001:db8::1:80-2001:db8::1:80");
}

#[test]
fn a_zone_is_kept_as_text() {
    assert_eq!(shown("fe80::1%eth0"), "fe80::1-fe80::1 %eth0");
    assert_eq!(shown("[fe80::1%3]:80"), "fe80::1-fe80::1 %3 :80");
    assert_eq!(shown("fe80::%br-lan.7/120"), "fe80::-fe80::ff %br-lan.7");
    assert_eq!(shown("fe80::1-fe80::9%eth0"), "fe80::1-fe80::9 %eth0");
    for text in ["fe80::%br-lan.7/120", "fe80::1-fe80::9%eth0", "[fe80::%eth0/120]:80"] {
        assert_eq!(parse(text).unwrap().to_string(), text);
    }
    assert_eq!(problem("fe80::1%"), TargetProblem::Zone("\"\"".to_owned()));
    assert_eq!(problem("fe80::1%eth0:80"), TargetProblem::Zone("\"eth0:80\"".to_owned()));
    assert!(matches!(problem("fe80::1%sixteen-letters-"), TargetProblem::Zone(_)));
    assert!(matches!(problem("fe80::1%eth0-fe80::9"), TargetProblem::Zone(_)));
    assert_eq!(problem("2001:db8::1%eth0"), TargetProblem::NotLinkLocal("eth0".to_owned()));
    assert!(matches!(problem("fe80::1-fec0::1%eth0"), TargetProblem::NotLinkLocal(_)));
}

#[test]
fn names_are_left_to_the_resolver() {
    for name in ["localhost", "a", "server.example.", "_tcp_1.example", "10-0-0-1.example", "1a"] {
        assert_eq!(shown(name), name);
    }
    let longest = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(61));
    assert_eq!(shown(&longest), longest);
    assert_eq!(problem(&format!("{longest}b")), TargetProblem::Name);
    assert_eq!(problem(&"a".repeat(64)), TargetProblem::Label);
    assert_eq!(problem("a..b"), TargetProblem::Label);
    assert_eq!(problem(".."), TargetProblem::Label);
    assert_eq!(problem("-a.example"), TargetProblem::Hyphen);
    assert_eq!(problem("a-.example"), TargetProblem::Hyphen);
    assert_eq!(problem("b\u{fc}cher.example"), TargetProblem::Character('\u{fc}'));
    assert_eq!(problem("a,b"), TargetProblem::Character(','));
    assert_eq!(problem("server.example/24"), TargetProblem::Character('/'));
}

#[test]
fn no_name_is_what_a_resolver_takes_for_an_address() {
    for text in ["0x7f000001", "0X7F.1", "a.1", "127.0.0.1.", "server.0x"] {
        assert_eq!(problem(text), TargetProblem::NumberedName, "{text}");
    }
}

#[test]
fn wrong_addresses_are_not_taken_for_names() {
    for text in ["127.1", "10.0.0", "10.0.0.1.5", "10", "10.0.0/24", "010.0.0.1/8", "1.2.3.4/"] {
        let found = problem(text);
        let expected = matches!(found, TargetProblem::Ipv4 | TargetProblem::Prefix { .. });
        assert!(expected, "{text}: {found}");
    }
    for text in ["10.0.0.256", "010.0.0.1", "10.0.0.9-1", "10.0..1", "1.2.3.4,", "1.2.3.**"] {
        assert!(matches!(problem(text), TargetProblem::Octet(_)), "{text}");
    }
    for text in ["1.2.3.4/33", "1.2.3.4/a", "1.2.3.4/+8", "1.2.3.4/255.0.0.0", "::/129", "::/"] {
        assert!(matches!(problem(text), TargetProblem::Prefix { .. }), "{text}");
    }
    for text in ["1:2", "a:b:c", "2001:db8::1-ff", "2001:db8:::", "[2001:db8]:80"] {
        assert!(parse(text).is_err(), "{text}");
    }
    assert_eq!(problem("10.0.0.9-10.0.0.1"), TargetProblem::Reversed);
    assert_eq!(problem("::9-::1"), TargetProblem::Reversed);
    assert_eq!(problem("10.0.0.1-9/24"), TargetProblem::RangeAndPrefix);
    assert_eq!(problem("::1-::9/64"), TargetProblem::RangeAndPrefix);
}

#[test]
fn brackets_and_ports_that_are_wrong_are_refused() {
    assert_eq!(problem("[::1"), TargetProblem::Bracket);
    assert_eq!(problem("[::1]80"), TargetProblem::AfterBracket);
    assert_eq!(problem("[10.0.0.1]:80"), TargetProblem::Brackets);
    assert_eq!(problem("10.0.0.1:"), TargetProblem::Port(PortsProblem::Empty));
    assert_eq!(problem("10.0.0.1:0"), TargetProblem::Port(PortsProblem::Zero));
    assert_eq!(problem("a:22,80"), TargetProblem::Port(PortsProblem::Several));
    assert_eq!(problem("a:22-80"), TargetProblem::Port(PortsProblem::Several));
    let high = TargetProblem::Port(PortsProblem::TooHigh("\"65536\"".to_owned()));
    assert_eq!(problem("a:65536"), high);
    let unknown = TargetProblem::Port(PortsProblem::Service("\"gopher\"".to_owned()));
    assert_eq!(problem("a:gopher"), unknown);
    assert_eq!(problem(""), TargetProblem::Empty);
    assert_eq!(problem(":80"), TargetProblem::Empty);
    assert_eq!(problem(&"a".repeat(5000)), TargetProblem::TooLong(5000));
}

#[test]
fn of_a_url_the_error_says_what_to_write() {
    let written = |text: &str| match problem(text) {
        TargetProblem::Url(written) => written,
        other => panic!("{other}"),
    };
    assert_eq!(written("http://server.example/a:b"), "\"server.example:80\"");
    assert_eq!(written("https://me:secret@server.example"), "\"server.example:443\"");
    assert_eq!(written("http://server.example:8080/?q"), "\"server.example:8080\"");
    assert_eq!(written("https://[2001:db8::1]/"), "\"[2001:db8::1]:443\"");
    assert_eq!(written("https://[2001:db8::1]:8443/"), "\"[2001:db8::1]:8443\"");
    assert_eq!(written("unheard-of://server.example"), "\"server.example\"");
    assert_eq!(written("://"), "HOST:PORT");
}

#[test]
fn an_error_says_what_was_given_and_what_to_write() {
    assert_eq!(
        parse("http://server.example/").unwrap_err().to_string(),
        "target \"http://server.example/\": this is a URL; write \"server.example:80\""
    );
    assert_eq!(
        parse("10.0.0.0/33").unwrap_err().to_string(),
        "target \"10.0.0.0/33\": \"33\" is no length of a prefix; write a number from 0 to 32"
    );
    assert_eq!(
        parse("2001:db8::1%eth0").unwrap_err().to_string(),
        "target \"2001:db8::1%eth0\": only link-local addresses (fe80::/10) have a zone; write it \
         without %eth0"
    );
    let steering = parse("a\u{1b}[2J").unwrap_err().to_string();
    assert!(!steering.contains('\u{1b}'), "{steering}");
    let long = parse(&"a".repeat(300)).unwrap_err().to_string();
    assert!(long.contains("a…\""), "{long}");
}

#[test]
fn what_is_excluded_has_no_port() {
    assert!(Target::parse_exclude("10.0.0.0/24", &services).is_ok());
    let error = Target::parse_exclude("10.0.0.0/24:80", &services).unwrap_err();
    assert_eq!(error.problem, TargetProblem::NoPort(80));
}

#[test]
fn a_file_has_targets_between_blanks_and_comments() {
    let text = "\u{feff}# hosts\n10.0.0.1\t10.0.0.2:80  # the web\r\n\n a.example#b\n";
    let targets: Result<Vec<_>, _> = parse_file(text, &services).collect();
    let targets = targets.unwrap();
    let lines: Vec<_> = targets.iter().map(|(line, target)| (*line, target.to_string())).collect();
    let expected = [(2, "10.0.0.1"), (2, "10.0.0.2:80"), (4, "a.example")];
    assert_eq!(lines, expected.map(|(line, target)| (line, target.to_owned())));
}

#[test]
fn an_error_in_a_file_has_its_line_and_does_not_hide_the_next() {
    let found: Vec<_> = parse_file("ok\n\n10.0.0.256 -\nlast", &services).collect();
    let lines: Vec<_> = found.iter().map(|item| item.as_ref().map(|(line, _)| *line)).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!((lines[0], lines[3]), (Ok(1), Ok(4)));
    let shown: Vec<_> = lines[1..3].iter().map(|item| item.unwrap_err().to_string()).collect();
    assert!(shown[0].starts_with("line 3: target \"10.0.0.256\": "), "{shown:?}");
    assert!(shown[1].starts_with("line 3: target \"-\": "), "{shown:?}");
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| Ipv4Addr::from(bits).into()),
        any::<u128>().prop_map(|bits| Ipv6Addr::from(bits).into()),
        any::<u32>().prop_map(|bits| Ipv4Addr::from(bits).to_ipv6_mapped().into()),
    ]
}

/// Text that is nearly a target.
fn near() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        (0..300_u32).prop_map(|number| number.to_string()),
        "[.,:/*%-]",
        prop_oneof![Just("["), Just("]"), Just("::"), Just("fe80"), Just("a"), Just("://")]
            .prop_map(str::to_owned),
    ];
    prop::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn a_printed_address_reads_as_itself(address in address(), port in 1..=u16::MAX) {
        let target = parse(&address.to_string()).unwrap();
        let ranges: Vec<_> = target.hosts.ranges().collect();
        prop_assert_eq!(ranges, [address.into()]);
        let socket = std::net::SocketAddr::new(address, port);
        let target = parse(&socket.to_string()).unwrap();
        prop_assert_eq!(target.port, Some(port));
        prop_assert_eq!(target.to_string(), socket.to_string());
    }

    #[test]
    fn a_printed_target_reads_as_itself(text in near()) {
        if let Ok(target) = parse(&text) {
            let printed = target.to_string();
            prop_assert_eq!(parse(&printed), Ok(target), "{}", printed);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        if let Err(error) = parse(&text) {
            prop_assert!(!error.to_string().contains(char::is_control));
        }
        let _ = parse_file(&text, &services).count();
    }

    #[test]
    fn octets_are_what_their_text_says(lists in prop::array::uniform4(
        prop::collection::vec((0_u8..8, 0_u8..8), 1..4),
    )) {
        let text = lists.clone().map(|list| {
            let items: Vec<String> = list
                .iter()
                .map(|(one, other)| format!("{}-{}", one.min(other), one.max(other)))
                .collect();
            items.join(",")
        });
        let target = parse(&text.join(".")).unwrap();
        let found = Ranges::collect(target.hosts.ranges()).unwrap();
        let count: u128 = target.hosts.ranges().map(|range| range.addresses()).sum();
        prop_assert_eq!(count, found.addresses(), "overlapping");
        let has = |list: &[(u8, u8)], value: u8| {
            list.iter().any(|(one, other)| (*one.min(other)..=*one.max(other)).contains(&value))
        };
        for bits in 0_u32..1 << 12 {
            let octets = [9, 6, 3, 0].map(|shift| (bits >> shift & 7) as u8);
            let wanted = lists.iter().zip(octets).all(|(list, value)| has(list, value));
            prop_assert_eq!(found.contains(octets.into()), wanted);
        }
    }
}
