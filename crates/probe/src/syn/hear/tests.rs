use proptest::prelude::*;

use super::*;
use crate::{
    Id,
    syn::{
        flights::Flight,
        segment,
        tests::{
            RST_ACK, Random, SYN_ACK, answer, icmp, packet, pseudo, router, two_flights, verdict,
        },
    },
};

fn hear(flights: &Flights, bytes: &[u8]) -> Heard {
    hear_how(flights, bytes, false)
}

fn hear_how(flights: &Flights, bytes: &[u8], is_cut: bool) -> Heard {
    match bytes[0] >> 4 {
        4 => hear_v4(flights, bytes, is_cut),
        _ => hear_v6(flights, bytes, is_cut),
    }
}

fn carried(flight: &Flight, segment: &[u8]) -> Vec<u8> {
    packet(flight.target.ip(), flight.source, protocol::TCP, segment)
}

/// Our SYN as a router sees it.
fn syn(flight: &Flight) -> Vec<u8> {
    let mut buffer = vec![0; segment::PACKET_BYTES_MAX];
    let template = segment::Template::of(flight.source).unwrap();
    let length = template.write(flight, 2, false, &mut buffer);
    buffer.truncate(length);
    buffer
}

fn error_with(flight: &Flight, head: [u8; 8], quoted: &[u8]) -> Vec<u8> {
    let protocol = if flight.source.is_ipv4() { protocol::ICMPV4 } else { protocol::ICMPV6 };
    let message = icmp(router(flight), flight.source, head, quoted);
    packet(router(flight), flight.source, protocol, &message)
}

/// The packet with an ICMP error that quotes this.
fn error(flight: &Flight, kind: u8, code: u8, quoted: &[u8]) -> Vec<u8> {
    error_with(flight, [kind, code, 0, 0, 0, 0, 0, 0], quoted)
}

/// A type and code that say that the host cannot be reached.
fn unreachable(flight: &Flight) -> (u8, u8) {
    if flight.source.is_ipv4() { (3, 1) } else { (1, 3) }
}

fn unreachable_error(flight: &Flight, quoted: &[u8]) -> Vec<u8> {
    let (kind, code) = unreachable(flight);
    error(flight, kind, code, quoted)
}

/// Where the TCP header of our SYN begins.
fn tcp_at(flight: &Flight) -> usize {
    if flight.source.is_ipv4() { 20 } else { 40 }
}

#[test]
fn answers_in_packets_of_both_families_are_believed() {
    let (flights, launched) = two_flights();
    for flight in &launched {
        for (flags, expected) in [(SYN_ACK, Verdict::Open), (RST_ACK, Verdict::Closed)] {
            let mut whole = carried(flight, &answer(flight, flags));
            assert_eq!(verdict(hear(&flights, &whole)), Some(expected));
            // A short Ethernet frame is padded.
            whole.extend_from_slice(&[0; 6]);
            assert_eq!(verdict(hear(&flights, &whole)), Some(expected));
        }
    }
}

#[test]
fn no_bit_of_a_packet_can_be_flipped_to_another_answer() {
    let (flights, launched) = two_flights();
    for flight in &launched {
        let right = carried(flight, &answer(flight, SYN_ACK));
        let expected = hear(&flights, &right);
        for bit in 0..right.len() * 8 {
            let mut wrong = right.clone();
            wrong[bit / 8] ^= 0x80 >> (bit % 8);
            let heard = hear_v4(&flights, &wrong, false);
            let heard =
                if heard == Heard::Foreign { hear_v6(&flights, &wrong, false) } else { heard };
            // What routers change, and what says how to treat a packet, is not in the checksum. The
            // destination is: it is checked for the address that we asked from, whatever it says.
            let is_free = match flight.source {
                IpAddr::V4(_) => {
                    matches!(bit / 8, 1 | 4 | 5 | 8 | 10 | 11 | 16..20) || matches!(bit, 48 | 49)
                }
                IpAddr::V6(_) => (4..32).contains(&bit) || matches!(bit / 8, 7 | 24..40),
            };
            match is_free {
                true => assert_eq!(heard, expected, "bit {bit}"),
                false => assert_eq!(verdict(heard), None, "bit {bit}"),
            }
        }
    }
}

