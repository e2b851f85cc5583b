//! Numbers and addresses as text, appended to bytes. A listing of a million sockets writes several
//! million of them, and `std::fmt` would take most of its time.

use std::{
    io::Write,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};

/// Each octet in decimal with the dot that follows it, padded with blanks.
const OCTETS: [[u8; 4]; 256] = octets();

/// An IPv4 address with its port: `255.255.255.255:65535`.
const V4_BYTES_MAX: usize = 21;

/// Room for an address and what is written beyond it, in whole steps, before it is cut.
const V4_ROOM: usize = 24;

/// The digits of `u64::MAX`.
const NUMBER_BYTES_MAX: usize = 20;

/// Blanks to pad with, as many as any column is wide.
const BLANKS: [u8; 64] = [b' '; 64];

const fn octets() -> [[u8; 4]; 256] {
    let mut table = [*b"    "; 256];
    let mut octet = 0;
    while octet < 256 {
        let (hundreds, tens, ones) = (octet / 100, octet / 10 % 10, octet % 10);
        let mut at = 0;
        if hundreds > 0 {
            table[octet][at] = b'0' + hundreds as u8;
            at += 1;
        }
        if octet >= 10 {
            table[octet][at] = b'0' + tens as u8;
            at += 1;
        }
        table[octet][at] = b'0' + ones as u8;
        table[octet][at + 1] = b'.';
        octet += 1;
    }
    table
}

/// How many digits the octet has.
fn octet_digits(octet: u8) -> usize {
    1 + usize::from(octet >= 10) + usize::from(octet >= 100)
}

/// Appends a number in decimal.
pub fn number(number: impl Into<u64>, out: &mut Vec<u8>) {
    let mut rest = number.into();
    if rest < 10 {
        return out.push(b'0' + rest as u8);
    }
    let mut digits = [0; NUMBER_BYTES_MAX];
    let mut at = digits.len();
    while rest >= 10 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    at -= 1;
    digits[at] = b'0' + rest as u8;
    out.extend_from_slice(&digits[at..]);
}

/// Appends a number in hexadecimal.
pub fn hexadecimal(number: u64, out: &mut Vec<u8>) {
    let digits = (16 - number.leading_zeros() as usize / 4).max(1);
    for place in (0..digits).rev() {
        out.push(b"0123456789abcdef"[(number >> (4 * place)) as usize & 0xf]);
    }
}

/// Appends an address without brackets.
pub fn address(address: IpAddr, out: &mut Vec<u8>) {
    match address {
        IpAddr::V4(v4) => {
            let (text, length) = dotted_quad(v4);
            out.extend_from_slice(&text);
            out.truncate(out.len() - V4_ROOM + length);
        }
        // Writing to a vector cannot fail.
        IpAddr::V6(v6) => drop(write!(out, "{v6}")),
    }
}

/// Appends an address as it stands before a port: one of IPv6 in brackets.
pub fn host(host: IpAddr, out: &mut Vec<u8>) {
    match host {
        IpAddr::V4(_) => address(host, out),
        // Writing to a vector cannot fail.
        IpAddr::V6(v6) => drop(write!(out, "[{v6}]")),
    }
}

/// Appends an address with its port; `*` stands for port 0 where there is a star to be `missing`.
pub fn end(end: &SocketAddr, star: bool, out: &mut Vec<u8>) {
    let start = out.len();
    padded_end(end, star, out);
    // No address ends in a blank.
    let length = out[start..].iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    out.truncate(start + length);
}

/// Appends an address with its port, padded with blanks to the width of any IPv4 one, and a blank.
pub fn padded_end(end: &SocketAddr, star: bool, out: &mut Vec<u8>) {
    let without_port = star && end.port() == 0;
    match end {
        SocketAddr::V4(v4) => {
            let (mut text, mut at) = dotted_quad(*v4.ip());
            text[at] = b':';
            at += 1;
            if without_port {
                text[at] = b'*';
            } else {
                port(v4.port(), &mut text, at);
            }
            out.extend_from_slice(&text);
            out.truncate(out.len() - V4_ROOM + V4_BYTES_MAX + 1);
        }
        SocketAddr::V6(v6) => {
            let start = out.len();
            // Without the interface of a link-local address, which is not the peer's.
            // Writing to a vector cannot fail.
            let _ = match without_port {
                true => write!(out, "[{}]:*", v6.ip()),
                false => write!(out, "[{}]:{}", v6.ip(), v6.port()),
            };
            pad(start, V4_BYTES_MAX, out);
        }
    }
}

/// Fills up what was appended since `start` with blanks to `width`, and appends one more.
pub fn pad(start: usize, width: usize, out: &mut Vec<u8>) {
    let missing = width.saturating_sub(out.len() - start) + 1;
    out.extend_from_slice(&BLANKS[..missing.min(BLANKS.len())]);
}

/// The address, blanks behind it, and its length.
fn dotted_quad(address: Ipv4Addr) -> ([u8; V4_ROOM], usize) {
    let mut text = [b' '; V4_ROOM];
    let mut at = 0;
    let octets = address.octets();
    for octet in octets {
        text[at..at + 4].copy_from_slice(&OCTETS[usize::from(octet)]);
        at += octet_digits(octet) + 1;
    }
    // The dot behind the last one.
    text[at - 1] = b' ';
    (text, at - 1)
}

/// Writes a port at `at`, where there is room for five digits.
fn port(port: u16, text: &mut [u8; V4_ROOM], at: usize) {
    let digits = 1
        + usize::from(port >= 10)
        + usize::from(port >= 100)
        + usize::from(port >= 1000)
        + usize::from(port >= 10_000);
    let mut rest = port;
    for place in text[at..at + digits].iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

#[cfg(test)]
mod tests;
