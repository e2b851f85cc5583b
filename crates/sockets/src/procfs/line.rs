//! One line of `/proc/net/{tcp,tcp6,udp,udp6}`. Never panics, whatever the line.
//!
//! ```text
//! sl local_address rem_address   st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
//! 0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000 112 0 18021 ...
//! ```
//! Addresses are 32-bit words in host byte order, printed in hexadecimal; ports are hexadecimal.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use portolan_flow::Transport;

use crate::{Row, State};

/// What a line turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A socket.
    Row(Box<Row>),
    /// The heading, or an empty line.
    Heading,
    /// Anything else.
    Unreadable,
}

/// Timers by the kernel's number (`get_tcp4_sock` in net/ipv4/tcp_ipv4.c).
const KEEPALIVE: u32 = 2;
const ZERO_WINDOW_PROBE: u32 = 4;

/// The kernel counts timers in hundredths of a second (`USER_HZ`, 100 on every architecture).
const MS_PER_TICK: u32 = 10;

/// Reads one line, without its line feed.
#[must_use]
pub fn parse(line: &[u8], transport: Transport) -> Line {
    let Ok(text) = std::str::from_utf8(line) else { return Line::Unreadable };
    let mut words = text.split_ascii_whitespace();
    match words.next() {
        None | Some("sl") => Line::Heading,
        Some(_) => row(words, transport).map_or(Line::Unreadable, |row| Line::Row(Box::new(row))),
    }
}

fn row<'a>(mut words: impl Iterator<Item = &'a str>, transport: Transport) -> Option<Row> {
    let local = address(words.next()?)?;
    let remote = address(words.next()?)?;
    let state = State::from_kernel(u8::from_str_radix(words.next()?, 16).ok()?)?;
    let (send_queue, receive_queue) = hex_pair(words.next()?)?;
    let (timer, ticks) = hex_pair(words.next()?)?;
    let retransmits = u32::from_str_radix(words.next()?, 16).ok()?;
    let uid = words.next()?.parse().ok()?;
    let probes: i64 = words.next()?.parse().ok()?;
    let inode = words.next()?.parse().ok()?;
    // As sock_diag tells it: how often what the timer is for was sent without an answer.
    let sent_again = match timer {
        KEEPALIVE | ZERO_WINDOW_PROBE => probes,
        _ => i64::from(retransmits),
    };
    if local.is_ipv4() != remote.is_ipv4() {
        return None;
    }
    Some(Row {
        transport,
        state,
        local,
        remote,
        interface: 0,
        only_v6: None,
        receive_queue,
        send_queue,
        uid,
        inode,
        cookie: 0,
        retransmits: u8::try_from(sent_again).unwrap_or(u8::MAX),
        timer: u8::try_from(timer).ok()?,
        expires_ms: ticks.saturating_mul(MS_PER_TICK),
        tcp: None,
        memory: None,
    })
}

fn hex_pair(word: &str) -> Option<(u32, u32)> {
    let (one, other) = word.split_once(':')?;
    Some((u32::from_str_radix(one, 16).ok()?, u32::from_str_radix(other, 16).ok()?))
}

fn address(word: &str) -> Option<SocketAddr> {
    let (address, port) = word.split_once(':')?;
    let port = (port.len() == 4).then(|| u16::from_str_radix(port, 16).ok()).flatten()?;
    match address.len() {
        8 => Some(SocketAddr::new(Ipv4Addr::from(octets(address)?).into(), port)),
        32 => {
            let mut all = [0; 16];
            for (at, out) in all.chunks_exact_mut(4).enumerate() {
                out.copy_from_slice(&octets(address.get(at * 8..at * 8 + 8)?)?);
            }
            Some(SocketAddr::new(Ipv6Addr::from(all).into(), port))
        }
        _ => None,
    }
}

/// The kernel prints the word as a number, so its bytes in memory are the address.
fn octets(word: &str) -> Option<[u8; 4]> {
    u32::from_str_radix(word, 16).ok().map(u32::to_ne_bytes)
}

#[cfg(test)]
mod tests;
