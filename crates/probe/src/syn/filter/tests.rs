use std::net::IpAddr;

use portolan_wire::tcp::Flags;

use super::*;
use crate::syn::tests::{
    PORTS, RST_ACK, Random, SYN_ACK, answer, icmp, packet, router, two_flights,
};

/// Runs a program as the kernel does (Documentation/networking/filter.rst): how many bytes it
/// wants. A load beyond the packet ends it with 0. Only what the programs use is known here.
fn run(program: &[Instruction], packet: &[u8]) -> u32 {
    run_of_type(program, packet, 0)
}

/// The same for a packet of this type: 0 is for this host.
fn run_of_type(program: &[Instruction], packet: &[u8], packet_type: u32) -> u32 {
    let load = |at: u64, length: usize| -> Option<u32> {
        let at = usize::try_from(at).unwrap();
        let bytes = packet.get(at..at.checked_add(length)?)?;
        Some(bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte)))
    };
    let (mut accumulator, mut x, mut at) = (0_u32, 0_u32, 0_usize);
    // Jumps go forward only, so that a program ends.
    loop {
        let Instruction { code, jump_true, jump_false, operand } = program[at];
        at += 1;
        let indexed = u64::from(x) + u64::from(operand);
        let jump = |holds: bool| usize::from(if holds { jump_true } else { jump_false });
        let loaded = match code {
            LOAD_BYTE if operand == PACKET_TYPE => Some(packet_type),
            LOAD_BYTE => load(operand.into(), 1),
            LOAD_HALF => load(operand.into(), 2),
            LOAD_BYTE_AT_X => load(indexed, 1),
            LOAD_HALF_AT_X => load(indexed, 2),
            LOAD_X_HEADER_LEN => load(operand.into(), 1).map(|byte| (byte & 0xf) * 4),
            LOAD_X | AND | JUMP_EQUAL | JUMP_GREATER_EQUAL | JUMP_SET => Some(0),
            RETURN => return operand,
            _ => panic!("{code:#x} is not known"),
        };
        let Some(loaded) = loaded else { return 0 };
        match code {
            LOAD_BYTE | LOAD_HALF | LOAD_BYTE_AT_X | LOAD_HALF_AT_X => accumulator = loaded,
            LOAD_X_HEADER_LEN => x = loaded,
            LOAD_X => x = operand,
            AND => accumulator &= operand,
            JUMP_EQUAL => at += jump(accumulator == operand),
            JUMP_GREATER_EQUAL => at += jump(accumulator >= operand),
            JUMP_SET => at += jump(accumulator & operand != 0),
            _ => {}
        }
    }
}

fn takes(program: &[Instruction], packet: &[u8]) -> bool {
    match run(program, packet) {
        0 => false,
        wanted => {
            assert!(usize::try_from(wanted).unwrap() > usize::from(u16::MAX), "not all of it");
            true
        }
    }
}

/// What the documentation of the programs says, in words of another kind.
fn is_segment_for_us(tcp: &[u8]) -> bool {
    let port = tcp.get(2..4).map(|port| u16::from_be_bytes([port[0], port[1]]));
    let block = PORTS.first..PORTS.first + PORTS.count;
    let is_ours = port.is_some_and(|port| block.contains(&port));
    is_ours && tcp.get(13).is_some_and(|flags| Flags(*flags).0 & (Flags::SYN | Flags::RST).0 != 0)
}

fn behind_ipv4(packet: &[u8]) -> Option<&[u8]> {
    packet.get(usize::from(packet.first()? & 0xf) * 4..)
}

fn is_error_v4(message: &[u8]) -> bool {
    matches!(message.first(), Some(3 | 11))
}

fn is_error_v6(message: &[u8]) -> bool {
    message.first().is_some_and(|&kind| kind < 128)
}

