use std::net::IpAddr;

use super::{Addresses, FoldRule};

fn folded(addresses: &Addresses, address: &str) -> String {
    let address: IpAddr = address.parse().expect("an address");
    addresses.fold(address).to_string()
}

fn with(rules: &[&str]) -> Addresses {
    let parse = |rule: &&str| rule.parse().unwrap_or_else(|error| panic!("{error}"));
    Addresses::with(&rules.iter().map(parse).collect::<Vec<FoldRule>>())
}

#[test]
fn private_addresses_are_kept_and_others_are_one_network() {
    let standard = Addresses::default();
    for kept in [
        "10.1.2.3",
        "172.31.255.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "127.0.0.1",
        "::1",
        "fd00::7",
        "fe80::1",
    ] {
        assert_eq!(folded(&standard, kept), kept);
    }
    for public in ["192.0.2.1", "172.32.0.1", "100.128.0.1", "9.255.255.255", "0.0.0.0"] {
        assert_eq!(folded(&standard, public), "0.0.0.0/0", "{public}");
    }
    for public in ["2001:db8::1", "::", "::2"] {
        assert_eq!(folded(&standard, public), "::/0", "{public}");
    }
    assert_eq!(folded(&standard, "::ffff:10.0.0.1"), "10.0.0.1");
}

#[test]
fn the_rule_of_the_longest_network_decides_and_the_later_of_equals() {
    let rules = with(&["0.0.0.0/0=/16", "10.0.0.0/8=/24", "10.9.0.0/16=keep", "::/0=/32"]);
    assert_eq!(folded(&rules, "192.0.2.77"), "192.0.0.0/16");
    assert_eq!(folded(&rules, "10.1.2.3"), "10.1.2.0/24");
    assert_eq!(folded(&rules, "10.9.2.3"), "10.9.2.3");
    assert_eq!(folded(&rules, "192.168.2.3"), "192.168.2.3");
    assert_eq!(folded(&rules, "2001:db8:1:2::3"), "2001:db8::/32");
    let twice = with(&["10.0.0.0/8=/24", "10.0.0.0/8=/16"]);
    assert_eq!(folded(&twice, "10.1.2.3"), "10.1.0.0/16");
    let host = with(&["192.0.2.5/32=keep"]);
    assert_eq!(folded(&host, "192.0.2.5"), "192.0.2.5");
    assert_eq!(folded(&host, "192.0.2.6"), "0.0.0.0/0");
}

#[test]
fn an_error_says_what_to_write() {
    for (rule, why) in [
        ("10.0.0.0/8", "it has no '=': write NETWORK=/PREFIX"),
        ("10.0.0.0=/24", "the network has no prefix: write ADDRESS/PREFIX"),
        ("ten/8=/24", "\"ten\" is no address"),
        ("/8=/24", "\"\" is no address"),
        ("10.0.0.1/8=/24", "names an address within the network: write 10.0.0.0/8"),
        ("10.0.0.0/33=/24", "the prefix \"33\" is no number from 0 to 32"),
        ("10.0.0.0/8=/33", "the prefix \"33\" is no number from 0 to 32"),
        ("10.0.0.0/8=/+9", "the prefix \"+9\" is no number from 0 to 32"),
        ("10.0.0.0/8=/", "the prefix \"\" is no number"),
        ("2001:db8::/32=/129", "the prefix \"129\" is no number from 0 to 128"),
        ("10.0.0.0/8=24", "what follows '=' is neither /PREFIX nor keep"),
        ("10.0.0.0/8=/7", "/7 is wider than 10.0.0.0/8"),
        ("::ffff:10.0.0.0/104=keep", "write the network so"),
    ] {
        let error = rule.parse::<FoldRule>().expect_err(rule).to_string();
        assert!(error.contains(why), "{error}");
        assert!(error.contains(&format!("{rule:?} is no rule for addresses")), "{error}");
    }
}

#[test]
fn all_standard_rules_are_rules() {
    for rule in super::STANDARD {
        assert!(rule.parse::<FoldRule>().is_ok(), "{rule}");
    }
}
