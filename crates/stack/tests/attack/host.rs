//! TCP of a host, a clock, and other ends whose segments are made by hand.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use portolan_stack::{
    Checksum, Instant,
    random::Keys,
    tcp::{Arrived, Config, ConnectionId, Counters, Ecn, Info, ListenerId, State, Tcp},
};
use portolan_wire::{
    Seq,
    tcp::{Flags, Options, Packet, Repr, Timestamps},
};

pub const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
pub const PORT: u16 = 80;
/// Where the numbers of ends made by hand begin.
pub const THEIR_ISN: Seq = Seq(0xffff_f000);

/// A host with a listener.
pub struct Host {
    pub tcp: Tcp,
    pub now: Instant,
    pub listener: ListenerId,
    buffer: Vec<u8>,
}

/// What left.
#[derive(Clone, Debug)]
pub struct Sent {
    pub repr: Repr,
    pub payload: Vec<u8>,
    pub to: IpAddr,
}

/// The other end of a connection: what it knows.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    pub address: SocketAddr,
    /// The port of the host.
    pub port: u16,
    /// Its next number, and the next one that it expects.
    pub nxt: Seq,
    pub rcv: Seq,
    pub clock: Option<Timestamps>,
}

/// The options of a peer that has all.
pub fn all_options() -> Options {
    Options {
        mss: Some(1_460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 5_000, echo: 0 }),
        ..Options::default()
    }
}

/// The options of one that has none but the size.
pub fn few_options() -> Options {
    Options { mss: Some(1_460), ..Options::default() }
}

pub fn peer_address(number: u32) -> SocketAddr {
    let [_, second, third, fourth] = (number + 1).to_be_bytes();
    SocketAddr::new(Ipv4Addr::new(10, second, third, fourth).into(), 40_000)
}

impl Host {
    pub fn new() -> Self {
        Self::with(Config::default(), 64)
    }

    pub fn with(config: Config, backlog: usize) -> Self {
        let now = Instant::from_micros(1_000_000);
        let mut tcp = Tcp::new(config, &Keys::new([3; 32]), now);
        let listener = tcp.listen(None, PORT, backlog).unwrap();
        Self { tcp, now, listener, buffer: vec![0; 70_000] }
    }

    /// Hears a segment of somebody who says that he is at this address.
    pub fn hear(&mut self, from: IpAddr, repr: Repr, payload: &[u8]) {
        let mut segment = vec![0; repr.header_len()];
        segment.extend_from_slice(payload);
        repr.emit(&mut segment, from, HERE).unwrap();
        let arrived = Arrived {
            source: from,
            destination: HERE,
            ecn: Ecn::NotCapable,
            checksum: Checksum::Unknown,
            segment: &segment,
            path_mtu: &|_| 1_500,
        };
        self.tcp.handle_segment(arrived, self.now, &mut |_, _| 0);
    }

    /// What leaves now.
    pub fn drain(&mut self) -> Vec<Sent> {
        let mut all = Vec::new();
        while let Some(outgoing) = self.tcp.poll_transmit(self.now, &mut self.buffer) {
            let packet = Packet::parse(&self.buffer[..outgoing.len]).unwrap();
            assert!(packet.is_intact(outgoing.source, outgoing.destination));
            let (repr, payload) = (packet.repr(), packet.payload().to_vec());
            all.push(Sent { repr, payload, to: outgoing.destination });
            assert!(all.len() < 100_000, "it never ends");
        }
        all
    }

    /// What leaves for this segment.
    pub fn answers(&mut self, peer: &Peer, repr: Repr, payload: &[u8]) -> Vec<Sent> {
        self.hear(peer.address.ip(), repr, payload);
        self.drain()
    }

