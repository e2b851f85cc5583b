//! Two hosts and a link that loses, repeats, reorders, changes and invents frames as the input
//! says, programs that write, read and end, and a clock. Nothing panics, memory is bounded, and in
//! the end both come to rest; where nothing was forged, what was written is what was read.

#![no_main]

use std::{collections::VecDeque, time::Duration};

use libfuzzer_sys::fuzz_target;
use portolan_stack::{
    Checksum, Config, Instant, Stack,
    tcp::{ConnectionId, EcnUse, Error, Keepalive, ListenerId},
};

const BLOCKS_MAX: usize = 256;
/// Ethernet, and IPv4 without options.
const SEGMENT_AT: usize = 14 + 20;

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn number(&mut self) -> usize {
        usize::from(self.byte().unwrap_or(0)) << 8 | usize::from(self.byte().unwrap_or(0))
    }
}

struct End {
    stack: Stack,
    connection: Option<ConnectionId>,
    written: u64,
    read: u64,
    has_finished: bool,
    /// It closed, or aborted, before all was read.
    has_left: bool,
}

struct World {
    ends: [End; 2],
    listener: ListenerId,
    now: Instant,
    /// Frames to each end.
    links: [VecDeque<Vec<u8>>; 2],
    last: [Vec<u8>; 2],
    is_forged: bool,
    buffer: Vec<u8>,
}

fn pattern(at: u64) -> u8 {
    (at * 31 + at / 251) as u8
}

fn config(host: u8, kind: usize) -> Config {
    let has = |bit: usize| kind >> bit & 1 == 1;
    let address = format!("192.0.2.{host}/24").parse().expect("an address");
    let mut config = Config::new([2, 0, 0, 0, 0, host], vec![address], [host; 32]);
    config.mtu = [576, 1_500, 1_280, 9_000][kind & 3];
    let tcp = &mut config.tcp;
    tcp.blocks_max = BLOCKS_MAX;
    tcp.sack = !has(2);
    tcp.timestamps = !has(3);
    tcp.window_scaling = !has(4);
    tcp.nodelay = has(5);
    tcp.ecn = if has(6) { EcnUse::Active } else { EcnUse::Passive };
    tcp.receive_buffer_bytes = if has(7) { 3_000 } else { 300_000 };
    tcp.send_buffer_bytes = if has(8) { 3_000 } else { 300_000 };
    tcp.syn_cookies = !has(9);
    if has(10) {
        tcp.keepalive = Some(Keepalive::default());
    }
    config
}

impl World {
    fn new(kind: usize) -> Self {
        let now = Instant::from_micros(1_000_000);
        let end = |host: u8| End {
            stack: Stack::new(config(host, kind.rotate_left(u32::from(host) / 2)), now)
                .expect("a good configuration"),
            connection: None,
            written: 0,
            read: 0,
            has_finished: false,
            has_left: false,
        };
        let mut ends = [end(1), end(2)];
        let listener = ends[1].stack.tcp().listen(None, 80, 4).expect("a free port");
        let remote = "192.0.2.2:80".parse().expect("an address");
        ends[0].connection = ends[0].stack.connect(remote, now).ok();
        Self {
            ends,
            listener,
            now,
            links: Default::default(),
            last: Default::default(),
            is_forged: false,
            buffer: vec![0; 10_000],
        }
    }

    /// What leaves goes onto the links.
    fn poll(&mut self) -> usize {
        let mut count = 0;
        for from in 0..2 {
            let stack = &mut self.ends[from].stack;
            while let Some(departure) = stack.poll_transmit(self.now, &mut self.buffer) {
                let frame = self.buffer[..departure.len].to_vec();
                self.last[from].clone_from(&frame);
                self.links[1 - from].push_back(frame);
                count += 1;
                assert!(count < 10_000, "frames without end");
            }
            while stack.poll_event().is_some() {}
        }
        if self.ends[1].connection.is_none() {
            // In the end there is no listener any more.
            let accepted = self.ends[1].stack.tcp().accept(self.listener, self.now);
            self.ends[1].connection = accepted.ok().flatten();
        }
        self.check();
        count
    }

