//! Any frames, at any times, to a host of any configuration: no panic, no endless answers, and no
//! more memory than was allowed.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use portolan_stack::{Checksum, Config, DuplicateDetection, Instant, Offloads, Stack};

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const BLOCKS_MAX: usize = 64;

fn stack(kind: u8, now: Instant) -> Stack {
    let has = |bit: u8| kind >> bit & 1 == 1;
    let mut addresses = vec!["192.0.2.1/24".parse().expect("an address")];
    if has(0) {
        addresses.push("2001:db8::1/64".parse().expect("an address"));
    }
    let mut config = Config::new(MAC, addresses, [kind; 32]);
    config.duplicates = match has(1) {
        true => DuplicateDetection::Full,
        false => DuplicateDetection::Optimistic,
    };
    config.discover_routers = has(2);
    config.offloads =
        Offloads { checksum: has(3), segment_bytes_max: if has(4) { 65_000 } else { 0 } };
    config.mtu = if has(5) { 9_000 } else { 1_280 };
    config.tcp.sack = !has(6);
    config.tcp.timestamps = !has(7);
    config.tcp.blocks_max = BLOCKS_MAX;
    config.tcp.connections_max = 16;
    config.tcp.time_waits_max = 4;
    Stack::new(config, now).expect("a good configuration")
}

/// Bytes as frames: for each a byte of flags, one of time, two of length.
fuzz_target!(|input: &[u8]| {
    let Some((&kind, mut rest)) = input.split_first() else { return };
    let mut now = Instant::from_micros(1_000_000);
    let mut stack = stack(kind, now);
    let listener = stack.tcp().listen(None, 80, 4).expect("a free port");
    let port = stack.udp_bind(None, 53).expect("a free port");
    let mut accepted = Vec::new();
    let mut buffer = vec![0; 66_000];
    while let [flags, time, high, low, tail @ ..] = rest {
        let len = (usize::from(*high) << 8 | usize::from(*low)).min(tail.len());
        let (frame, tail) = tail.split_at(len);
        rest = tail;
        let mut frame = frame.to_vec();
        // Most frames are for this host, so that they get further than its address.
        if flags & 1 == 0
            && let Some(destination) = frame.get_mut(..6)
        {
            destination.copy_from_slice(&MAC);
        }
        now += Duration::from_micros(1 << (time & 31));
        let checksum = if flags & 2 == 0 { Checksum::Verified } else { Checksum::Unknown };
        stack.handle_timeout(now);
        let takes = flags & 4 == 0;
        stack.handle_frame(&frame, checksum, now, &mut |_, data| {
            if takes { data.len() } else { data.len() / 2 }
        });
        let mut count = 0;
        while let Some(departure) = stack.poll_transmit(now, &mut buffer) {
            assert!(departure.len <= buffer.len());
            count += 1;
            assert!(count < 1_000, "answers without end");
        }
        while stack.poll_event().is_some() {
            count += 1;
            assert!(count < 2_000, "events without end");
        }
        let _ = stack.udp_receive(port, &mut buffer);
        if let Ok(Some(id)) = stack.tcp().accept(listener, now) {
            let _ = stack.tcp().write(id, &[7; 10_000], now);
            accepted.push(id);
        }
        if flags & 8 != 0
            && let Some(id) = accepted.pop()
        {
            let _ = stack.tcp().read(id, &mut buffer, now);
            let _ = stack.tcp().close(id, now);
        }
        let tcp = stack.tcp();
        assert!(tcp.blocks_in_use() <= BLOCKS_MAX && tcp.connections() <= 16);
        assert!(tcp.time_waits() <= 4 && tcp.timers() <= tcp.connections());
    }
    for id in accepted {
        let _ = stack.tcp().abort(id, now);
    }
    let tcp = stack.tcp();
    let _ = tcp.close_listener(listener, now);
    for _ in 0..600 {
        now += Duration::from_secs(5);
        stack.handle_timeout(now);
        while stack.poll_transmit(now, &mut buffer).is_some() {}
        if stack.tcp().connections() == 0 {
            break;
        }
    }
    let tcp = stack.tcp();
    assert_eq!((tcp.connections(), tcp.blocks_in_use()), (0, 0), "something is left");
});