    pub fn after(&mut self, time: Duration) -> Vec<Sent> {
        let end = self.now + time;
        let mut all = self.drain();
        while let Some(at) = self.tcp.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.tcp.handle_timeout(self.now);
            all.extend(self.drain());
        }
        self.now = end;
        all
    }

    /// A handshake from outside, up to its second segment.
    pub fn half_open(&mut self, number: u32, options: Options) -> Peer {
        let mut peer = Peer {
            address: peer_address(number),
            port: PORT,
            nxt: THEIR_ISN,
            rcv: Seq(0),
            clock: options.timestamps,
        };
        let syn = Repr { flags: Flags::SYN, options, acknowledgment: Seq(0), ..peer.ack() };
        let answers = self.answers(&peer, syn, &[]);
        let [answer] = &answers[..] else { panic!("one answer to SYN, not {answers:?}") };
        assert_eq!(answer.repr.flags, Flags::SYN | Flags::ACK);
        peer.nxt += 1;
        peer.rcv = answer.repr.sequence + 1;
        peer.hear(&answer.repr);
        peer
    }

    /// A connection that was opened from outside, and accepted.
    pub fn open(&mut self, number: u32, options: Options) -> (Peer, ConnectionId) {
        let peer = self.half_open(number, options);
        self.hear(peer.address.ip(), peer.ack(), &[]);
        let id = self.tcp.accept(self.listener, self.now).unwrap().expect("a connection");
        while self.tcp.poll_event().is_some() {}
        (peer, id)
    }

    /// A connection that is being opened from here: the peer has SYN.
    pub fn calling(&mut self) -> (Peer, ConnectionId) {
        let address = peer_address(0);
        let id = self.tcp.connect(HERE, address, 1_500, self.now).unwrap();
        let [sent] = &self.drain()[..] else { panic!("one SYN") };
        let peer = Peer {
            address,
            port: sent.repr.source_port,
            nxt: THEIR_ISN,
            rcv: sent.repr.sequence + 1,
            clock: None,
        };
        (peer, id)
    }

    pub fn counters(&self) -> &Counters {
        self.tcp.counters()
    }

    pub fn info(&self, id: ConnectionId) -> Info {
        self.tcp.info(id).unwrap()
    }

    pub fn state(&self, id: ConnectionId) -> State {
        self.info(id).state
    }

    /// Everything that can be read.
    pub fn read(&mut self, id: ConnectionId) -> Vec<u8> {
        let mut all = Vec::new();
        let mut buffer = vec![0; 65_536];
        while let Ok(count @ 1..) = self.tcp.read(id, &mut buffer, self.now) {
            all.extend_from_slice(&buffer[..count]);
        }
        all
    }

    /// Data of the peer still arrives in order, and is acknowledged.
    pub fn assert_goes_on(&mut self, peer: &mut Peer, id: ConnectionId) {
        self.read(id);
        // The limits of before are over.
        self.after(Duration::from_secs(10));
        let answers = self.answers(peer, peer.ack(), b"going on");
        peer.nxt += 8;
        let last = answers.last().expect("an ACK").repr;
        assert!(!last.flags.contains(Flags::RST));
        assert_eq!(last.acknowledgment, peer.nxt);
        assert_eq!(self.read(id), b"going on");
        self.tcp.write(id, b"so do I", self.now).unwrap();
        let sent = self.drain();
        let data = sent.iter().find(|one| !one.payload.is_empty()).expect("data");
        assert_eq!((data.repr.sequence, &data.payload[..]), (peer.rcv, &b"so do I"[..]));
        peer.rcv += 7;
        peer.tick();
        self.hear(peer.address.ip(), peer.ack(), &[]);
        assert_eq!(self.info(id).unacknowledged, 0);
    }
}

impl Peer {
    /// An ACK in order.
    pub fn ack(&self) -> Repr {
        Repr {
            source_port: self.address.port(),
            destination_port: self.port,
            sequence: self.nxt,
            acknowledgment: self.rcv,
            flags: Flags::ACK,
            window: 60_000,
            urgent_pointer: 0,
            options: Options { timestamps: self.clock, ..Options::default() },
        }
    }

    /// Its clock goes on.
    pub fn tick(&mut self) {
        if let Some(clock) = &mut self.clock {
            clock.value = clock.value.wrapping_add(1);
        }
    }

    /// It takes the host's clock.
    pub fn hear(&mut self, repr: &Repr) {
        if let (Some(clock), Some(theirs)) = (&mut self.clock, repr.options.timestamps) {
            clock.echo = theirs.value;
        }
    }
}