    fn check(&mut self) {
        for end in &mut self.ends {
            let tcp = end.stack.tcp();
            assert!(tcp.blocks_in_use() <= BLOCKS_MAX);
            assert!(tcp.timers() <= tcp.connections());
            let Some(Ok(info)) = end.connection.map(|id| tcp.info(id)) else { continue };
            assert!(info.unacknowledged <= 300_000, "{info:?}");
            // A window is never taken back, so that a small buffer may be passed by what the field
            // without scale is rounded up to.
            assert!(info.unread <= 300_000 + 65_536, "{info:?}");
            assert!(info.congestion_window >= 1 && info.segment_len >= 1, "{info:?}");
        }
    }

    fn arrive(&mut self, to: usize, frame: &[u8], checksum: Checksum) {
        self.ends[to].stack.handle_frame(frame, checksum, self.now, &mut |_, _| 0);
    }

    fn deliver(&mut self, to: usize) {
        if let Some(frame) = self.links[to].pop_front() {
            self.arrive(to, &frame, Checksum::Unknown);
        }
    }

    fn write(&mut self, which: usize, count: usize) {
        let end = &mut self.ends[which];
        let Some(id) = end.connection.filter(|_| !end.has_finished) else { return };
        let bytes: Vec<u8> = (end.written..).take(count).map(pattern).collect();
        if let Ok(written) = end.stack.tcp().write(id, &bytes, self.now) {
            end.written += written as u64;
        }
    }

    fn read(&mut self, which: usize, count: usize) -> usize {
        let end = &mut self.ends[which];
        let Some(id) = end.connection else { return 0 };
        let mut buffer = vec![0; count];
        let Ok(read) = end.stack.tcp().read(id, &mut buffer, self.now) else { return 0 };
        for byte in &buffer[..read] {
            assert!(self.is_forged || *byte == pattern(end.read), "byte {} is wrong", end.read);
            end.read += 1;
        }
        read
    }

    fn tick(&mut self, time: Duration) {
        self.now += time;
        for end in &mut self.ends {
            end.stack.handle_timeout(self.now);
        }
    }

    /// A frame like the last one that left, with other fields.
    fn forge(&mut self, to: usize, input: &mut Input<'_>) {
        self.is_forged = true;
        let mut frame = self.last[1 - to].clone();
        let (place, change) = (input.byte().unwrap_or(0), input.number());
        if frame.len() < SEGMENT_AT + 20 {
            return;
        }
        let mut add = |at: usize, distance: i64| {
            let field: [u8; 4] = frame[at..at + 4].try_into().expect("four bytes");
            let sum = u32::from_be_bytes(field).wrapping_add(distance as u32);
            frame[at..at + 4].copy_from_slice(&sum.to_be_bytes());
        };
        let near = (change as i16).into();
        match place & 7 {
            0 => add(SEGMENT_AT + 4, near),
            1 => add(SEGMENT_AT + 8, near),
            2 => add(SEGMENT_AT + 4, near << 16),
            3 => add(SEGMENT_AT + 8, near << 16),
            4 => frame[SEGMENT_AT + 13] = change as u8,
            5 => frame[SEGMENT_AT + 14..SEGMENT_AT + 16]
                .copy_from_slice(&(change as u16).to_be_bytes()),
            6 => {
                let at = 14 + change % (frame.len() - 14);
                frame[at] ^= place | 1;
            }
            _ => frame.truncate(14 + change % frame.len()),
        }
        let len = frame.len();
        if place & 8 != 0 && len > SEGMENT_AT + 20 {
            frame[SEGMENT_AT + 13] = place >> 4 | 0x10;
        }
        // The header of IPv4 has a checksum of its own.
        if let Some(header) = frame.get_mut(14..SEGMENT_AT) {
            header[10..12].fill(0);
            let words = header.chunks_exact(2);
            let mut sum: u32 =
                words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            header[10..12].copy_from_slice(&(!sum as u16).to_be_bytes());
        }
        self.arrive(to, &frame, Checksum::Verified);
    }

