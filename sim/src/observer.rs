//! What the wire alone tells of right and wrong: no word of a stack is believed.
//!
//! For each connection and each of its ends the observer keeps what that end sent, and what arrived
//! there unharmed. From that follows what the end may send next.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use portolan_stack::Instant;
use portolan_wire::{Check, protocol, tcp::Flags};

use crate::{
    coverage::{Coverage, Happening},
    frame::{Datagram, Segment},
    host::{Numbers, State},
    violation::Violation,
};

mod arrivals;
mod end;
mod lifecycle;
mod ranges;

pub use lifecycle::Cause;

use end::{Broken, End};
use lifecycle::{Change, Lifecycle};

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
    /// What was seen.
    pub coverage: Coverage,
    /// Which connections each host has, by its own word: its end and the other one.
    alive: [Vec<Ends>; 2],
}

/// Addresses and ports: of host 0 and host 1, or of a host and the other one.
pub type Ends = (SocketAddr, SocketAddr);

/// A connection that a host gave up for want of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenUp {
    /// In which state.
    pub state: State,
    /// Since when it was in that.
    pub since: Instant,
}

#[derive(Debug, Default)]
struct Connection {
    ends: [End; 2],
    lives: [Lifecycle; 2],
    /// Segments of both ends since something new came through.
    without_progress: u32,
}

impl Observer {
    /// An observer of two hosts with links of this MTU; strict with those that are marked.
    #[must_use]
    pub fn new(mtu: [usize; 2], is_strict: [bool; 2]) -> Self {
        Self { mtu, is_strict, ..Self::default() }
    }

    /// A host sends this frame. Of which connection it is, from there to here.
    ///
    /// # Errors
    ///
    /// [`Violation`] when it must not.
    pub fn sent(
        &mut self,
        host: usize,
        frame: &[u8],
        now: Instant,
    ) -> Result<Option<Ends>, Violation> {
        let Some(datagram) = Datagram::read(frame) else { return Ok(None) };
        let refuse = |rule, what: String| Err(Violation::new(rule, what).at(now));
        if datagram.packet.len() > self.mtu[host] {
            let (length, mtu) = (datagram.packet.len(), self.mtu[host]);
            return refuse("mtu", format!("host {host} sends {length} bytes over {mtu}"));
        }
        if datagram.protocol != protocol::TCP {
            return Ok(None);
        }
        let Some(segment) = datagram.segment() else {
            return refuse("format", format!("host {host} sends a malformed segment"));
        };
        let who = format!("host {host} to {}, {}", segment.destination, said(&segment.packet));
        if segment.checksum != Check::Right {
            return refuse("checksum", who);
        }
        self.segments += 1;
        note_segment(&mut self.coverage, &segment);
        let ends = ends(host, segment.source, segment.destination);
        let connection = self.connections.entry(ends).or_default();
        let checked = connection.ends[host].sends(&segment, now);
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
        Ok(Some((segment.source, segment.destination)))
    }

    /// This frame is handed to a host. To which connection, and what it may do there; none where it
    /// is for none that is known.
    pub fn arrived(&mut self, host: usize, frame: &[u8], now: Instant) -> Option<(Ends, Cause)> {
        let datagram = Datagram::read(frame)?;
        let segment = datagram.segment()?;
        if segment.checksum != Check::Right {
            return None;
        }
        let ends = ends(host, segment.destination, segment.source);
        let connection = self.connections.get_mut(&ends)?;
        let cause = cause(&segment, &connection.ends[host]);
        if connection.ends[host].gets(&segment, now) {
            connection.without_progress = 0;
        }
        Some(((segment.destination, segment.source), cause))
    }

    /// A program of the host has this connection from now on, or has it no more.
    pub fn holds(&mut self, host: usize, local: SocketAddr, remote: SocketAddr, holds: bool) {
        let connection = self.connections.entry(ends(host, local, remote)).or_default();
        connection.ends[host].is_held = holds;
    }

    /// A host says how a connection stands after this; none: it has none. Whether it was given up
    /// for want of an answer by that.
    ///
    /// # Errors
    ///
    /// [`Violation`] when that cannot be.
    pub fn moved(
        &mut self,
        host: usize,
        (local, remote): Ends,
        numbers: Option<Numbers>,
        (cause, at): (Cause, Instant),
    ) -> Result<Option<GivenUp>, Violation> {
        let connection = self.connections.entry(ends(host, local, remote)).or_default();
        let life = &mut connection.lives[host];
        let was_there = life.is_there();
        let end = &mut connection.ends[host];
        let changed = life.step(numbers, cause, at).and_then(|change| {
            numbers.map_or(Ok(()), |numbers| end.bears_out(&numbers, self.has_lost[host]))?;
            bears_out_segment(end, change, cause)?;
            Ok(change)
        });
        let change = changed.map_err(|(rule, what)| {
            Violation::new(rule, format!("host {host}, {local} to {remote}: {what}"))
        })?;
        let Some((before, now)) = change else { return Ok(None) };
        let una = |numbers: Option<Numbers>| numbers.map(|numbers| numbers.snd_una);
        if let Some(numbers) = now.filter(|_| una(before) != una(now)) {
            let is_all = numbers.snd_una == numbers.snd_nxt;
            end.waits_since = (!is_all).then_some(at);
        }
        if !was_there && cause.contains(Cause::COOKIE) {
            end.begins_anew();
        }
        if was_there != now.is_some() {
            let alive = &mut self.alive[host];
            alive.retain(|ends| *ends != (local, remote));
            alive.extend(now.is_some().then_some((local, remote)));
        }
        let state =
            |numbers: Option<Numbers>| numbers.map_or(State::Closed, |numbers| numbers.state);
        note_states(&mut self.coverage, state(before), state(now));
        let is_through = end.is_through() || self.has_lost[host];
        let is_end = (state(before), state(now)) == (State::LastAck, State::Closed);
        if is_end && cause.is_acknowledgment() && !is_through {
            let what = format!("host {host}, {local} to {remote}: LAST-ACK ends by no ACK of FIN");
            return Err(Violation::new("state", what));
        }
        let of_time = cause == Cause::TIME && now.is_none();
        let waited = at.since(connection.lives[host].since());
        if of_time && state(before) == State::TimeWait && waited < TIME_WAIT_LEAST {
            let what = format!("host {host}, {local} to {remote}: TIME-WAIT ends after {waited:?}");
            return Err(Violation::new("state", what));
        }
        let (state, since) = (state(before), connection.lives[host].since());
        let given_up = (of_time && state != State::TimeWait).then_some(GivenUp { state, since });
        connection.ends[host].has_given_up |= given_up.is_some();
        Ok(given_up)
    }

