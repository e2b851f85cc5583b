use std::string::ToString;

use super::*;

#[test]
fn errors_say_what_is_wrong() {
    let truncated = Malformed::Truncated { what: "TCP header", needed: 20, found: 7 };
    assert_eq!(truncated.to_string(), "TCP header: needs 20 bytes, 7 are there");
    let value = Malformed::Value { what: "ARP operation", found: 3 };
    assert_eq!(value.to_string(), "ARP operation is 0x0003, which is not read here");
    let room = NoRoom::Field { what: "IPv6 flow label", max: 1, found: 2 };
    assert_eq!(room.to_string(), "IPv6 flow label is at most 1, got 2");
}