#[test]
fn packets_that_are_cut_anywhere_are_not_believed() {
    let (flights, launched) = two_flights();
    for flight in &launched {
        let right = carried(flight, &answer(flight, SYN_ACK));
        for length in 1..right.len() {
            for is_cut in [false, true] {
                let heard = hear_how(&flights, &right[..length], is_cut);
                assert_eq!(verdict(heard), None, "{length} bytes");
            }
        }
        assert_eq!(hear_v4(&flights, &[], false), Heard::Foreign);
        assert_eq!(hear_v6(&flights, &[], true), Heard::Foreign);
    }
}

#[test]
fn fragments_are_foreign_and_options_of_ip_are_skipped() {
    let (flights, [flight, _]) = two_flights();
    let whole = carried(&flight, &answer(&flight, SYN_ACK));
    for fragment in [[0x20, 0], [0, 1], [0x1f, 0xff], [0x20, 4]] {
        let mut part = whole.clone();
        part[6..8].copy_from_slice(&fragment);
        assert_eq!(hear(&flights, &part), Heard::Foreign, "{fragment:?}");
    }
    let mut longer = whole.clone();
    longer.splice(20..20, [1; 12]);
    longer[0] = 0x48;
    longer[3] += 12;
    assert_eq!(verdict(hear(&flights, &longer)), Some(Verdict::Open));
}

#[test]
fn extension_headers_of_ipv6_are_skipped_and_fragments_are_foreign() {
    let (flights, [_, flight]) = two_flights();
    let segment = answer(&flight, SYN_ACK);
    let behind = |first: u8, headers: &[u8]| {
        let payload = [headers, &segment].concat();
        packet(flight.target.ip(), flight.source, first, &payload)
    };
    let options = [protocol::TCP, 0, 1, 4, 0, 0, 0, 0];
    for first in [protocol::HOP_BY_HOP, protocol::DESTINATION_OPTIONS, protocol::ROUTING] {
        let heard = hear(&flights, &behind(first, &options));
        assert_eq!(verdict(heard), Some(Verdict::Open), "{first}");
    }
    for offset_and_flags in [[0, 0], [0, 1], [0, 8]] {
        let [a, b] = offset_and_flags;
        let header = [protocol::TCP, 0, a, b, 0, 0, 0, 1];
        assert_eq!(hear(&flights, &behind(protocol::FRAGMENT, &header)), Heard::Foreign);
    }
    // More of them than anybody sends, and one that is longer than the packet.
    let many: Vec<u8> = [protocol::DESTINATION_OPTIONS, 0, 1, 4, 0, 0, 0, 0].repeat(9);
    assert_eq!(hear(&flights, &behind(protocol::DESTINATION_OPTIONS, &many)), Heard::Foreign);
    let long = [protocol::TCP, 200, 1, 4, 0, 0, 0, 0];
    assert_eq!(hear(&flights, &behind(protocol::HOP_BY_HOP, &long)), Heard::Foreign);
}

#[test]
fn a_segment_in_another_protocol_is_foreign() {
    let (flights, launched) = two_flights();
    for flight in &launched {
        for protocol in [protocol::UDP, protocol::ICMPV4, protocol::ICMPV6, protocol::ESP, 255] {
            let segment = answer(flight, SYN_ACK);
            let other = packet(flight.target.ip(), flight.source, protocol, &segment);
            assert_eq!(hear(&flights, &other), Heard::Foreign, "{protocol}");
        }
    }
}

#[test]
fn every_type_and_code_of_an_error_gives_its_reason() {
    let (flights, launched) = two_flights();
    for (flight, place) in launched.iter().zip(0..) {
        let quoted = syn(flight);
        for (kind, code) in
            (0..=u8::MAX).flat_map(|kind| (0..=u8::MAX).map(move |code| (kind, code)))
        {
            let heard = hear(&flights, &error(flight, kind, code, &quoted));
            let reason = icmp::reason(flight.source.is_ipv6(), kind, code);
            let expected = reason.map_or(Heard::Foreign, |reason| {
                let evidence = Evidence::Icmp { kind, code };
                let verdict = Verdict::Unreachable(reason);
                Heard::Answer(Id(place), Answer { verdict, evidence, attempt: None })
            });
            assert_eq!(heard, expected, "type {kind}, code {code}");
        }
    }
}

