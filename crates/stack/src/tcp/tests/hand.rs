//! One TCP, against segments that are made by hand. Their numbers count from the SYN of either end.

use portolan_wire::{
    Seq,
    tcp::{Flags, Options, Repr, SackBlock, SackBlocks, Timestamps},
};
use std::string::String;

use super::*;

pub(super) const FIN: Flags = Flags::FIN;
pub(super) const SYN: Flags = Flags::SYN;
pub(super) const RST: Flags = Flags::RST;
pub(super) const PSH: Flags = Flags::PSH;
pub(super) const ACK: Flags = Flags::ACK;
pub(super) const URG: Flags = Flags::URG;
pub(super) const ECE: Flags = Flags::ECE;
pub(super) const CWR: Flags = Flags::CWR;
pub(super) const SYN_ACK: Flags = Flags::SYN.union(Flags::ACK);
pub(super) const FIN_ACK: Flags = Flags::FIN.union(Flags::ACK);
pub(super) const RST_ACK: Flags = Flags::RST.union(Flags::ACK);

/// A TCP and the other end of one connection, which is the test.
pub(super) struct Hand {
    pub tcp: Tcp,
    pub now: Instant,
    pub flow: Flow,
    /// The number of the TCP's SYN, and that of the hand's.
    pub iss: Seq,
    pub irs: Seq,
    pub id: Option<ConnectionId>,
    pub listener: Option<ListenerId>,
    pub mtu: u16,
}

/// A segment that the hand gives.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub flags: Flags,
    pub seq: i64,
    pub ack: i64,
    pub window: u16,
    pub urgent: u16,
    pub payload: &'a [u8],
    pub options: Options,
    pub ecn: Ecn,
}

/// A segment that left.
#[derive(Clone)]
pub(super) struct Left {
    /// Since the hand began to wait.
    pub at: Duration,
    pub flags: Flags,
    pub seq: i64,
    pub ack: i64,
    pub window: u16,
    pub urgent: u16,
    pub options: Options,
    pub ecn: Ecn,
    pub payload: Vec<u8>,
    pub bytes: Vec<u8>,
}

/// A segment with these numbers and a large window.
pub(super) fn given(flags: Flags, seq: i64, ack: i64) -> Given<'static> {
    Given {
        flags,
        seq,
        ack,
        window: 65_535,
        urgent: 0,
        payload: &[],
        options: Options::default(),
        ecn: Ecn::NotCapable,
    }
}

impl<'a> Given<'a> {
    pub fn window(self, window: u16) -> Self {
        Self { window, ..self }
    }

    pub fn urgent(self, urgent: u16) -> Self {
        Self { urgent, flags: self.flags | URG, ..self }
    }

    pub fn marked(self) -> Self {
        Self { ecn: Ecn::Experienced, ..self }
    }

    pub fn data(self, payload: &'a [u8]) -> Self {
        Self { payload, ..self }
    }

    pub fn mss(mut self, mss: u16) -> Self {
        self.options.mss = Some(mss);
        self
    }

    pub fn scale(mut self, scale: u8) -> Self {
        self.options.window_scale = Some(scale);
        self
    }

    pub fn clock(mut self, value: u32, echo: u32) -> Self {
        self.options.timestamps = Some(Timestamps { value, echo });
        self
    }

    pub fn sack_permitted(mut self) -> Self {
        self.options.sack_permitted = true;
        self
    }
}

/// As little as can be agreed on, so that numbers are easy to follow.
pub(super) fn plain() -> Config {
    Config { sack: false, timestamps: false, window_scaling: false, ..Config::default() }
}

impl Hand {
    /// Nothing has been said.
    pub fn new(config: Config) -> Self {
        Self::at(config, Instant::from_micros(1_000_000))
    }

    fn at(config: Config, now: Instant) -> Self {
        Self {
            tcp: Tcp::new(config, &Keys::new([7; 32]), now),
            now,
            flow: Flow {
                local: ADDRESSES[0],
                remote: ADDRESSES[1],
                local_port: PORT,
                remote_port: 40_000,
            },
            iss: Seq(0),
            irs: Seq(5_000),
            id: None,
            listener: None,
            mtu: 1_500,
        }
    }

