use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use portolan_wire::tcp::Flags;

use super::*;
use crate::{
    Evidence, Reason, Verdict,
    syn::tests::{
        PORTS, RST_ACK, Random, SYN_ACK, answer, both, bytes, complete, no_flights, reply,
        two_flights, verdict,
    },
};

fn hear(flights: &Flights, flight: &Flight, segment: &[u8]) -> Heard {
    flights.hear_segment(flight.target.ip(), segment, false)
}

#[test]
fn the_right_answers_are_believed() {
    let (flights, launched) = two_flights();
    for (flight, place) in launched.iter().zip(0..) {
        for (flags, verdict, evidence) in [
            (SYN_ACK, Verdict::Open, Evidence::SynAck),
            (RST_ACK, Verdict::Closed, Evidence::Reset),
        ] {
            let expected = Answer { verdict, evidence, attempt: Some(0) };
            let heard = hear(&flights, flight, &answer(flight, flags));
            assert_eq!(heard, Heard::Answer(Id(place), expected));
        }
    }
}

#[test]
fn a_wrong_acknowledgment_number_is_forged_whatever_the_flags() {
    let (flights, launched) = two_flights();
    let mut random = Random(1);
    for flight in &launched {
        let near = [0, 2, u32::MAX, 0x8000_0001].map(|step| flight.sequence + step);
        let any = (0..5000).map(|_| Seq(random.word()));
        let wrong = near.into_iter().chain([Seq(0), Seq(1), Seq(u32::MAX)]).chain(any);
        for number in wrong.filter(|number| *number != flight.sequence + 1) {
            for flags in [SYN_ACK, RST_ACK] {
                let segment = bytes(flight, &reply(flight, flags, number));
                assert_eq!(hear(&flights, flight, &segment), Heard::Forged, "{number:?}");
            }
        }
    }
}

#[test]
fn segments_that_do_not_acknowledge_or_say_nothing_are_forged() {
    let (flights, launched) = two_flights();
    for flight in &launched {
        for flags in 0..=u8::MAX {
            let flags = Flags(flags);
            let says = flags.contains(SYN_ACK) || flags.contains(RST_ACK);
            let heard = hear(&flights, flight, &answer(flight, flags));
            assert_eq!(matches!(heard, Heard::Answer(..)), says, "{flags:?}");
            assert!(says || heard == Heard::Forged, "{flags:?}");
        }
    }
}

#[test]
fn an_answer_from_elsewhere_or_to_elsewhere_is_foreign() {
    let (flights, launched) = two_flights();
    for (flight, [next, other]) in
        launched.iter().zip([["192.0.2.8", "2001:db8::7"], ["2001:db8::8", "192.0.2.7"]])
    {
        for ip in [next, other, "::ffff:192.0.2.7", "::"] {
            let source: IpAddr = ip.parse().unwrap();
            let heard = flights.hear_segment(source, &answer(flight, SYN_ACK), false);
            assert_eq!(heard, Heard::Foreign, "from {ip}");
        }
        let right = reply(flight, SYN_ACK, flight.sequence + 1);
        let ports = (0..=u16::MAX).filter(|&port| port != flight.source_port);
        for destination_port in ports {
            let segment = bytes(flight, &tcp::Repr { destination_port, ..right });
            assert_eq!(hear(&flights, flight, &segment), Heard::Foreign, "{destination_port}");
        }
        for source_port in (0..=u16::MAX).filter(|&port| port != flight.target.port()) {
            let segment = bytes(flight, &tcp::Repr { source_port, ..right });
            assert_eq!(hear(&flights, flight, &segment), Heard::Foreign, "{source_port}");
        }
    }
}

#[test]
fn an_answer_to_another_address_of_this_host_is_forged() {
    let (flights, launched) = two_flights();
    for (flight, elsewhere) in launched.iter().zip(["198.51.100.2", "2001:db8:1::2"]) {
        let to = Flight { source: elsewhere.parse().unwrap(), ..*flight };
        assert_eq!(hear(&flights, flight, &answer(&to, SYN_ACK)), Heard::Forged);
    }
}