#[test]
fn an_error_may_quote_our_syn_in_part_but_not_less_than_its_number() {
    let (flights, launched) = two_flights();
    for flight in &launched {
        let quoted = syn(flight);
        let least = tcp_at(flight) + 8;
        for length in 0..=quoted.len() {
            let heard = hear(&flights, &unreachable_error(flight, &quoted[..length]));
            assert_eq!(verdict(heard).is_some(), length >= least, "{length} bytes");
        }
    }
}

#[test]
fn an_error_may_quote_a_syn_that_routers_changed() {
    let (flights, [v4, v6]) = two_flights();
    let is_believed = |flight: &Flight, quoted: &[u8]| {
        verdict(hear(&flights, &unreachable_error(flight, quoted))).is_some()
    };
    // Time to live, checksum of the header, service class; options that a router put in.
    let mut changed = syn(&v4);
    changed[1] = 0xb8;
    changed[8] = 1;
    changed[10..12].fill(0);
    assert!(is_believed(&v4, &changed));
    changed[0] = 0x4a;
    changed.splice(20..20, [1; 20]);
    assert!(is_believed(&v4, &changed));
    // A first fragment has the ports, a later one has not.
    let mut fragment = syn(&v4);
    fragment[6] = 0x20;
    assert!(is_believed(&v4, &fragment));
    fragment[7] = 2;
    assert!(!is_believed(&v4, &fragment));
    // An extension header.
    let mut changed = syn(&v6);
    changed[6] = protocol::HOP_BY_HOP;
    changed[5] += 8;
    changed.splice(40..40, [protocol::TCP, 0, 1, 4, 0, 0, 0, 0]);
    assert!(is_believed(&v6, &changed));
    // The first of several fragments, and one that only looks like it.
    changed[6] = protocol::FRAGMENT;
    changed[40..48].copy_from_slice(&[protocol::TCP, 0, 0, 1, 0, 0, 0, 9]);
    assert!(is_believed(&v6, &changed));
    changed[43] = 9;
    assert!(!is_believed(&v6, &changed));
}

#[test]
fn rfc_4884_what_follows_a_quote_of_a_given_length_is_left_out() {
    let (flights, launched) = two_flights();
    for flight in &launched {
        let (kind, code) = unreachable(flight);
        let mut quoted = syn(flight);
        quoted.resize(128, 0);
        // A structure of MPLS labels; RFC 4950.
        quoted.extend_from_slice(&[0x20, 0, 0, 0, 0, 8, 1, 1, 0, 0, 1, 1]);
        let mut head = [kind, code, 0, 0, 0, 0, 0, 0];
        // In words of 4 bytes for IPv4 and of 8 for IPv6, at another place.
        if flight.source.is_ipv4() {
            head[5] = 32
        } else {
            head[4] = 16
        }
        let heard = hear(&flights, &error_with(flight, head, &quoted));
        assert!(verdict(heard).is_some());
    }
}

#[test]
fn errors_about_what_we_did_not_send_are_not_believed() {
    let (flights, launched) = two_flights();
    for flight in &launched {
        let (right, at) = (syn(flight), tcp_at(flight));
        let heard = |changed: &[u8]| hear(&flights, &unreachable_error(flight, changed));
        let flipped = |byte: usize| {
            let mut changed = right.clone();
            changed[byte] ^= 1;
            heard(&changed)
        };
        let destination = at - if flight.source.is_ipv4() { 4 } else { 16 };
        for byte in (destination..at).chain(at..at + 4) {
            assert_eq!(flipped(byte), Heard::Foreign, "addresses and ports: byte {byte}");
        }
        for byte in at + 4..at + 8 {
            assert_eq!(flipped(byte), Heard::Forged, "the sequence number: byte {byte}");
        }
        let mut random = Random(5);
        for _ in 0..2000 {
            let mut changed = right.clone();
            changed[at + 4..at + 8].copy_from_slice(&random.word().to_be_bytes());
            assert!(changed == right || heard(&changed) == Heard::Forged);
        }
        let mut udp = right.clone();
        udp[if flight.source.is_ipv4() { 9 } else { 6 }] = protocol::UDP;
        assert_eq!(heard(&udp), Heard::Foreign);
    }
}