/// What each program should take.
fn expected(packet: &[u8]) -> [bool; 6] {
    let upper = behind_ipv4(packet);
    let (tcp_v4, icmp_v4) = (upper.is_some_and(is_segment_for_us), upper.is_some_and(is_error_v4));
    let upper_v6 = packet.get(40..);
    let tcp_v6 = upper_v6.is_some_and(is_segment_for_us);
    let icmp_v6 = upper_v6.is_some_and(is_error_v6);
    let protocol = |at: usize, number: u8| packet.get(at) == Some(&number);
    [
        tcp_v4,
        is_segment_for_us(packet),
        icmp_v4,
        is_error_v6(packet),
        protocol(9, 6) && tcp_v4 || protocol(9, 1) && icmp_v4,
        protocol(6, 6) && tcp_v6 || protocol(6, 58) && icmp_v6,
    ]
}

fn programs() -> [Vec<Instruction>; 6] {
    [raw_v4(PORTS), raw_v6(PORTS), icmp_v4(), icmp_v6(), packet_v4(PORTS), packet_v6(PORTS)]
}

fn taken(packet: &[u8]) -> [bool; 6] {
    programs().map(|program| takes(&program, packet))
}

#[test]
fn every_jump_and_every_end_is_within_the_program() {
    for program in programs().into_iter().chain([arp_replies()]) {
        for (at, instruction) in program.iter().enumerate() {
            let Instruction { code, jump_true, jump_false, .. } = *instruction;
            if matches!(code, JUMP_EQUAL | JUMP_GREATER_EQUAL | JUMP_SET) {
                let furthest = at + 1 + usize::from(jump_true.max(jump_false));
                assert!(furthest < program.len(), "{at}: {instruction:?}");
            } else {
                assert_eq!((jump_true, jump_false), (0, 0));
            }
        }
        assert_eq!(program.last().map(|last| last.code), Some(RETURN));
    }
}

#[test]
fn answers_pass_to_the_sockets_of_their_family() {
    let (_, [v4, v6]) = two_flights();
    for flags in [SYN_ACK, RST_ACK, Flags::RST] {
        let segment = answer(&v4, flags);
        let whole = packet(v4.target.ip(), v4.source, protocol::TCP, &segment);
        assert!(takes(&raw_v4(PORTS), &whole) && takes(&packet_v4(PORTS), &whole));
        // IP options move what follows.
        let mut longer = whole.clone();
        longer[0] = 0x47;
        longer.splice(20..20, [1; 8]);
        assert!(takes(&raw_v4(PORTS), &longer) && takes(&packet_v4(PORTS), &longer));
        let segment = answer(&v6, flags);
        let whole = packet(v6.target.ip(), v6.source, protocol::TCP, &segment);
        assert!(takes(&raw_v6(PORTS), &segment) && takes(&packet_v6(PORTS), &whole));
    }
}

#[test]
fn traffic_that_is_no_answer_stays_outside() {
    let (_, [v4, v6]) = two_flights();
    for (flight, is_v4) in [(v4, true), (v6, false)] {
        let all = |protocol: u8, upper: &[u8]| {
            let whole = packet(flight.target.ip(), flight.source, protocol, upper);
            let raw =
                if is_v4 { takes(&raw_v4(PORTS), &whole) } else { takes(&raw_v6(PORTS), upper) };
            let ring = if is_v4 { packet_v4(PORTS) } else { packet_v6(PORTS) };
            (raw, takes(&ring, &whole))
        };
        for flags in [Flags::ACK, Flags::ACK | Flags::PSH, Flags::ACK | Flags::FIN, Flags(0)] {
            assert_eq!(all(protocol::TCP, &answer(&flight, flags)), (false, false), "{flags:?}");
        }
        for port in [PORTS.first - 1, PORTS.first + PORTS.count, 443, 0, 65_535] {
            let mut elsewhere = answer(&flight, SYN_ACK);
            elsewhere[2..4].copy_from_slice(&port.to_be_bytes());
            assert_eq!(all(protocol::TCP, &elsewhere), (false, false), "{port}");
        }
        let segment = answer(&flight, SYN_ACK);
        for other in [protocol::UDP, protocol::ESP, protocol::HOP_BY_HOP, protocol::FRAGMENT] {
            assert!(!all(other, &segment).1, "{other}");
        }
    }
}

