//! What the kernel does with bytecode, after net/ipv4/inet_diag.c.

use std::net::{IpAddr, SocketAddr};

use crate::Row;

fn u16_at(code: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes(code[at..at + 2].try_into().expect("two"))
}

/// The words of an address as the kernel keeps it, and its family.
fn words(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (2, address.octets().to_vec()),
        IpAddr::V6(address) => (10, address.octets().to_vec()),
    }
}

/// `bitstring_match`.
fn same_bits(one: &[u8], other: &[u8], bits: u8) -> bool {
    (0..usize::from(bits)).all(|bit| {
        let mask = 0x80 >> (bit % 8);
        one[bit / 8] & mask == other[bit / 8] & mask
    })
}

fn host(condition: &[u8], socket: SocketAddr) -> bool {
    let port = i32::from_ne_bytes(condition[4..8].try_into().expect("four"));
    if port != -1 && port != i32::from(socket.port()) {
        return false;
    }
    let (family, address) = words(socket.ip());
    let (wanted, bits, prefix) = (condition[0], condition[1], &condition[8..]);
    if wanted != 0 && wanted != family {
        return family == 10
            && wanted == 2
            && address[..12] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
            && same_bits(&address[12..], prefix, bits);
    }
    bits == 0 || same_bits(&address, prefix, bits)
}

/// `inet_diag_bc_run`. No code accepts everything.
pub fn accepts(code: &[u8], row: &Row) -> bool {
    let mut at = 0;
    while at < code.len() {
        let data = at + 4;
        let holds = match code[at] {
            0 => true,
            1 => false,
            2 => row.local.port() >= u16_at(code, data + 2),
            3 => row.local.port() <= u16_at(code, data + 2),
            4 => row.remote.port() >= u16_at(code, data + 2),
            5 => row.remote.port() <= u16_at(code, data + 2),
            7 => host(&code[data..], row.local),
            8 => host(&code[data..], row.remote),
            9 => row.interface.to_ne_bytes() == code[data..data + 4],
            other => panic!("no operation {other}"),
        };
        at += if holds { usize::from(code[at + 1]) } else { usize::from(u16_at(code, at + 2)) };
    }
    at == code.len()
}

/// `valid_cc`: whether an operation begins at `wanted`, or the code ends there.
fn is_operation(code: &[u8], wanted: usize) -> bool {
    let mut at = 0;
    while at < wanted {
        at += usize::from(code[at + 1]);
    }
    at == wanted
}

/// `inet_diag_bc_audit`: says at which byte the kernel would stop.
pub fn audit(code: &[u8]) -> Result<(), usize> {
    if code.len() < 4 {
        return Err(0);
    }
    let mut at = 0;
    while at < code.len() {
        let left = code.len() - at;
        let least = match code[at] {
            1 => 4,
            2..=5 | 9 => 8,
            7 | 8 if left >= 12 => {
                let address = match code[at + 4] {
                    0 => 0,
                    2 => 4,
                    10 => 16,
                    _ => return Err(at),
                };
                if usize::from(code[at + 5]) > 8 * address {
                    return Err(at);
                }
                12 + address
            }
            _ => return Err(at),
        };
        let (yes, no) = (usize::from(code[at + 1]), usize::from(u16_at(code, at + 2)));
        let fits = |jump: usize| jump >= least && jump <= left + 4 && jump.is_multiple_of(4);
        if left < least || !fits(yes) || !fits(no) {
            return Err(at);
        }
        if no < left && !is_operation(code, at + no) {
            return Err(at);
        }
        at += yes;
    }
    if at == code.len() { Ok(()) } else { Err(at) }
}
