//! Very many connections on which nothing happens: what they take, and that they cost the others
//! nothing.
//!
//! Instructions are counted by callgrind, as a clock would tell what else the machine does. With
//! 1,000, 100,000 and 1,000,000 connections, in about three minutes:
//!
//! ```text
//! cargo test --release -p portolan-stack --test attack -- --ignored --nocapture idle::
//! ```

use std::{process::Command, time::Duration};

use portolan_stack::tcp::{Config, ConnectionId};

use crate::host::*;

/// What a connection may take, all told.
const BYTES_MAX: u64 = 512;

/// Requests with their answers.
const EXCHANGES: usize = 1_000;

fn host_with_room() -> Host {
    Host::with(Config { connections_max: 1 << 21, ..Config::default() }, 64)
}

fn fill(host: &mut Host, count: u32) {
    for number in 0..count {
        host.open(number, all_options());
        if number % 1_024 == 0 {
            host.after(Duration::from_millis(1));
        }
    }
}

fn measure(count: u32) {
    let mut host = host_with_room();
    // What there is once, and not for each connection.
    fill(&mut host, 1);
    let mut connections = 0;
    let allocated = allocation_counter::measure(|| {
        for number in 1..=count {
            host.open(number, all_options());
            if number % 1_024 == 0 {
                host.after(Duration::from_millis(1));
            }
        }
        // The timers of the handshakes have run out.
        host.after(Duration::from_secs(10));
        connections = host.tcp.connections();
    });
    assert_eq!(connections, count as usize + 1);
    let each = allocated.bytes_current.cast_unsigned() / u64::from(count);
    println!("{count} idle connections take {each} bytes each");
    assert!(each <= BYTES_MAX, "{each} bytes");
    assert_eq!(host.tcp.blocks_in_use(), 0);
}

#[test]
fn an_idle_connection_takes_little() {
    measure(100_000);
    // Just after tables have doubled is the worst moment.
    measure((1 << 16) + 1_024);
}

#[test]
#[ignore = "takes half a GB"]
fn a_million_idle_connections_take_little() {
    measure(1_000_000);
}

/// After data has gone both ways, with losses, a connection takes no more than before.
#[test]
fn a_connection_that_was_busy_takes_no_more() {
    let mut host = host_with_room();
    let open = |host: &mut Host, numbers: std::ops::Range<u32>| -> Vec<(Peer, ConnectionId)> {
        numbers.map(|number| host.open(number, all_options())).collect()
    };
    let busy = |host: &mut Host, all: &mut [(Peer, ConnectionId)]| {
        for (peer, id) in all {
            let ahead = portolan_wire::tcp::Repr { sequence: peer.nxt + 100, ..peer.ack() };
            host.hear(peer.address.ip(), ahead, &[1; 100]);
            host.drain();
            host.hear(peer.address.ip(), peer.ack(), &[1; 100]);
            // Once more: it is told by D-SACK.
            host.hear(peer.address.ip(), peer.ack(), &[1; 100]);
            peer.nxt += 200;
            host.drain();
            assert_eq!(host.read(*id).len(), 200);
            host.tcp.write(*id, &[2; 5_000], host.now).unwrap();
            peer.rcv += host.drain().iter().map(|one| one.payload.len() as u32).sum::<u32>();
            host.hear(peer.address.ip(), peer.ack(), &[]);
            while host.tcp.poll_event().is_some() {}
        }
        host.after(Duration::from_secs(10));
    };
    let mut first = open(&mut host, 0..1_000);
    busy(&mut host, &mut first);
    let mut connections = Vec::with_capacity(20_000);
    let allocated = allocation_counter::measure(|| {
        connections.extend(open(&mut host, 1_000..21_000));
        busy(&mut host, &mut connections);
    });
    let each = allocated.bytes_current.cast_unsigned() / 20_000;
    println!("{each} bytes each");
    assert!(each <= BYTES_MAX, "{each} bytes");
    assert_eq!(host.tcp.blocks_in_use(), 0);
}

/// One request and its answer, often, with the polls between.
#[inline(never)]
fn exchanges(host: &mut Host, peer: &mut Peer, id: ConnectionId) -> usize {
    let mut buffer = [0; 64];
    let mut sent = 0;
    for _ in 0..EXCHANGES {
        host.hear(peer.address.ip(), peer.ack(), b"ping");
        peer.nxt += 4;
        assert_eq!(host.tcp.read(id, &mut buffer, host.now), Ok(4));
        host.tcp.write(id, b"pong", host.now).unwrap();
        sent += host.drain().len();
        peer.rcv += 4;
        host.now += Duration::from_micros(50);
        let now = host.now;
        if host.tcp.poll_timeout().is_some_and(|at| at <= now) {
            host.tcp.handle_timeout(now);
        }
        while host.tcp.poll_event().is_some() {}
    }
    sent
}

/// What a poll costs beside idle connections, with the segments between: it does not depend on how
/// many there are. Each number has a process of its own.
#[test]
#[ignore = "takes three minutes and half a GB, and needs valgrind; with --release"]
fn idle_connections_cost_the_others_nothing() {
    let counts = [1_000, 100_000, 1_000_000].map(|idle| {
        let count = instructions(idle) / EXCHANGES as u64;
        println!("beside {idle} idle connections an exchange takes {count} instructions");
        count
    });
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(most - least <= least / 100, "{counts:?}");
}

/// What callgrind counts in [`exchanges`].
fn instructions(idle: u32) -> u64 {
    let program = std::env::current_exe().unwrap();
    let measured = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(["--collect-atstart=no", "--toggle-collect=attack::idle::exchanges*"])
        .arg(program)
        .args(["--ignored", "--exact", "idle::beside_idle_connections"])
        .env("IDLE", idle.to_string())
        .output()
        .expect("valgrind is needed: install it (Debian: valgrind)");
    let said = String::from_utf8_lossy(&measured.stderr);
    assert!(measured.status.success(), "{said}");
    let mut lines = said.lines().filter_map(|line| line.split_once("Collected :"));
    let (_, count) = lines.next().unwrap_or_else(|| panic!("no count in {said}"));
    count.trim().parse().unwrap()
}

#[test]
#[ignore = "for idle_connections_cost_the_others_nothing"]
fn beside_idle_connections() {
    let count = std::env::var("IDLE").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let mut host = host_with_room();
    fill(&mut host, count);
    host.after(Duration::from_secs(10));
    let (mut peer, id) = host.open(1 << 22, all_options());
    host.tcp.set_nodelay(id, true, host.now).unwrap();
    assert!(exchanges(&mut host, &mut peer, id) >= EXCHANGES);
}
