use std::net::SocketAddr;

use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};
use portolan_wire::Check;
use proptest::prelude::*;

use super::*;
use crate::{
    Id,
    syn::tests::{RST_ACK, SYN_ACK, answer, both, bytes, no_flights, reply, two_flights},
};

fn write(flight: &Flight, attempt: u8, bare: bool, buffer: &mut [u8]) -> usize {
    Template::of(flight.source).unwrap().write(flight, attempt, bare, buffer)
}

fn written(flight: &Flight, attempt: u8) -> Vec<u8> {
    let mut buffer = [0xee; PACKET_BYTES_MAX];
    let length = write(flight, attempt, false, &mut buffer);
    buffer[..length].to_vec()
}

fn concluded(flight: &Flight, segment: &[u8], attempts: u8) -> Option<Answer> {
    conclude(&tcp::Packet::parse(segment).unwrap(), flight.sequence, attempts)
}

#[test]
fn the_syn_is_what_linux_would_send() {
    let (_, [v4, v6]) = two_flights();
    for (flight, mss) in [(v4, 1460), (v6, 1440)] {
        let packet = written(&flight, 3);
        let header_len = packet.len() - 40;
        let tcp = tcp::Packet::parse(&packet[header_len..]).unwrap();
        assert_eq!(tcp.check(flight.source, flight.target.ip()), Check::Right);
        let options = Options {
            mss: Some(mss),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: CLOCK + 3, echo: 0 }),
            ..Options::default()
        };
        let expected = tcp::Repr {
            source_port: flight.source_port,
            destination_port: 443,
            sequence: flight.sequence,
            acknowledgment: Seq(0),
            flags: Flags::SYN,
            window: 64_240,
            urgent_pointer: 0,
            options,
        };
        assert_eq!((tcp.repr(), tcp.payload()), (expected, &[][..]));
    }
}

#[test]
fn the_ip_headers_say_from_where_to_where_and_how_much() {
    let (_, [v4, v6]) = two_flights();
    let packet = written(&v4, 0);
    let header = ipv4::Packet::parse(&packet).unwrap();
    assert!(header.checksum_is_right() && header.dont_fragment() && !header.is_fragment());
    assert_eq!((header.total_len(), header.ttl(), header.protocol()), (60, 64, protocol::TCP));
    assert_eq!(IpAddr::from(header.source()), v4.source);
    assert_eq!(IpAddr::from(header.destination()), v4.target.ip());
    let packet = written(&v6, 0);
    let header = ipv6::Packet::parse(&packet).unwrap();
    assert_eq!((header.payload_len(), header.hop_limit()), (40, 64));
    assert_eq!((header.next_header(), header.flow_label()), (protocol::TCP, 0));
    assert_eq!(IpAddr::from(header.source()), v6.source);
    assert_eq!(IpAddr::from(header.destination()), v6.target.ip());
    assert_eq!(packet.len(), PACKET_BYTES_MAX);
}

#[test]
fn another_implementation_reads_the_syn_the_same() {
    let (_, both) = two_flights();
    for flight in both {
        let packet = written(&flight, 1);
        let sliced = SlicedPacket::from_ip(&packet).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else { panic!("no TCP") };
        let (ends, checksum) = match sliced.net.as_ref().unwrap() {
            NetSlice::Ipv4(ip) => {
                let header = ip.header();
                assert_eq!(header.header_checksum(), header.to_header().calc_header_checksum());
                let (from, to) = (header.source(), header.destination());
                let checksum = tcp.to_header().calc_checksum_ipv4_raw(from, to, &[]).unwrap();
                ((IpAddr::from(from), IpAddr::from(to)), checksum)
            }
            NetSlice::Ipv6(ip) => {
                let (from, to) = (ip.header().source(), ip.header().destination());
                let checksum = tcp.to_header().calc_checksum_ipv6_raw(from, to, &[]).unwrap();
                ((IpAddr::from(from), IpAddr::from(to)), checksum)
            }
            NetSlice::Arp(_) => panic!("no IP"),
        };
        assert_eq!(ends, (flight.source, flight.target.ip()));
        assert_eq!(tcp.checksum(), checksum);
        let ports = (tcp.source_port(), tcp.destination_port());
        assert_eq!(ports, (flight.source_port, flight.target.port()));
        assert_eq!((tcp.sequence_number(), tcp.window_size()), (flight.sequence.0, 64_240));
        assert!(tcp.syn() && !(tcp.ack() || tcp.rst() || tcp.fin() || tcp.psh() || tcp.urg()));
        assert!(!(tcp.ece() || tcp.cwr() || tcp.ns()) && tcp.payload().is_empty());
        let options: Vec<_> = tcp.options_iterator().map(Result::unwrap).collect();
        let mss = if flight.source.is_ipv4() { 1460 } else { 1440 };
        for option in [
            TcpOptionElement::MaximumSegmentSize(mss),
            TcpOptionElement::WindowScale(7),
            TcpOptionElement::SelectiveAcknowledgementPermitted,
            TcpOptionElement::Timestamp(CLOCK + 1, 0),
        ] {
            assert!(options.contains(&option), "{options:?}");
        }
    }
}