#[test]
fn no_bit_of_an_answer_can_be_flipped() {
    let (flights, launched) = two_flights();
    for flight in &launched {
        for flags in [SYN_ACK, RST_ACK] {
            let right = answer(flight, flags);
            for bit in 0..right.len() * 8 {
                let mut wrong = right.clone();
                wrong[bit / 8] ^= 1 << (bit % 8);
                let heard = hear(&flights, flight, &wrong);
                assert_eq!(verdict(heard), None, "bit {bit} of a segment with {flags:?}");
            }
        }
    }
}

#[test]
fn a_segment_that_is_cut_anywhere_is_not_believed() {
    let (flights, launched) = two_flights();
    for flight in &launched {
        let mut right = answer(flight, SYN_ACK);
        for length in 0..right.len() {
            assert_eq!(verdict(hear(&flights, flight, &right[..length])), None, "{length} bytes");
        }
        let heard = flights.hear_segment(flight.target.ip(), &right, true);
        assert_eq!(heard, Heard::Forged, "what is not there cannot be checked");
        // Data behind the header is no harm, as in an answer of TCP fast open.
        right.extend_from_slice(b"data");
        assert_eq!(hear(&flights, flight, &right), Heard::Forged);
        complete(flight, &mut right);
        assert_eq!(verdict(hear(&flights, flight, &right)), Some(Verdict::Open));
    }
}

#[test]
fn a_header_length_that_cannot_be_is_no_segment() {
    let (flights, launched) = two_flights();
    for flight in &launched {
        for words in 0..16_u8 {
            let mut segment = answer(flight, SYN_ACK);
            let is_possible = (5..=segment.len() / 4).contains(&usize::from(words));
            segment[12] = words << 4;
            complete(flight, &mut segment);
            let heard = hear(&flights, flight, &segment);
            assert_eq!(verdict(heard).is_some(), is_possible, "{words} words");
        }
    }
}

#[test]
fn malformed_options_hide_which_question_is_answered_and_nothing_else() {
    let (mut flights, launched) = two_flights();
    let [flight, _] = launched;
    let mut random = Random(3);
    flights.launch(Id(0), flight.target, flight.source).unwrap();
    for round in 0..20_000 {
        let mut segment = answer(&flight, SYN_ACK);
        segment[20..].iter_mut().for_each(|byte| *byte = random.byte());
        match round {
            0 => segment[20..].fill(0xff),
            1 => segment[20..22].copy_from_slice(&[8, 0]),
            2 => segment[20..22].copy_from_slice(&[8, 1]),
            3 => segment[20..22].copy_from_slice(&[8, 255]),
            _ => {}
        }
        complete(&flight, &mut segment);
        let Heard::Answer(Id(0), heard) = hear(&flights, &flight, &segment) else {
            panic!("the number and the checksum are right: {segment:02x?}");
        };
        assert_eq!((heard.verdict, heard.evidence), (Verdict::Open, Evidence::SynAck));
        assert!(heard.attempt.is_none_or(|attempt| attempt < 2));
        assert!(round > 3 || heard.attempt.is_none());
    }
}

#[test]
fn after_landing_nothing_is_believed() {
    let (mut flights, launched) = two_flights();
    let error = Answer {
        verdict: Verdict::Unreachable(Reason::Host),
        evidence: Evidence::Icmp { kind: 3, code: 1 },
        attempt: None,
    };
    for (flight, place) in launched.iter().zip(0..) {
        let quoted = Quoted {
            source_port: flight.source_port,
            destination_port: flight.target.port(),
            sequence: flight.sequence,
        };
        let heard_error =
            |flights: &Flights, quoted| flights.hear_error(flight.target.ip(), quoted, error);
        assert_eq!(heard_error(&flights, quoted), Heard::Answer(Id(place), error));
        let wrong = Quoted { sequence: flight.sequence + 1, ..quoted };
        assert_eq!(heard_error(&flights, wrong), Heard::Forged);
        flights.land(Id(place));
        assert_eq!(hear(&flights, flight, &answer(flight, SYN_ACK)), Heard::Foreign);
        assert_eq!(heard_error(&flights, quoted), Heard::Foreign);
        // Once more, and where nothing ever was.
        flights.land(Id(place));
        flights.land(Id(u32::MAX));
    }
    assert_eq!(flights.count(), 0);
}

