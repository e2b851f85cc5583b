//! Two stacks on one link, without a wire between them.

use portolan_stack::{
    Checksum, Config, Event, Instant, Stack,
    tcp::{ConnectionId, ListenerId},
};

use crate::world::*;

/// [`V4`] and [`PEER_V4`], [`V6`] and [`PEER_V6`].
pub struct Pair {
    pub here: Stack,
    pub there: Stack,
    pub now: Instant,
    /// The longest frame that may leave, in bytes.
    pub frame_len: usize,
    /// Frames that went each way.
    pub frames: usize,
    buffer: Vec<u8>,
}

/// What arrives in order is left to be read.
fn keep(_: ConnectionId, _: &[u8]) -> usize {
    0
}

impl Pair {
    pub fn new(change: impl Fn(&mut Config)) -> Self {
        let now = Instant::from_micros(1_000_000);
        let mut here = config();
        let mut there = config();
        there.mac = PEER_MAC.0;
        there.addresses =
            ["192.0.2.2/24", "2001:db8::2/64"].map(|text| text.parse().unwrap()).into();
        there.secret = [8; 32];
        change(&mut here);
        change(&mut there);
        Self {
            here: Stack::new(here, now).unwrap(),
            there: Stack::new(there, now).unwrap(),
            now,
            frame_len: 1_514,
            frames: 0,
            buffer: vec![0; 70_000],
        }
    }

    /// Moves frames until none is left.
    pub fn run(&mut self) {
        let checksum = Checksum::Unknown;
        for _ in 0..100_000 {
            let sent = self.here.poll_transmit(self.now, &mut self.buffer);
            if let Some(departure) = sent {
                assert!(departure.len <= self.frame_len, "{departure:?}");
                self.frames += 1;
                let frame = &self.buffer[..departure.len];
                self.there.handle_frame(frame, checksum, self.now, &mut keep);
            }
            let answered = self.there.poll_transmit(self.now, &mut self.buffer);
            if let Some(departure) = answered {
                assert!(departure.len <= self.frame_len, "{departure:?}");
                self.frames += 1;
                let frame = &self.buffer[..departure.len];
                self.here.handle_frame(frame, checksum, self.now, &mut keep);
            }
            if sent.is_none() && answered.is_none() {
                return;
            }
        }
        panic!("it never ends");
    }

    /// As [`run`](Self::run), with all timers up to this moment.
    pub fn run_until(&mut self, end: Instant) {
        loop {
            self.run();
            let next = [self.here.poll_timeout(), self.there.poll_timeout()];
            match next.into_iter().flatten().min().filter(|at| *at <= end) {
                Some(at) => self.now = self.now.max(at),
                None => break,
            }
            self.here.handle_timeout(self.now);
            self.there.handle_timeout(self.now);
        }
        self.now = end;
    }

    /// A connection from here to there.
    pub fn connect(&mut self, remote: std::net::SocketAddr) -> (ConnectionId, ConnectionId) {
        let listener: ListenerId = self.there.tcp().listen(None, remote.port(), 16).unwrap();
        let one = self.here.connect(remote, self.now).unwrap();
        self.run();
        let other = self.there.tcp().accept(listener, self.now).unwrap().expect("a connection");
        while self.here.poll_event().is_some() || self.there.poll_event().is_some() {}
        (one, other)
    }
}

/// All events that are there.
pub fn events(stack: &mut Stack) -> Vec<Event> {
    std::iter::from_fn(|| stack.poll_event()).collect()
}