#[test]
fn of_icmp_only_errors_pass() {
    let (_, [v4, v6]) = two_flights();
    let wrap = |from: IpAddr, to, protocol, message: &[u8]| packet(from, to, protocol, message);
    for kind in 0..=u8::MAX {
        let head = [kind, 0, 0, 0, 0, 0, 0, 0];
        let message = icmp(router(&v4), v4.source, head, &[0; 28]);
        let whole = wrap(router(&v4), v4.source, protocol::ICMPV4, &message);
        let passes = (takes(&icmp_v4(), &whole), takes(&packet_v4(PORTS), &whole));
        let expected = matches!(kind, 3 | 11);
        assert_eq!(passes, (expected, expected), "{kind}");
        let message = icmp(router(&v6), v6.source, head, &[0; 48]);
        let whole = wrap(router(&v6), v6.source, protocol::ICMPV6, &message);
        let passes = (takes(&icmp_v6(), &message), takes(&packet_v6(PORTS), &whole));
        assert_eq!(passes, (kind < 128, kind < 128), "{kind}");
    }
}

#[test]
fn of_arp_only_replies_for_this_host_pass() {
    let mut arp = [0; 28];
    for operation in 0..=u16::MAX {
        arp[6..8].copy_from_slice(&operation.to_be_bytes());
        assert_eq!(takes(&arp_replies(), &arp), operation == 2, "{operation}");
    }
    arp[6..8].copy_from_slice(&[0, 2]);
    // This host, all, several; another host, sent by this one.
    for (packet_type, passes) in (0..).zip([true, true, true, false, false]) {
        let wanted = run_of_type(&arp_replies(), &arp, packet_type);
        assert_eq!(wanted > 0, passes, "{packet_type}");
    }
    for length in 0..8 {
        assert!(!takes(&arp_replies(), &arp[..length]), "{length} bytes");
    }
}

#[test]
fn a_packet_that_ends_too_early_is_dropped_and_read_no_further() {
    let (_, both) = two_flights();
    for flight in both {
        let segment = answer(&flight, SYN_ACK);
        let whole = packet(flight.target.ip(), flight.source, protocol::TCP, &segment);
        for length in 0..=whole.len() {
            assert_eq!(taken(&whole[..length]), expected(&whole[..length]), "{length} bytes");
        }
        assert_eq!(taken(&[]), [false; 6]);
    }
}

#[test]
fn any_packet_is_taken_or_dropped_as_documented() {
    let (_, both) = two_flights();
    let mut random = Random(4);
    let mut counts = [0_u32; 6];
    for round in 0..100_000 {
        let flight = &both[round % 2];
        let mut segment = answer(flight, Flags(random.byte()));
        if random.below(4) == 0 {
            // As the type of an ICMP message.
            segment[0] = [3, 11, 4, 127, 128][random.below(5)];
        }
        let protocol = [6, 6, 6, 1, 58, 17][random.below(6)];
        let mut bytes = packet(flight.target.ip(), flight.source, protocol, &segment);
        // Some begin with the segment, as for a raw socket of IPv6.
        if random.below(3) == 0 {
            bytes = segment;
        }
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len().min(64));
            bytes[at] = random.byte();
        }
        if random.below(4) == 0 {
            bytes.truncate(random.below(bytes.len() + 1));
        }
        let taken = taken(&bytes);
        assert_eq!(taken, expected(&bytes), "{bytes:02x?}");
        for (count, taken) in counts.iter_mut().zip(taken) {
            *count += u32::from(taken);
        }
    }
    assert!(counts.iter().all(|&count| count > 500), "too few are taken to say: {counts:?}");
}

#[test]
fn blocks_of_any_size_have_exactly_their_ports() {
    let (_, [flight, _]) = two_flights();
    let mut segment = answer(&flight, SYN_ACK);
    for (first, count) in [(40_000, 1), (40_000, 64), (64_512, 1024), (1024, 1024), (65_535, 1)] {
        let program = raw_v6(Ports { first, count });
        for port in 0..=u16::MAX {
            segment[2..4].copy_from_slice(&port.to_be_bytes());
            let is_in = port >= first && port - first < count;
            assert_eq!(takes(&program, &segment), is_in, "{port}");
        }
    }
}