    /// The numbers of both ends wrap within the first bytes.
    pub fn before_wrap(config: Config) -> Self {
        let mut hand = Self::new(config.clone());
        let iss = isn::isn(&Keys::new([7; 32]).isn, &hand.flow, hand.now);
        let ticks = Seq(u32::MAX - 1).distance(iss);
        hand = Self::at(config, hand.now + Duration::from_micros(u64::from(ticks) * 4));
        hand.irs = Seq(u32::MAX - 2);
        hand
    }

    /// Somebody listens.
    pub fn listening(config: Config) -> Self {
        Self::new(config).listen()
    }

    pub fn listen(mut self) -> Self {
        self.listener = Some(self.tcp.listen(None, PORT, 8).unwrap());
        self
    }

    /// Opens from here; what leaves is not looked at.
    pub fn connect(&mut self) -> ConnectionId {
        let local = SocketAddr::new(self.flow.local, self.flow.local_port);
        let remote = SocketAddr::new(self.flow.remote, self.flow.remote_port);
        let id = self.tcp.connect_from(local, remote, self.mtu, self.now).unwrap();
        self.id = Some(id);
        id
    }

    /// A SYN has left, with these options in the answer to come.
    pub fn connecting(config: Config) -> Self {
        let mut hand = Self::new(config);
        hand.connect();
        hand.sent();
        hand
    }

    /// A connection that was opened from here. The first segment of either end has number 1.
    pub fn connected(config: Config) -> Self {
        Self::new(config).opened(given(SYN_ACK, 0, 1).mss(1_460))
    }

    /// Opens from here, and gives this answer.
    pub fn opened(mut self, answer: Given<'_>) -> Self {
        self.connect();
        self.sent();
        self.give(answer);
        self.sent();
        while self.tcp.poll_event().is_some() {}
        self
    }

    /// A connection that was opened from outside and accepted.
    pub fn accepted(config: Config) -> Self {
        Self::listening(config).accepting(given(SYN, 0, 0).mss(1_460))
    }

    /// Opens from outside with this SYN.
    pub fn accepting(mut self, syn: Given<'_>) -> Self {
        self.give(syn);
        self.sent();
        let mut last = given(ACK, 1, 1).window(syn.window);
        last.options.timestamps = syn.options.timestamps;
        self.give(last);
        self.id = self.tcp.accept(self.listener.unwrap(), self.now).unwrap();
        assert!(self.id.is_some());
        while self.tcp.poll_event().is_some() {}
        self
    }

    /// Gives a segment.
    pub fn give(&mut self, given: Given<'_>) {
        let has_ack = given.flags.contains(ACK);
        let repr = Repr {
            source_port: self.flow.remote_port,
            destination_port: self.flow.local_port,
            sequence: number(self.irs, given.seq),
            acknowledgment: if has_ack { number(self.iss, given.ack) } else { Seq(0) },
            flags: given.flags,
            window: given.window,
            urgent_pointer: given.urgent,
            options: given.options,
        };
        let mut bytes = vec![0; repr.header_len()];
        bytes.extend_from_slice(given.payload);
        repr.emit(&mut bytes, self.flow.remote, self.flow.local).unwrap();
        self.give_bytes(&bytes, given.ecn);
    }

    /// Gives the bytes of a segment.
    pub fn give_bytes(&mut self, segment: &[u8], ecn: Ecn) {
        let mtu = self.mtu;
        let arrived = Arrived {
            source: self.flow.remote,
            destination: self.flow.local,
            ecn,
            checksum: Checksum::Unknown,
            segment,
            path_mtu: &|_| mtu,
        };
        self.tcp.handle_segment(arrived, self.now, &mut |_, _| 0);
    }

    /// What leaves now, in words: flags, number and length, and what is acknowledged.
    pub fn sent(&mut self) -> Vec<String> {
        self.left().iter().map(Left::in_words).collect()
    }

    /// Gives a segment, and says what leaves for it.
    pub fn answer(&mut self, given: Given<'_>) -> Vec<String> {
        self.give(given);
        self.sent()
    }

    /// What leaves now.
    pub fn left(&mut self) -> Vec<Left> {
        let mut left = Vec::new();
        let mut buffer = vec![0; 70_000];
        while let Some(outgoing) = self.tcp.poll_transmit(self.now, &mut buffer) {
            left.push(self.read_segment(&outgoing, &buffer[..outgoing.len]));
        }
        left
    }

