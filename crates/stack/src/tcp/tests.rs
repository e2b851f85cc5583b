//! Two ends on one link, with a clock of their own.

use alloc::{vec, vec::Vec};
use core::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};
use std::collections::VecDeque;

use super::*;
use crate::random::Keys;

mod acknowledging;
mod blind;
mod closing;
mod data;
mod failing;
mod hand;
mod late;
mod listening;
mod marks;
mod numbers;
mod open;
mod opening;
mod options;
mod resetting;
mod sending;
mod urgent;
mod windows;

/// What happens to segments on the way: by their number from 0, and who sends them.
type Fate = fn(&Passing<'_>) -> bool;

pub(super) struct Passing<'a> {
    pub number: usize,
    pub from: usize,
    pub segment: Packet<'a>,
}

/// Two ends and a link between them.
pub(super) struct Pair {
    pub ends: [Tcp; 2],
    pub now: Instant,
    pub delay: Duration,
    /// Whether a segment arrives.
    pub arrives: Fate,
    on_the_way: VecDeque<(Instant, usize, Outgoing, Vec<u8>)>,
    pub number: usize,
    /// What left, in words.
    pub log: Vec<std::string::String>,
}

pub(super) const ADDRESSES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))];
pub(super) const PORT: u16 = 80;

impl Pair {
    pub fn new() -> Self {
        Self::with(Config::default(), Config::default())
    }

    pub fn with(client: Config, server: Config) -> Self {
        let now = Instant::from_micros(1_000_000);
        Self {
            ends: [
                Tcp::new(client, &Keys::new([1; 32]), now),
                Tcp::new(server, &Keys::new([2; 32]), now),
            ],
            now,
            delay: Duration::from_millis(5),
            arrives: |_| true,
            on_the_way: VecDeque::new(),
            number: 0,
            log: Vec::new(),
        }
    }

    /// A connection that both ends have.
    pub fn connected(&mut self) -> [ConnectionId; 2] {
        let listener = self.ends[1].listen(None, PORT, 8).unwrap();
        let client = self.connect();
        self.run(Duration::from_millis(100));
        let server = self.ends[1].accept(listener, self.now).unwrap().unwrap();
        [client, server]
    }

    pub fn connect(&mut self) -> ConnectionId {
        let remote = SocketAddr::new(ADDRESSES[1], PORT);
        self.ends[0].connect(ADDRESSES[0], remote, 1_500, self.now).unwrap()
    }

    pub fn state(&self, end: usize, id: ConnectionId) -> State {
        self.ends[end].info(id).unwrap().state
    }

    /// Lets so much time go by.
    pub fn run(&mut self, duration: Duration) {
        let until = self.now + duration;
        loop {
            self.transmit();
            let arrival = self.on_the_way.front().map(|one| one.0);
            let timers = self.ends.iter().filter_map(Tcp::poll_timeout);
            let Some(next) = arrival.into_iter().chain(timers).min().filter(|at| *at <= until)
            else {
                break;
            };
            self.now = self.now.max(next);
            self.receive();
            for end in &mut self.ends {
                end.handle_timeout(self.now);
            }
        }
        self.now = until;
    }

    pub fn transmit(&mut self) {
        for from in 0..2 {
            let mut buffer = vec![0; 70_000];
            while let Some(outgoing) = self.ends[from].poll_transmit(self.now, &mut buffer) {
                let bytes = buffer[..outgoing.len].to_vec();
                let segment = Packet::parse(&bytes).unwrap();
                assert!(segment.is_intact(outgoing.source, outgoing.destination));
                self.log.push(in_words(from, &segment));
                let passing = Passing { number: self.number, from, segment };
                self.number += 1;
                if (self.arrives)(&passing) {
                    self.on_the_way.push_back((self.now + self.delay, from, outgoing, bytes));
                }
            }
        }
    }

    fn receive(&mut self) {
        while let Some((at, ..)) = self.on_the_way.front() {
            if *at > self.now {
                return;
            }
            let Some((_, from, outgoing, bytes)) = self.on_the_way.pop_front() else { return };
            self.inject(1 - from, &outgoing, &bytes);
        }
    }

    pub fn inject(&mut self, to: usize, outgoing: &Outgoing, segment: &[u8]) {
        let arrived = Arrived {
            source: outgoing.source,
            destination: outgoing.destination,
            ecn: outgoing.ecn,
            checksum: Checksum::Unknown,
            segment,
            path_mtu: &|_| 1_500,
        };
        self.ends[to].handle_segment(arrived, self.now, &mut |_, _| 0);
    }

    /// Sends `data` from one end to the other, and gives back what arrived.
    pub fn transfer(&mut self, ids: [ConnectionId; 2], from: usize, data: &[u8]) -> Vec<u8> {
        let to = 1 - from;
        let mut arrived = Vec::new();
        let mut rest = data;
        let limit = self.now + Duration::from_secs(600);
        while arrived.len() < data.len() && self.now < limit {
            if !rest.is_empty() {
                let written = self.ends[from].write(ids[from], rest, self.now).unwrap();
                rest = &rest[written..];
            }
            self.run(Duration::from_millis(5));
            let mut buffer = vec![0; 100_000];
            loop {
                let read = self.ends[to].read(ids[to], &mut buffer, self.now).unwrap();
                if read == 0 {
                    break;
                }
                arrived.extend_from_slice(&buffer[..read]);
            }
        }
        arrived
    }
}

fn in_words(from: usize, segment: &Packet<'_>) -> std::string::String {
    std::format!(
        "{from} {:?} seq {} ack {} win {} len {}",
        segment.flags(),
        segment.sequence(),
        segment.acknowledgment(),
        segment.window(),
        segment.payload().len()
    )
}

/// Bytes that are not alike.
pub(super) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index * 31 + index / 251) as u8).collect()
}