#[test]
fn a_repeated_question_is_the_same_but_for_timestamp_and_checksum() {
    let (_, both) = two_flights();
    for flight in both {
        let first = written(&flight, 0);
        assert_eq!(first, written(&flight, 0));
        let again = written(&flight, 7);
        let tcp_at = first.len() - 40;
        let differing = (0..first.len()).filter(|&at| first[at] != again[at]);
        // The checksum is at 16; where the timestamp is, depends on the order of options.
        let outside: Vec<_> =
            differing.filter(|at| !(tcp_at + 16..tcp_at + 18).contains(at)).collect();
        assert_eq!(outside.len(), 1, "{outside:?}");
        let at = outside[0];
        assert_eq!(u16::from(again[at]), u16::from(first[at]) + 7);
    }
}

#[test]
fn a_bare_syn_is_the_same_without_its_ip_header() {
    for flight in two_flights().1 {
        let whole = written(&flight, 2);
        let mut buffer = [0; PACKET_BYTES_MAX];
        let length = write(&flight, 2, true, &mut buffer);
        assert_eq!(buffer[..length], whole[whole.len() - 40..]);
    }
}

#[test]
fn a_buffer_that_is_too_short_stays_empty_and_is_no_panic() {
    let (_, both) = two_flights();
    for flight in both {
        let needed = written(&flight, 0).len();
        for length in 0..needed {
            assert_eq!(write(&flight, 0, false, &mut vec![0; length]), 0, "{length} bytes");
        }
        assert_eq!(write(&flight, 0, false, &mut vec![0; needed]), needed);
    }
}

#[test]
fn a_pair_of_two_families_is_not_written_and_no_panic() {
    // A route of the other family makes no sense, and neither does its answer.
    let [(v4, from_v4), (v6, from_v6)] = both();
    let mapped = SocketAddr::new("::ffff:192.0.2.1".parse().unwrap(), 1);
    for (target, source, len) in
        [(v4, from_v6, 0), (v6, from_v4, 0), (mapped, from_v4, 0), (mapped, from_v6, 80)]
    {
        let (flight, _) = no_flights().launch(Id(0), target, source).unwrap();
        assert_eq!(written(&flight, 0).len(), len);
    }
}

#[test]
fn rfc_9293_section_3_10_7_3_what_acknowledges_our_syn_says_open_or_closed() {
    let (_, both) = two_flights();
    for flight in both {
        for extra in [0, Flags::PSH.0, Flags::ECE.0 | Flags::CWR.0, Flags::URG.0, Flags::FIN.0] {
            let said = |flags: Flags| concluded(&flight, &answer(&flight, flags | Flags(extra)), 1);
            let open = said(SYN_ACK).unwrap();
            assert_eq!((open.verdict, open.evidence), (Verdict::Open, Evidence::SynAck));
            let closed = said(RST_ACK).unwrap();
            assert_eq!((closed.verdict, closed.evidence), (Verdict::Closed, Evidence::Reset));
            assert_eq!(said(SYN_ACK | Flags::RST).unwrap().verdict, Verdict::Closed);
        }
    }
}

#[test]
fn of_all_flags_only_those_with_ack_and_syn_or_rst_say_anything() {
    let (_, [flight, _]) = two_flights();
    for flags in 0..=u8::MAX {
        let says = concluded(&flight, &answer(&flight, Flags(flags)), 1).is_some();
        let has = |flag: Flags| flags & flag.0 != 0;
        assert_eq!(says, has(Flags::ACK) && (has(Flags::SYN) || has(Flags::RST)), "{flags:#x}");
    }
}

#[test]
fn the_echoed_timestamp_tells_which_question_is_answered() {
    let (_, [flight, _]) = two_flights();
    let said = |echo: Option<u32>, attempts| {
        let timestamps = echo.map(|echo| Timestamps { value: 1, echo });
        let repr = reply(&flight, SYN_ACK, flight.sequence + 1);
        let repr = tcp::Repr { options: Options { timestamps, ..repr.options }, ..repr };
        concluded(&flight, &bytes(&flight, &repr), attempts).unwrap().attempt
    };
    for attempts in 2..=12_u8 {
        for attempt in 0..attempts {
            assert_eq!(said(Some(CLOCK + u32::from(attempt)), attempts), Some(attempt));
        }
        for odd in [CLOCK + u32::from(attempts), CLOCK - 1, CLOCK + 256, 0, u32::MAX] {
            assert_eq!(said(Some(odd), attempts), None, "of {attempts}: {odd:#x}");
        }
        assert_eq!(said(None, attempts), None);
    }
    // There is but one.
    assert_eq!((said(None, 1), said(Some(0), 1)), (Some(0), Some(0)));
}

#[test]
fn a_sender_on_this_machine_may_leave_the_checksum_to_the_device() {
    let (_, both) = two_flights();
    for flight in both {
        let mut segment = answer(&flight, SYN_ACK);
        let whole = |segment: &[u8]| {
            is_whole(&tcp::Packet::parse(segment).unwrap(), flight.target.ip(), &flight)
        };
        assert!(whole(&segment));
        let length = segment.len();
        let sum = crate::syn::tests::pseudo(flight.target.ip(), flight.source, 6, length);
        segment[16..18].copy_from_slice(&sum.folded().to_be_bytes());
        assert!(whole(&segment));
        segment[17] ^= 1;
        assert!(!whole(&segment));
    }
}

proptest! {
    #[test]
    fn no_other_number_acknowledges(acknowledgment: u32, flags: u8) {
        let (_, [flight, _]) = two_flights();
        let acknowledgment = Seq(acknowledgment);
        prop_assume!(acknowledgment != flight.sequence + 1);
        let segment = bytes(&flight, &reply(&flight, Flags(flags), acknowledgment));
        prop_assert_eq!(concluded(&flight, &segment, 1), None);
    }
}