    /// Since when the host waits for an acknowledgment that takes something; none if for nothing.
    #[must_use]
    pub fn waits_since(&self, host: usize, (local, remote): Ends) -> Option<Instant> {
        self.end(host, local, remote)?.waits_since
    }

    /// Whether the host has given the connection up for want of an answer.
    #[must_use]
    pub fn has_given_up(&self, host: usize, (local, remote): Ends) -> bool {
        self.end(host, local, remote).is_some_and(|end| end.has_given_up)
    }

    /// The connections that a host has, by its own word: its end and the other one.
    #[must_use]
    pub fn alive(&self, host: usize) -> &[Ends] {
        &self.alive[host]
    }

    /// Whether a reset arrived at the host for this connection.
    #[must_use]
    pub fn was_reset(&self, host: usize, local: SocketAddr, remote: SocketAddr) -> bool {
        self.end(host, local, remote).is_some_and(|end| end.arrived.reset || end.was_reset)
    }

    /// Whether the host's connection was reset by a peer that somebody else wrote: smoltcp 0.14
    /// takes an old SYN of a connection that it has for the first one of another, and resets both.
    #[must_use]
    pub fn was_reset_by_other(&self, host: usize, (local, remote): Ends) -> bool {
        !self.is_strict[1 - host] && self.was_reset(host, local, remote)
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

/// Whether what arrived last may have done that.
fn bears_out_segment(end: &End, change: Option<Change>, cause: Cause) -> Result<(), Broken> {
    let Some((Some(before), now)) = change else { return Ok(()) };
    let Some(now) = now else {
        return if cause.contains(Cause::RST) { end.allows_reset(&before) } else { Ok(()) };
    };
    if before.state == State::TimeWait && now.state != State::TimeWait {
        return end.allows_again(&before);
    }
    let is_moved =
        (before.state, before.snd_una, before.rcv_nxt) != (now.state, now.snd_una, now.rcv_nxt);
    if cause.contains(Cause::OLD) && is_moved {
        return Err(("timestamps", format!("an old segment is taken: {before:?}, {now:?}")));
    }
    Ok(())
}

/// What this segment may do to the end that gets it.
fn cause(segment: &Segment<'_>, end: &End) -> Cause {
    let flags = segment.packet.flags();
    let is_cookie =
        flags.contains(Flags::ACK) && end.has_begun_before(segment.packet.acknowledgment());
    [
        (flags.contains(Flags::SYN), Cause::SYN),
        (flags.contains(Flags::ACK), Cause::ACK),
        (flags.contains(Flags::FIN), Cause::FIN),
        (flags.contains(Flags::RST), Cause::RST),
        (!segment.packet.payload().is_empty(), Cause::DATA),
        (is_cookie, Cause::COOKIE),
        (end.is_old(&segment.packet.repr()), Cause::OLD),
    ]
    .into_iter()
    .filter(|(holds, _)| *holds)
    .fold(Cause::default(), |all, (_, one)| all.and(one))
}

fn note_segment(coverage: &mut Coverage, segment: &Segment<'_>) {
    let flags = segment.packet.flags();
    if segment.packet.window() == 0 && !flags.contains(Flags::RST) {
        coverage.note(Happening::ZeroWindow);
    }
    let (first, length) = (segment.packet.sequence(), segment.packet.sequence_len());
    if first.0.checked_add(length).is_none_or(|_| first.0 == 0) && length > 0 {
        coverage.note(Happening::Wrapped);
    }
}

fn note_states(coverage: &mut Coverage, from: State, to: State) {
    let what = match (from, to) {
        (State::SynSent, State::SynReceived) => Happening::SimultaneousOpen,
        (State::TimeWait, State::SynReceived | State::Established) => Happening::TimeWaitReused,
        (from, to) if from == to => return,
        (_, State::Closing) => Happening::SimultaneousClose,
        (_, State::FinWait2) => Happening::FinWait2,
        (_, State::LastAck) => Happening::LastAck,
        (_, State::TimeWait) => Happening::TimeWait,
        _ => return,
    };
    coverage.note(what);
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

/// Twice the maximum segment lifetime, as the stack has it (RFC 9293, section 3.6.1), and what a
/// wheel of milliseconds rounds.
const TIME_WAIT_LEAST: Duration = Duration::from_millis(59_999);
/// Far above what timers can send while nothing gets through: they back off.
const WITHOUT_PROGRESS_MAX: u32 = 1_000;

#[cfg(test)]
mod tests;
