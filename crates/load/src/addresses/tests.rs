use proptest::prelude::*;

use super::*;

fn written(text: &str) -> Vec<String> {
    parse_addresses(text).unwrap().iter().map(ToString::to_string).collect()
}

#[test]
fn ranges_lists_and_both_families() {
    assert_eq!(
        written("127.0.0.1:9000-9002"),
        ["127.0.0.1:9000", "127.0.0.1:9001", "127.0.0.1:9002"]
    );
    assert_eq!(written("[::1]:80, 10.0.0.1:1"), ["[::1]:80", "10.0.0.1:1"]);
    assert_eq!(written("9000-9001"), ["127.0.0.1:9000", "127.0.0.1:9001"]);
    assert_eq!(written("127.0.0.1:0"), ["127.0.0.1:0"]);
    assert_eq!(parse_addresses("127.0.0.1:1-1000").unwrap().len(), 1_000);
}

#[test]
fn what_is_none_says_what_to_write() {
    for wrong in ["", "::1:80x", "127.0.0.1", "127.0.0.1:9-8", "127.0.0.1:65536", "a:1", "1:2:3,"] {
        let said = parse_addresses(wrong).unwrap_err().to_string();
        assert!(said.contains("127.0.0.1:9000-9049"), "{wrong}: {said}");
    }
    let many = "127.0.0.1:0-65535,127.0.0.1:1";
    assert!(parse_addresses(many).unwrap_err().to_string().contains("65536"));
}

#[test]
fn sources_are_addresses_and_whole_networks() {
    let sources = parse_sources("127.0.1.5/30,127.0.2.1").unwrap();
    let sources: Vec<String> = sources.iter().map(ToString::to_string).collect();
    assert_eq!(sources, ["127.0.1.4", "127.0.1.5", "127.0.1.6", "127.0.1.7", "127.0.2.1"]);
    assert_eq!(parse_sources("fd00::/126").unwrap().len(), 4);
    assert_eq!(parse_sources("10.0.0.0/16").unwrap().len(), 65_536);
    for wrong in ["", "127.0.0.1/33", "::/0", "0.0.0.0/0", "10.0.0.0/15", "x", "::1/-1"] {
        assert!(parse_sources(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn source_ports_are_a_range() {
    assert_eq!(parse_ports("1024-65535").unwrap(), 1024..=65_535);
    assert_eq!(parse_ports("7").unwrap(), 7..=7);
    assert!(parse_ports("0-7").is_err() && parse_ports("9-8").is_err());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,40}") {
        let _ = (parse_addresses(&text), parse_sources(&text), parse_ports(&text));
    }
}
