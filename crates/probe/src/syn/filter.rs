//! Programs of classic BPF that let only possible answers through to a socket.

use portolan_sys::filter::Instruction;
use portolan_wire::protocol;

use super::ports::Ports;

// linux/bpf_common.h; class, size and mode added up.
const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE_AT_X: u16 = 0x50;
const LOAD_HALF_AT_X: u16 = 0x48;
const LOAD_X_HEADER_LEN: u16 = 0xb1;
const LOAD_X: u16 = 0x01;
const AND: u16 = 0x54;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_GREATER_EQUAL: u16 = 0x35;
const JUMP_SET: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Whom a packet is for, as the kernel sees it (`SKF_AD_OFF + SKF_AD_PKTTYPE` of linux/filter.h).
const PACKET_TYPE: u32 = 0xffff_f004;
/// `PACKET_OTHERHOST` of linux/if_packet.h; less means this host, alone or among others.
const OTHER_HOST: u32 = 3;
/// `ares_op$REPLY` of RFC 826, and where it stands.
const ARP_REPLY: u32 = 2;
const ARP_OPERATION: u32 = 6;

/// Everything there is of a packet.
const WHOLE: u32 = 0x4_0000;
/// SYN or RST.
const SYN_OR_RST: u32 = 0x02 | 0x04;

const fn op(code: u16, operand: u32) -> Instruction {
    Instruction { code, jump_true: 0, jump_false: 0, operand }
}

const fn jump(code: u16, operand: u32, jump_true: u8, jump_false: u8) -> Instruction {
    Instruction { code, jump_true, jump_false, operand }
}

/// What is a segment to one of `ports` with SYN or RST, when X is where TCP begins.
fn segment(ports: Ports) -> [Instruction; 7] {
    [
        op(LOAD_HALF_AT_X, 2),
        op(AND, ports.mask().into()),
        jump(JUMP_EQUAL, ports.first.into(), 0, 3),
        op(LOAD_BYTE_AT_X, 13),
        jump(JUMP_SET, SYN_OR_RST, 0, 1),
        op(RETURN, WHOLE),
        op(RETURN, 0),
    ]
}

/// For a raw TCP socket of IPv4, where a packet begins with the IP header.
pub fn raw_v4(ports: Ports) -> Vec<Instruction> {
    [&[op(LOAD_X_HEADER_LEN, 0)], segment(ports).as_slice()].concat()
}

/// For a raw TCP socket of IPv6, where it begins with the TCP header.
pub fn raw_v6(ports: Ports) -> Vec<Instruction> {
    [&[op(LOAD_X, 0)], segment(ports).as_slice()].concat()
}

/// For a raw ICMP socket of IPv4: destination unreachable and time exceeded.
pub fn icmp_v4() -> Vec<Instruction> {
    vec![
        op(LOAD_X_HEADER_LEN, 0),
        op(LOAD_BYTE_AT_X, 0),
        jump(JUMP_EQUAL, 3, 1, 0),
        jump(JUMP_EQUAL, 11, 0, 1),
        op(RETURN, WHOLE),
        op(RETURN, 0),
    ]
}

/// For a raw ICMPv6 socket: errors, of which the type is less than 128.
pub fn icmp_v6() -> Vec<Instruction> {
    vec![op(LOAD_BYTE, 0), jump(JUMP_GREATER_EQUAL, 128, 1, 0), op(RETURN, WHOLE), op(RETURN, 0)]
}

/// For a packet socket of IPv4: also ICMP errors, which are few, whatever they quote.
pub fn packet_v4(ports: Ports) -> Vec<Instruction> {
    let head = [
        op(LOAD_X_HEADER_LEN, 0),
        op(LOAD_BYTE, 9),
        jump(JUMP_EQUAL, protocol::TCP.into(), 6, 0),
        jump(JUMP_EQUAL, protocol::ICMPV4.into(), 0, 4),
        op(LOAD_BYTE_AT_X, 0),
        jump(JUMP_EQUAL, 3, 1, 0),
        jump(JUMP_EQUAL, 11, 0, 1),
        op(RETURN, WHOLE),
        op(RETURN, 0),
    ];
    [head.as_slice(), &segment(ports)].concat()
}

/// For a packet socket of IPv6: also ICMPv6 errors, of which the type is less than 128. What has
/// extension headers is no answer to a SYN.
pub fn packet_v6(ports: Ports) -> Vec<Instruction> {
    let head = [
        op(LOAD_X, 40),
        op(LOAD_BYTE, 6),
        jump(JUMP_EQUAL, protocol::TCP.into(), 5, 0),
        jump(JUMP_EQUAL, protocol::ICMPV6.into(), 0, 3),
        op(LOAD_BYTE, 40),
        jump(JUMP_GREATER_EQUAL, 128, 1, 0),
        op(RETURN, WHOLE),
        op(RETURN, 0),
    ];
    [head.as_slice(), &segment(ports)].concat()
}

/// For a packet socket of ARP: replies that are for this host. A link in promiscuous mode brings
/// those for others, and of a VLAN that this host is not in.
pub fn arp_replies() -> Vec<Instruction> {
    vec![
        op(LOAD_BYTE, PACKET_TYPE),
        jump(JUMP_GREATER_EQUAL, OTHER_HOST, 2, 0),
        op(LOAD_HALF, ARP_OPERATION),
        jump(JUMP_EQUAL, ARP_REPLY, 1, 0),
        op(RETURN, 0),
        op(RETURN, WHOLE),
    ]
}

#[cfg(test)]
mod tests;