#[test]
fn an_error_with_a_wrong_checksum_is_foreign() {
    let (flights, launched) = two_flights();
    for flight in &launched {
        let right = unreachable_error(flight, &syn(flight));
        assert!(verdict(hear(&flights, &right)).is_some());
        for bit in tcp_at(flight) * 8..right.len() * 8 {
            let mut wrong = right.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(verdict(hear(&flights, &wrong)), None, "bit {bit}");
        }
    }
}

#[test]
fn an_error_that_was_cut_is_judged_by_the_number_that_it_quotes() {
    let (flights, launched) = two_flights();
    for flight in &launched {
        let right = unreachable_error(flight, &syn(flight));
        let least = 2 * tcp_at(flight) + 8 + 8;
        for length in 1..right.len() {
            let heard = hear_how(&flights, &right[..length], true);
            assert_eq!(verdict(heard).is_some(), length >= least, "{length} bytes");
            assert_eq!(verdict(hear(&flights, &right[..length])), None, "{length} bytes");
        }
    }
}

#[test]
fn an_error_of_a_sender_on_this_machine_may_have_half_a_checksum() {
    let (flights, [_, flight]) = two_flights();
    let mut whole = unreachable_error(&flight, &syn(&flight));
    let length = whole.len() - 40;
    let sum = pseudo(router(&flight), flight.source, protocol::ICMPV6, length);
    whole[42..44].copy_from_slice(&sum.folded().to_be_bytes());
    assert!(verdict(hear(&flights, &whole)).is_some());
}

#[test]
fn a_message_of_icmpv6_may_come_without_its_packet() {
    let (flights, [_, flight]) = two_flights();
    let whole = unreachable_error(&flight, &syn(&flight));
    let expected = hear(&flights, &whole);
    assert_eq!(hear_icmp_v6(&flights, &whole[40..]), expected);
    for length in 0..8 + 40 + 8 {
        assert_eq!(hear_icmp_v6(&flights, &whole[40..40 + length]), Heard::Foreign);
    }
}

#[test]
fn an_error_about_an_error_is_foreign() {
    let (flights, launched) = two_flights();
    for flight in &launched {
        let inner = unreachable_error(flight, &syn(flight));
        assert_eq!(hear(&flights, &unreachable_error(flight, &inner)), Heard::Foreign);
    }
}

#[test]
fn each_family_reads_its_own_packets_only() {
    let (flights, [v4, v6]) = two_flights();
    let of_v4 = carried(&v4, &answer(&v4, SYN_ACK));
    let of_v6 = carried(&v6, &answer(&v6, SYN_ACK));
    assert_eq!(hear_v6(&flights, &of_v4, false), Heard::Foreign);
    assert_eq!(hear_v4(&flights, &of_v6, false), Heard::Foreign);
    let error_v4 = unreachable_error(&v4, &syn(&v4));
    assert_eq!(hear_icmp_v6(&flights, &error_v4[20..]), Heard::Foreign);
}

proptest! {
    #[test]
    fn any_bytes_are_heard_without_a_panic(bytes: Vec<u8>, is_cut: bool) {
        let (flights, _) = two_flights();
        hear_v4(&flights, &bytes, is_cut);
        hear_v6(&flights, &bytes, is_cut);
        hear_icmp_v6(&flights, &bytes);
    }

    #[test]
    fn what_is_changed_at_random_is_never_another_answer(
        is_v6: bool,
        is_error: bool,
        changes in prop::collection::vec((0..120_usize, any::<u8>()), 1..4),
    ) {
        let (flights, launched) = two_flights();
        let flight = &launched[usize::from(is_v6)];
        let mut whole = match is_error {
            true => unreachable_error(flight, &syn(flight)),
            false => carried(flight, &answer(flight, SYN_ACK)),
        };
        let right = verdict(hear(&flights, &whole));
        for (at, byte) in changes {
            if let Some(changed) = whole.get_mut(at) {
                *changed = byte;
            }
        }
        let heard = verdict(hear(&flights, &whole));
        prop_assert!(heard.is_none() || heard == right);
    }
}
