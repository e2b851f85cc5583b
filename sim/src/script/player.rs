//! Scripts are played.

use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
    time::Duration,
};

use portolan_stack::Instant;
use portolan_wire::{
    Seq,
    tcp::{self, Flags},
};

use super::{Mismatch, Name, Number, Pattern, Script, Step, When};
use crate::{
    frame::{Datagram, Frame, Way, of_segment},
    host::{self, Event, Failure, Handle, Host, Received},
    neighbor,
    observer::said,
    pattern,
    pcap::Capture,
    world::host_of,
};

mod connection;
mod icmp;

use connection::Connection;

/// How it went.
#[derive(Debug)]
pub struct Played {
    /// The first step that did not go as written.
    pub mismatch: Option<Mismatch>,
    /// What was sent, both ways.
    pub capture: Capture,
}

/// Plays a script to a stack of its setup.
#[must_use]
pub fn play(script: &Script) -> Played {
    let now = Instant::from_micros(START_US);
    let host = host_of(STACK, script.ipv6, &script.setup, now);
    let mut player = Player {
        host,
        ipv6: script.ipv6,
        now,
        outbox: VecDeque::new(),
        connections: BTreeMap::new(),
        accepted: VecDeque::new(),
        listens: 80,
        capture: Capture::new(true),
    };
    let mismatch = player.play(script).err();
    Played { mismatch, capture: player.capture }
}

struct Player {
    host: Box<dyn Host>,
    ipv6: bool,
    now: Instant,
    /// Segments that the stack has sent, and when.
    outbox: VecDeque<(Instant, Frame)>,
    connections: BTreeMap<Name, Connection>,
    accepted: VecDeque<(SocketAddr, Handle)>,
    /// The port that was listened on last: who sends first, sends there.
    listens: u16,
    capture: Capture,
}

type Done = Result<(), String>;

impl Player {
    fn play(&mut self, script: &Script) -> Result<(), Mismatch> {
        let mut last_line = 0;
        for (line, when, step) in &script.steps {
            last_line = *line;
            let done = self.step(*when, step);
            done.map_err(|what| Mismatch { line: *line, what })?;
        }
        self.nothing_unexpected().map_err(|what| Mismatch { line: last_line, what })
    }

    fn step(&mut self, when: When, step: &Step) -> Done {
        if let Step::Expects(name, pattern) = step {
            return self.expect(name, pattern, when);
        }
        if when.first_us > 0 {
            self.nothing_unexpected()?;
        }
        self.advance(self.now + Duration::from_micros(when.first_us), false);
        self.nothing_unexpected()?;
        self.act(step)?;
        self.pump();
        Ok(())
    }

    fn act(&mut self, step: &Step) -> Done {
        let now = self.now;
        match step {
            Step::Expects(..) | Step::Silence => Ok(()),
            Step::Sends(name, pattern) => self.send(name, pattern),
            Step::Peer(name, port, isn) => {
                let connection = self.connection(name);
                let peer_port = port.unwrap_or(connection.peer_port);
                let isn = isn.map(Seq).or(connection.firsts.peer);
                let stack_port = self.listens;
                let connection = Connection::new(peer_port, stack_port, isn);
                self.connections.insert(name.clone(), connection);
                Ok(())
            }
            Step::Listen(port, backlog) => {
                self.listens = *port;
                let listens = self.host.listen(*port, *backlog, Duration::ZERO);
                listens.map_err(|failure| format!("refused: {failure:?}"))
            }
            Step::Accept(name) => self.accept(name),
            Step::Connect(name, port) => self.connect(name, *port),
            Step::Write(name, bytes) => self.write(name, *bytes),
            Step::Read(name, bytes) => self.read(name, *bytes),
            Step::ReadNothing(name) => self.finds(name, Received::Nothing),
            Step::ReadEnd(name) => self.finds(name, Received::Finished),
            Step::Fails(name, failure) => self.finds(name, Received::Failed(*failure)),
            Step::Finish(name) => self.handle(name).map(|handle| self.host.finish(handle, now)),
            Step::Close(name) => self.handle(name).map(|handle| self.host.close(handle, now)),
            Step::Abort(name) => self.handle(name).map(|handle| self.host.abort(handle, now)),
            Step::State(name, state) => {
                let handle = self.handle(name)?;
                equal(self.host.state(handle), Some(*state))
            }
            Step::Connections(count) => equal(self.host.holdings().connections, *count),
            Step::Icmp(name, error, at) => self.icmp(name, *error, *at),
        }
    }

    /// Lets time pass, until something is sent if that is waited for.
    fn advance(&mut self, until: Instant, to_next_segment: bool) {
        self.pump();
        while !to_next_segment || self.outbox.is_empty() {
            let due = self.host.poll_timeout(self.now).filter(|&at| at <= until);
            let Some(at) = due else {
                self.now = self.now.max(until);
                return;
            };
            self.now = self.now.max(at);
            self.host.handle_timeout(self.now);
            self.pump();
        }
    }