#[test]
fn the_answer_to_a_check_that_is_over_does_not_end_the_next_one_of_the_same_target() {
    let mut flights = no_flights();
    let (target, source) = both()[0];
    let mut before: Vec<Flight> = Vec::new();
    // Far beyond the number of ports, so that all tuples come again.
    for _ in 0..500 {
        let (flight, _) = flights.launch(Id(0), target, source).unwrap();
        for old in &before {
            let heard = hear(&flights, old, &answer(old, SYN_ACK));
            assert_eq!(verdict(heard), None);
        }
        assert_eq!(
            verdict(hear(&flights, &flight, &answer(&flight, SYN_ACK))),
            Some(Verdict::Open)
        );
        before.push(flight);
        flights.land(Id(0));
    }
    let numbers: HashSet<_> = before.iter().map(|flight| flight.sequence.0).collect();
    assert_eq!(numbers.len(), 500, "a sequence number came again");
    let next_to = before.windows(2).filter(|pair| pair[0].source_port == pair[1].source_port);
    assert_eq!(next_to.count(), 0, "the port of the check before is left alone");
}

#[test]
fn checks_of_one_target_at_one_time_have_different_ports_until_there_are_none() {
    for (target, source) in both() {
        let mut flights = no_flights();
        let mut ports = HashSet::new();
        for place in 0..u32::from(PORTS.count) {
            let (flight, attempt) = flights.launch(Id(place), target, source).unwrap();
            assert!(PORTS.contains(flight.source_port) && ports.insert(flight.source_port));
            assert_eq!(attempt, 0);
        }
        let more = Id(PORTS.count.into());
        assert_eq!(flights.launch(more, target, source).map(|_| ()), None);
        // Another port of the same host is another target.
        let other = SocketAddr::new(target.ip(), 80);
        assert!(flights.launch(Id(1000), other, source).is_some());
        flights.land(Id(5));
        assert!(flights.launch(more, target, source).is_some());
        assert_eq!(flights.launch(Id(5), target, source).map(|_| ()), None);
        assert_eq!(flights.count(), usize::from(PORTS.count) + 1);
    }
}

#[test]
fn what_is_asked_again_is_the_same_flight() {
    let (mut flights, launched) = two_flights();
    for (flight, place) in launched.iter().zip(0..) {
        for expected in 1..=12 {
            let (again, attempt) = flights.launch(Id(place), flight.target, flight.source).unwrap();
            assert_eq!(attempt, expected);
            assert_eq!((again.source_port, again.sequence), (flight.source_port, flight.sequence));
        }
    }
    assert_eq!(flights.count(), 2);
}

#[test]
fn the_zone_of_an_address_need_not_be_told_by_its_answer() {
    let mut flights = no_flights();
    let ip = "fe80::1".parse().unwrap();
    let target = std::net::SocketAddrV6::new(ip, 80, 0, 3).into();
    let (flight, _) = flights.launch(Id(0), target, "fe80::2".parse().unwrap()).unwrap();
    let heard = hear(&flights, &flight, &answer(&flight, SYN_ACK));
    assert_eq!(verdict(heard), Some(Verdict::Open));
}

#[test]
fn who_does_not_know_the_key_does_not_know_the_numbers() {
    let (target, source) = both()[0];
    let number = |key| {
        let (flight, _) = Flights::new(key, PORTS).launch(Id(0), target, source).unwrap();
        flight.sequence.0
    };
    let numbers: HashSet<u32> =
        (0..100).flat_map(|word| [number((word, 1 << 40)), number((1 << 40, word))]).collect();
    assert_eq!(numbers.len(), 200);
}

/// What the table should do, told with a map that is plain to see.
#[derive(Default)]
struct Naive {
    by_place: HashMap<u32, Flight>,
    taken: HashSet<(SocketAddr, u16)>,
}