    fn read_segment(&mut self, outgoing: &Outgoing, bytes: &[u8]) -> Left {
        let packet = Packet::parse(bytes).unwrap();
        assert!(packet.is_intact(outgoing.source, outgoing.destination));
        let repr = packet.repr();
        if repr.flags.contains(SYN) {
            self.iss = repr.sequence;
        }
        let has_ack = repr.flags.contains(ACK);
        Left {
            at: Duration::ZERO,
            flags: repr.flags,
            seq: relative(self.iss, repr.sequence),
            ack: if has_ack { relative(self.irs, repr.acknowledgment) } else { 0 },
            window: repr.window,
            urgent: repr.urgent_pointer,
            options: repr.options,
            ecn: outgoing.ecn,
            payload: packet.payload().to_vec(),
            bytes: bytes.to_vec(),
        }
    }

    /// Lets time go by, and says what leaves meanwhile.
    pub fn wait(&mut self, duration: Duration) -> Vec<Left> {
        let (start, until) = (self.now, self.now + duration);
        let mut all = Vec::new();
        loop {
            let at = self.now.since(start);
            all.extend(self.left().into_iter().map(|left| Left { at, ..left }));
            let Some(next) = self.tcp.poll_timeout().filter(|at| *at <= until) else { break };
            self.now = self.now.max(next);
            self.tcp.handle_timeout(self.now);
        }
        self.now = until;
        all
    }

    pub fn id(&self) -> ConnectionId {
        self.id.unwrap()
    }

    pub fn info(&self) -> Info {
        self.tcp.info(self.id()).unwrap()
    }

    pub fn state(&self) -> State {
        self.info().state
    }

    pub fn write(&mut self, bytes: &[u8]) -> usize {
        self.tcp.write(self.id(), bytes, self.now).unwrap()
    }

    /// All that can be read.
    pub fn read(&mut self) -> Vec<u8> {
        let mut buffer = vec![0; self.info().unread as usize + 1];
        let len = self.tcp.read(self.id(), &mut buffer, self.now).unwrap();
        buffer.truncate(len);
        buffer
    }

    pub fn finish(&mut self) {
        self.tcp.finish(self.id(), self.now).unwrap();
    }

    /// What the program is told next about the connection.
    pub fn ready(&mut self) -> Ready {
        let mut ready = Ready::default();
        while let Some(event) = self.tcp.poll_event() {
            if let Event::Connection { ready: more, .. } = event {
                ready |= more;
            }
        }
        ready
    }

    /// An ICMP error about the segment with this number.
    pub fn error(&mut self, kind: ErrorKind, seq: i64) -> bool {
        let quoted = portolan_wire::tcp::Quoted {
            source_port: self.flow.local_port,
            destination_port: self.flow.remote_port,
            sequence: number(self.iss, seq),
        };
        let error = IcmpError { local: self.flow.local, remote: self.flow.remote, quoted, kind };
        self.tcp.handle_error(&error, self.now)
    }

    /// A selective acknowledgment of these numbers.
    pub fn sack(&self, blocks: &[(i64, i64)]) -> SackBlocks {
        let mut sack = SackBlocks::default();
        for (left, right) in blocks {
            let (left, right) = (number(self.iss, *left), number(self.iss, *right));
            assert!(sack.push(SackBlock { left, right }));
        }
        sack
    }
}

impl Left {
    pub fn in_words(&self) -> String {
        let has_ack = self.flags.contains(ACK);
        let ack = if has_ack { std::format!(" ack {}", self.ack) } else { String::new() };
        std::format!("{:?} {}+{}{ack}", self.flags, self.seq, self.payload.len())
    }

    pub fn has(&self, flags: Flags) -> bool {
        self.flags.contains(flags)
    }

    pub fn end(&self) -> i64 {
        let controls = i64::from(self.flags.contains(SYN)) + i64::from(self.flags.contains(FIN));
        self.seq + self.payload.len() as i64 + controls
    }
}

/// Each with its moment in milliseconds.
pub(super) fn timed(left: &[Left]) -> Vec<(u128, String)> {
    left.iter().map(|left| (left.at.as_millis(), left.in_words())).collect()
}

/// Only the moments, in seconds.
pub(super) fn seconds(left: &[Left]) -> Vec<u64> {
    left.iter().map(|left| left.at.as_secs()).collect()
}

fn number(start: Seq, relative: i64) -> Seq {
    Seq(start.0.wrapping_add(relative as u32))
}

fn relative(start: Seq, number: Seq) -> i64 {
    i64::from(number.0.wrapping_sub(start.0).cast_signed())
}
