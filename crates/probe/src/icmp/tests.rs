use super::*;

/// Every code of a type that has a meaning, as a list of pairs.
fn codes(is_ipv6: bool, kind: u8) -> Vec<(u8, Reason)> {
    (0..=255).filter_map(|code| Some((code, reason(is_ipv6, kind, code)?))).collect()
}

#[test]
fn rfc_792_and_1812_destination_unreachable() {
    use Reason::{Host, Network, Port, Prohibited, Protocol};
    let expected = [
        (0, Network),
        (1, Host),
        (2, Protocol),
        (3, Port),
        (5, Host),
        (6, Network),
        (7, Host),
        (8, Network),
        (9, Prohibited),
        (10, Prohibited),
        (11, Network),
        (12, Host),
        (13, Prohibited),
        (14, Prohibited),
        (15, Prohibited),
    ];
    assert_eq!(codes(false, 3), expected, "4 asks for smaller packets and is no refusal");
}

#[test]
fn rfc_4443_destination_unreachable() {
    use Reason::{Host, Network, Port, Prohibited};
    let expected = [
        (0, Network),
        (1, Prohibited),
        (2, Network),
        (3, Host),
        (4, Port),
        (5, Prohibited),
        (6, Prohibited),
    ];
    assert_eq!(codes(true, 1), expected);
}

#[test]
fn the_hop_limit_has_another_type_in_each_family() {
    assert_eq!(reason(false, 11, 0), Some(Reason::HopLimit));
    assert_eq!(reason(true, 3, 0), Some(Reason::HopLimit));
    assert_eq!(reason(true, 11, 0), None);
}

#[test]
fn rfc_4443_section_3_4_unknown_next_header() {
    assert_eq!(codes(true, 4), [(1, Reason::Protocol)]);
}

#[test]
fn no_other_message_says_that_a_target_cannot_be_reached() {
    let kinds = |is_ipv6| -> Vec<u8> {
        (0..=255).filter(|&kind| !codes(is_ipv6, kind).is_empty()).collect()
    };
    assert_eq!(kinds(false), [3, 11]);
    assert_eq!(kinds(true), [1, 3, 4]);
}
