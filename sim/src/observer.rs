//! What the wire alone tells of right and wrong: no word of a stack is believed.
//!
//! For each connection and each of its ends the observer keeps what that end sent, and what arrived
//! there unharmed. From that follows what the end may send next.

use std::{collections::BTreeMap, net::SocketAddr};

use portolan_stack::Instant;
use portolan_wire::{Check, protocol, tcp::Flags};

use crate::{frame::Datagram, violation::Violation};

mod arrivals;
mod end;
mod ranges;

use end::End;

/// Watches a wire between two hosts.
#[derive(Debug, Default)]
pub struct Observer {
    connections: BTreeMap<Ends, Connection>,
    /// Largest IP packet of each host.
    mtu: [usize; 2],
    /// Which host is held to all rules: the others are peers that somebody else wrote.
    is_strict: [bool; 2],
    /// Which host has lost packets before they got on the wire.
    pub has_lost: [bool; 2],
    /// How many segments were seen.
    pub segments: u64,
}

/// The addresses and ports of host 0 and host 1.
type Ends = (SocketAddr, SocketAddr);

#[derive(Debug, Default)]
struct Connection {
    ends: [End; 2],
    /// Segments of both ends since something new came through.
    without_progress: u32,
}

impl Observer {
    /// An observer of two hosts with links of this MTU; strict with those that are marked.
    #[must_use]
    pub fn new(mtu: [usize; 2], is_strict: [bool; 2]) -> Self {
        Self { mtu, is_strict, ..Self::default() }
    }

    /// A host sends this frame.
    ///
    /// # Errors
    ///
    /// [`Violation`] when it must not.
    pub fn sent(&mut self, host: usize, frame: &[u8], now: Instant) -> Result<(), Violation> {
        let Some(datagram) = Datagram::read(frame) else { return Ok(()) };
        let refuse = |rule, what: String| Err(Violation::new(rule, what).at(now));
        if datagram.packet.len() > self.mtu[host] {
            let (length, mtu) = (datagram.packet.len(), self.mtu[host]);
            return refuse("mtu", format!("host {host} sends {length} bytes over {mtu}"));
        }
        if datagram.protocol != protocol::TCP {
            return Ok(());
        }
        let Some(segment) = datagram.segment() else {
            return refuse("format", format!("host {host} sends a malformed segment"));
        };
        let who = format!("host {host} to {}, {}", segment.destination, said(&segment.packet));
        if segment.checksum != Check::Right {
            return refuse("checksum", who);
        }
        self.segments += 1;
        let ends = ends(host, segment.source, segment.destination);
        let connection = self.connections.entry(ends).or_default();
        let [first, second] = &mut connection.ends;
        let (this, other) = if host == 0 { (first, second) } else { (second, first) };
        let checked = this.sends(other, &segment, datagram.ecn);
        connection.without_progress += 1;
        match checked {
            Ok(true) => connection.without_progress = 0,
            Ok(false) => {}
            // What was lost within a host was sent, and never seen.
            Err(("sequence", _)) if self.has_lost[host] => {}
            Err((rule, what)) if self.is_strict[host] => {
                return refuse(rule, format!("{who}: {what}"));
            }
            Err(_) => {}
        }
        if connection.without_progress > WITHOUT_PROGRESS_MAX && self.is_strict[host] {
            let what = format!("{who}: {WITHOUT_PROGRESS_MAX} segments, and nothing came of it");
            return refuse("storm", what);
        }
        Ok(())
    }

    /// This frame is handed to a host.
    pub fn arrived(&mut self, host: usize, frame: &[u8], now: Instant) {
        let Some(datagram) = Datagram::read(frame) else { return };
        let Some(segment) = datagram.segment() else { return };
        if segment.checksum != Check::Right {
            return;
        }
        let ends = ends(host, segment.destination, segment.source);
        let Some(connection) = self.connections.get_mut(&ends) else { return };
        if connection.ends[host].gets(&segment, now) {
            connection.without_progress = 0;
        }
    }

    /// A program of the host has this connection from now on, or has it no more.
    pub fn holds(&mut self, host: usize, local: SocketAddr, remote: SocketAddr, holds: bool) {
        let connection = self.connections.entry(ends(host, local, remote)).or_default();
        connection.ends[host].is_held = holds;
    }

    /// Whether a reset arrived at the host for this connection.
    #[must_use]
    pub fn was_reset(&self, host: usize, local: SocketAddr, remote: SocketAddr) -> bool {
        self.end(host, local, remote).is_some_and(|end| end.arrived.reset || end.was_reset)
    }

    /// When the host last got a segment of this connection; none if it never did.
    #[must_use]
    pub fn heard_at(&self, host: usize, local: SocketAddr, remote: SocketAddr) -> Option<Instant> {
        self.end(host, local, remote)?.arrived.heard_at
    }

    /// The first sequence number that the host chose, of any connection.
    #[must_use]
    pub fn first_sequence(&self, host: usize) -> Option<portolan_wire::Seq> {
        self.connections.values().find_map(|connection| connection.ends[host].first())
    }

    fn end(&self, host: usize, local: SocketAddr, remote: SocketAddr) -> Option<&End> {
        self.connections.get(&ends(host, local, remote)).map(|connection| &connection.ends[host])
    }
}

fn ends(host: usize, local: SocketAddr, remote: SocketAddr) -> Ends {
    if host == 0 { (local, remote) } else { (remote, local) }
}

/// A segment in one line, as in the reports.
#[must_use]
pub fn said(packet: &portolan_wire::tcp::Packet<'_>) -> String {
    let acknowledgment = match packet.flags().contains(Flags::ACK) {
        true => format!(" ack {}", packet.acknowledgment()),
        false => String::new(),
    };
    format!(
        "{:?} {}({}){acknowledgment} win {}",
        packet.flags(),
        packet.sequence(),
        packet.payload().len(),
        packet.window()
    )
}

/// Far above what timers can send while nothing gets through: they back off.
const WITHOUT_PROGRESS_MAX: u32 = 1_000;

#[cfg(test)]
mod tests;