    /// Hears the stack's events and takes what it sends.
    fn pump(&mut self) {
        loop {
            while let Some(event) = self.host.poll_event() {
                if let Event::Accepted { remote, handle, .. } = event {
                    self.accepted.push_back((remote, handle));
                }
            }
            let Some(frame) = self.host.poll_transmit(self.now) else { return };
            self.capture.add(self.now, &frame);
            if let Some(answer) = neighbor::answer(&frame, PEER, self.ipv6) {
                self.hand_in(&answer);
            } else if Datagram::read(&frame).and_then(|datagram| datagram.segment()).is_some() {
                self.outbox.push_back((self.now, frame));
            }
        }
    }

    fn hand_in(&mut self, frame: &[u8]) {
        self.capture.add(self.now, frame);
        self.host.handle_frame(frame, self.now, &mut |_, _| 0);
    }

    fn nothing_unexpected(&self) -> Done {
        match self.outbox.front() {
            None => Ok(()),
            Some((_, frame)) => Err(format!("the stack sent, unexpected: {}", self.said(frame))),
        }
    }

    fn expect(&mut self, name: &str, pattern: &Pattern, when: When) -> Done {
        let earliest = self.now + Duration::from_micros(when.first_us);
        let latest = self.now + Duration::from_micros(when.last_us) + GRAIN;
        self.advance(latest, true);
        let Some((at, frame)) = self.outbox.pop_front() else {
            return Err("the stack sent nothing".to_owned());
        };
        self.now = self.now.max(at);
        let text = self.said(&frame);
        if at < earliest {
            let early = earliest.since(at);
            return Err(format!("the stack sent it {early:?} too early: {text}"));
        }
        self.connection(name);
        let compared = self.compare(name, pattern, &frame);
        compared.map_err(|what| format!("{what}; the stack sent {text}"))
    }

    fn compare(&mut self, name: &str, pattern: &Pattern, frame: &Frame) -> Done {
        let Some(datagram) = Datagram::read(frame) else { return Ok(()) };
        let Some(segment) = datagram.segment() else { return Ok(()) };
        let connection = self.connection(name);
        let ports = (segment.packet.source_port(), segment.packet.destination_port());
        equal(ports, (connection.stack_port, connection.peer_port))?;
        let header = segment.packet.repr();
        if header.flags.contains(Flags::SYN) && connection.firsts.stack.is_none() {
            connection.firsts.stack = Some(header.sequence);
        }
        connection.last = Some(frame.clone());
        let firsts = connection.firsts;
        connection.firsts.clock = header.options.timestamps.map(|one| one.value).or(firsts.clock);
        if !datagram.is_intact() {
            return Err("a wrong checksum".to_owned());
        }
        if let Some(what) = pattern.differs(&segment.packet, datagram.ecn, firsts) {
            return Err(what);
        }
        let offset =
            i64::from(header.sequence.distance(firsts.stack.unwrap_or_default()).cast_signed());
        let offset = u64::try_from(offset - 1).unwrap_or_default();
        match STREAM_OF_STACK.differs(offset, segment.packet.payload()) {
            Some(at) => Err(format!("byte {at} of the data is not the one that was written")),
            None => Ok(()),
        }
    }

    fn send(&mut self, name: &str, pattern: &Pattern) -> Done {
        let way = self.way();
        let clock_ms = u32::try_from(self.now.as_millis() & u64::from(u32::MAX));
        let clock_ms = clock_ms.unwrap_or_default();
        let connection = self.connection(name);
        let firsts = connection.firsts;
        let sequence =
            pattern.sequence.on_wire(firsts.peer).ok_or("a sequence number is missing")?;
        let mut options = tcp::Options::default();
        for option in pattern.options.iter().flatten() {
            option.put(&mut options, firsts, clock_ms);
        }
        let header = tcp::Repr {
            source_port: connection.peer_port,
            destination_port: connection.stack_port,
            sequence,
            acknowledgment: pattern.acknowledgment.on_wire(firsts.stack).unwrap_or_default(),
            flags: pattern.flags.ok_or("flags are missing")?,
            window: pattern.window.unwrap_or(u16::MAX),
            urgent_pointer: pattern.urgent.unwrap_or_default(),
            options,
        };
        let mut data = vec![0; pattern.length.unwrap_or_default()];
        let offset = match pattern.sequence {
            Number::Relative(number) => u64::try_from(number - 1).unwrap_or_default(),
            _ => sequence.distance(firsts.peer.unwrap_or_default()).wrapping_sub(1).into(),
        };
        STREAM_OF_PEER.fill(offset, &mut data);
        let mut frame = of_segment(way, pattern.ecn.unwrap_or_default(), &header, &data);
        if pattern.is_damaged
            && let Some(last) = frame.last_mut()
        {
            *last ^= 0x55;
        }
        self.hand_in(&frame);
        Ok(())
    }

    fn way(&self) -> Way {
        Way {
            source_mac: host::mac(PEER),
            destination_mac: host::mac(STACK),
            source: host::address(PEER, self.ipv6),
            destination: host::address(STACK, self.ipv6),
        }
    }