    fn step(&mut self, action: u8, input: &mut Input<'_>) {
        let which = usize::from(action >> 7);
        match action & 15 {
            0 | 1 | 2 => self.deliver(which),
            3 => drop(self.links[which].pop_front()),
            4 => {
                if let Some(frame) = self.links[which].front().cloned() {
                    self.arrive(which, &frame, Checksum::Unknown);
                }
            }
            5 => {
                if let Some(frame) = self.links[which].pop_front() {
                    self.links[which].push_back(frame);
                }
            }
            6 => {
                // The checksum finds what was changed in one place.
                let (at, bits) = (input.number(), input.byte().unwrap_or(0));
                if let Some(frame) = self.links[which].front_mut()
                    && frame.len() > 14
                {
                    let at = 14 + at % (frame.len() - 14);
                    frame[at] ^= bits;
                }
            }
            7 => self.tick(Duration::from_micros(1 << (input.byte().unwrap_or(0) & 31))),
            8 => {
                let next = self.ends.iter().filter_map(|end| end.stack.poll_timeout()).min();
                if let Some(next) = next {
                    self.tick(next.since(self.now));
                }
            }
            9 => {
                let count = input.number();
                self.write(which, count);
            }
            10 => {
                let count = input.number();
                self.read(which, count);
            }
            11 => self.leave(which, 0),
            12 => self.leave(which, 1 + (action >> 6 & 1)),
            13 => {
                self.links[which].clear();
            }
            _ => self.forge(which, input),
        }
    }

    fn leave(&mut self, which: usize, how: u8) {
        let now = self.now;
        let end = &mut self.ends[which];
        let Some(id) = end.connection else { return };
        let tcp = end.stack.tcp();
        match how {
            0 => {
                end.has_finished = true;
                let _ = tcp.finish(id, now);
            }
            1 => {
                end.has_left = true;
                let _ = tcp.close(id, now);
            }
            _ => {
                end.has_left = true;
                let _ = tcp.abort(id, now);
            }
        }
    }

    /// All that was written arrives, if nobody lied and nobody left.
    fn come_to_rest(&mut self) {
        self.leave(0, 0);
        let mut quiet = 0;
        for _ in 0..50_000 {
            let mut moved = self.poll();
            for to in 0..2 {
                while !self.links[to].is_empty() {
                    self.deliver(to);
                    moved += 1;
                }
                moved += self.read(to, 65_536);
            }
            if self.ends[1].connection.is_some() && !self.ends[1].has_finished {
                self.leave(1, 0);
            }
            quiet = if moved == 0 { quiet + 1 } else { 0 };
            let next = self.ends.iter().filter_map(|end| end.stack.poll_timeout()).min();
            let Some(next) = next else { break };
            if quiet > 0 {
                self.tick(next.since(self.now));
            }
        }
        let is_fair = !self.is_forged && self.ends.iter().all(|end| !end.has_left);
        if is_fair && !self.has_failed() {
            assert_eq!(self.ends[0].written, self.ends[1].read, "from 0 to 1");
            assert_eq!(self.ends[1].written, self.ends[0].read, "from 1 to 0");
        }
    }

    /// Whether a connection ended before its time, as after many losses it may.
    fn has_failed(&mut self) -> bool {
        self.ends.iter_mut().any(|end| {
            let Some(id) = end.connection else { return true };
            let ended = |error| matches!(error, Error::Ended(_));
            end.stack.tcp().read(id, &mut [0; 1], Instant::ZERO).is_err_and(ended)
        })
    }

    fn end(&mut self) {
        for which in 0..2 {
            self.leave(which, 2);
        }
        let listener = self.listener;
        let _ = self.ends[1].stack.tcp().close_listener(listener, self.now);
        for _ in 0..200 {
            self.poll();
            self.links = Default::default();
            self.tick(Duration::from_secs(5));
        }
        for end in &mut self.ends {
            let tcp = end.stack.tcp();
            assert_eq!((tcp.connections(), tcp.blocks_in_use()), (0, 0), "something is left");
            assert_eq!((tcp.time_waits(), tcp.timers()), (0, 0), "something is left");
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let mut input = Input(input);
    let kind = input.number();
    let mut world = World::new(kind);
    world.poll();
    while let Some(action) = input.byte() {
        world.step(action, &mut input);
        world.poll();
    }
    world.come_to_rest();
    world.end();
});
