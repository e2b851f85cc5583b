//! What the host says about its ports.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    ops::RangeInclusive,
};

use portolan_sys::limits;

/// What the kernel has where nobody changed it.
const EPHEMERAL: (u16, u16) = (32_768, 60_999);

/// The state of listeners in `/proc/net/tcp` (`TCP_LISTEN` in include/net/tcp_states.h).
const LISTEN: &str = "0A";

/// What is known before the first connection, of the calling thread's network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// `net.ipv4.ip_local_port_range`.
    pub ephemeral: RangeInclusive<u16>,
    /// `net.ipv4.ip_local_reserved_ports`: never to be used unless asked for.
    pub reserved: Vec<RangeInclusive<u16>>,
    /// Ports that somebody listens on, in ascending order: taken, at least at that address.
    pub listening: Vec<u16>,
}

impl Host {
    /// Asks. What cannot be read is taken to be as usual.
    #[must_use]
    pub fn read() -> Self {
        let (first, last) = limits::ephemeral_ports().unwrap_or(EPHEMERAL);
        let reserved = limits::sysctl("net.ipv4.ip_local_reserved_ports").unwrap_or_default();
        let files = ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"];
        let tables = files.into_iter().filter_map(|file| File::open(file).ok());
        let mut listening: Vec<u16> =
            tables.flat_map(|table| listening(BufReader::new(table))).collect();
        listening.sort_unstable();
        listening.dedup();
        Self { ephemeral: first..=last, reserved: parse_reserved(&reserved), listening }
    }
}

/// Ports of the listeners in a table as of `/proc/net/tcp`: they come before all connections
/// (`tcp_seq_start` in net/ipv4/tcp_ipv4.c), so no more is read.
fn listening(table: impl BufRead) -> Vec<u16> {
    let port = |line: String| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, _remote, state) = (fields.next()?, fields.next()?, fields.next()?);
        let (_address, port) = local.rsplit_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        (state == LISTEN).then_some(port)
    };
    table.lines().skip(1).map_while(Result::ok).map_while(port).collect()
}

/// Reads `net.ipv4.ip_local_reserved_ports`: `8080,9000-9010`. What cannot be read is left out.
#[must_use]
pub fn parse_reserved(text: &str) -> Vec<RangeInclusive<u16>> {
    let range = |item: &str| {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).collect()
}

#[cfg(test)]
mod tests;