    fn connection(&mut self, name: &str) -> &mut Connection {
        let stack_port = self.listens;
        let new = || Connection::new(PEER_PORT, stack_port, Some(Seq(PEER_ISN)));
        self.connections.entry(name.to_owned()).or_insert_with(new)
    }

    fn handle(&mut self, name: &str) -> Result<Handle, String> {
        let handle = self.connection(name).handle;
        handle.ok_or_else(|| "the program has no connection: accept or connect".to_owned())
    }

    fn accept(&mut self, name: &str) -> Done {
        let peer = SocketAddr::new(host::address(PEER, self.ipv6), self.connection(name).peer_port);
        let at = self.accepted.iter().position(|(remote, _)| *remote == peer);
        let Some((_, handle)) = at.and_then(|at| self.accepted.remove(at)) else {
            return Err("the stack has accepted nothing".to_owned());
        };
        self.connection(name).handle = Some(handle);
        Ok(())
    }

    fn connect(&mut self, name: &str, port: u16) -> Done {
        let remote = SocketAddr::new(host::address(PEER, self.ipv6), port);
        let handle = self.host.connect(remote, None, self.now);
        let handle = handle.map_err(|failure| format!("refused: {failure:?}"))?;
        let local = self.host.local(handle).ok_or("a connection without a local port")?;
        let isn = self.connection(name).firsts.peer;
        let mut connection = Connection::new(port, local.port(), isn);
        connection.handle = Some(handle);
        self.connections.insert(name.to_owned(), connection);
        Ok(())
    }

    fn write(&mut self, name: &str, bytes: usize) -> Done {
        let handle = self.handle(name)?;
        let mut data = vec![0; bytes];
        STREAM_OF_STACK.fill(self.connection(name).written, &mut data);
        let taken = self.host.write(handle, &data, self.now);
        let taken = taken.map_err(|failure| format!("refused: {failure:?}"))?;
        self.connection(name).written += taken as u64;
        equal(taken, bytes)
    }

    fn read(&mut self, name: &str, bytes: usize) -> Done {
        let handle = self.handle(name)?;
        let mut data = vec![0; bytes];
        let mut found = 0;
        while found < bytes {
            match self.host.read(handle, &mut data[found..], self.now) {
                Received::Bytes(count) => found += count,
                other => return Err(format!("{other:?} after {found} of {bytes} bytes")),
            }
        }
        let offset = self.connection(name).read;
        self.connection(name).read += bytes as u64;
        match STREAM_OF_PEER.differs(offset, &data) {
            Some(at) => Err(format!("byte {at} of the data is not the one that was sent")),
            None => Ok(()),
        }
    }

    /// What a read finds that gets no bytes.
    fn finds(&mut self, name: &str, expected: Received) -> Done {
        let handle = self.handle(name)?;
        let mut found = self.host.read(handle, &mut [0], self.now);
        if let (Received::Finished, Received::Failed(failure)) = (found, expected) {
            // The end of the data was read; the failure shows when one writes.
            let failed = self.host.write(handle, &[0], self.now).err();
            found =
                Received::Failed(failed.filter(|&one| one == failure).unwrap_or(Failure::Unknown));
        }
        equal(found, expected)
    }

    fn said(&self, frame: &[u8]) -> String {
        let segment = Datagram::read(frame).and_then(|datagram| datagram.segment());
        let Some(segment) = segment else { return "no segment".to_owned() };
        let ports = (segment.packet.source_port(), segment.packet.destination_port());
        let mut known = self.connections.iter();
        let known = known.find(|(_, one)| ports == (one.stack_port, one.peer_port));
        let relative = known.map(|(name, one)| {
            let from = |number: Seq, first: Option<Seq>| {
                number.distance(first.unwrap_or_default()).cast_signed()
            };
            let sequence = from(segment.packet.sequence(), one.firsts.stack);
            let number = from(segment.packet.acknowledgment(), one.firsts.peer);
            format!("; in the script's numbers {name} {sequence}, ack {number}")
        });
        let options: Vec<_> = segment.packet.options().filter_map(Result::ok).collect();
        format!("{} {options:?}{}", said(&segment.packet), relative.unwrap_or_default())
    }
}

fn equal<T: PartialEq + std::fmt::Debug>(found: T, expected: T) -> Done {
    let is_equal = found == expected;
    is_equal.then_some(()).ok_or_else(|| format!("{expected:?} expected, not {found:?}"))
}

/// The number of the stack's host, and of the peer's.
const STACK: usize = 0;
const PEER: usize = 1;
const PEER_PORT: u16 = 5_000;
const PEER_ISN: u32 = 1_000_000;
const START_US: u64 = 1_000_000_000;
/// Timers have a resolution of a millisecond.
const GRAIN: Duration = Duration::from_millis(2);
const STREAM_OF_STACK: pattern::Pattern = pattern::Pattern(1);
const STREAM_OF_PEER: pattern::Pattern = pattern::Pattern(2);