impl Naive {
    fn launch(&mut self, flights: &mut Flights, place: u32, target: SocketAddr, source: IpAddr) {
        let launched = flights.launch(Id(place), target, source);
        match self.by_place.get(&place) {
            Some(known) => {
                let (flight, attempt) = launched.unwrap();
                assert!(attempt > 0);
                assert_eq!(flight.sequence, known.sequence);
            }
            None => {
                let is_full = PORTS.first..PORTS.first + PORTS.count;
                let is_full = is_full.clone().all(|port| self.taken.contains(&(target, port)));
                assert_eq!(launched.is_none(), is_full);
                let Some((flight, 0)) = launched else { return };
                assert!(self.taken.insert((target, flight.source_port)), "the port is in use");
                self.by_place.insert(place, flight);
            }
        }
    }

    fn land(&mut self, flights: &mut Flights, place: u32) -> Option<Flight> {
        flights.land(Id(place));
        let landed = self.by_place.remove(&place)?;
        assert!(self.taken.remove(&(landed.target, landed.source_port)));
        Some(landed)
    }

    fn check(&self, flights: &Flights) {
        assert_eq!(flights.count(), self.by_place.len());
        for (&place, flight) in &self.by_place {
            let heard = hear(flights, flight, &answer(flight, SYN_ACK));
            let Heard::Answer(id, _) = heard else { panic!("{flight:?} is lost") };
            assert_eq!(id, Id(place));
        }
    }
}

fn some_target(random: &mut Random, hosts: usize) -> (SocketAddr, IpAddr) {
    let (target, source) = both()[random.below(2)];
    let host = u16::try_from(random.below(hosts)).unwrap();
    let [a, b] = host.to_be_bytes();
    let ip = match target.ip() {
        IpAddr::V4(_) => IpAddr::from([10, 0, a, b]),
        IpAddr::V6(_) => IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, host]),
    };
    (SocketAddr::new(ip, [80, 443][random.below(2)]), source)
}

#[test]
fn a_hundred_thousand_flights_and_random_landings_leave_the_table_right() {
    let (mut flights, mut naive, mut random) = (no_flights(), Naive::default(), Random(11));
    for place in 0..100_000 {
        let (target, source) = some_target(&mut random, 60_000);
        naive.launch(&mut flights, place, target, source);
    }
    naive.check(&flights);
    for _ in 0..100_000 {
        let place = u32::try_from(random.below(100_000)).unwrap();
        if random.below(2) == 0 {
            if let Some(landed) = naive.land(&mut flights, place) {
                let heard = hear(&flights, &landed, &answer(&landed, SYN_ACK));
                assert_eq!(heard, Heard::Foreign);
            }
        } else if !naive.by_place.contains_key(&place) {
            let (target, source) = some_target(&mut random, 60_000);
            naive.launch(&mut flights, place, target, source);
        }
    }
    naive.check(&flights);
    for place in 0..100_000 {
        naive.land(&mut flights, place);
    }
    assert_eq!((flights.count(), naive.taken.len()), (0, 0));
}

proptest! {
    #[test]
    fn launches_and_landings_in_any_order_do_what_a_plain_map_would(
        seed: u64,
        steps in prop::collection::vec((0..120_u32, 0..3_u8), 0..400),
    ) {
        // So few targets that the block of ports is used up.
        let (mut flights, mut naive, mut random) = (no_flights(), Naive::default(), Random(seed));
        for (place, step) in steps {
            let (target, source) = match naive.by_place.get(&place) {
                Some(flight) => (flight.target, flight.source),
                None => some_target(&mut random, 1),
            };
            if step == 0 {
                naive.land(&mut flights, place);
            } else {
                naive.launch(&mut flights, place, target, source);
            }
        }
        naive.check(&flights);
    }

    #[test]
    fn no_bytes_make_the_table_panic(segment: Vec<u8>, is_cut: bool) {
        let (flights, [flight, _]) = two_flights();
        let _ = flights.hear_segment(flight.target.ip(), &segment, is_cut);
    }
}
