use std::{collections::BTreeSet, vec::Vec};

use super::*;
use crate::random::Keys;

const LOCAL: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1));

fn remote(number: u32) -> IpAddr {
    IpAddr::from((0x0a02_0000 + number).to_be_bytes())
}

fn ports(range: RangeInclusive<u16>) -> Ports {
    Ports::new(range, Keys::new([5; 32]).ports)
}

#[test]
fn finds_every_free_port_of_the_range_before_none() {
    for range in [32_768..=60_999, 0..=u16::MAX, 1..=1, u16::MAX..=u16::MAX] {
        let mut ports = ports(range.clone());
        let mut free: BTreeSet<u16> = range.collect();
        while !free.is_empty() {
            let port = ports.pick(LOCAL, remote(1), 80, |port| free.contains(&port));
            assert!(free.remove(&port.expect("there are free ports")));
        }
        assert_eq!(ports.pick(LOCAL, remote(1), 80, |_| false), None);
    }
}

#[test]
fn asks_for_each_port_of_the_range_before_none() {
    let mut ports = ports(40_000..=40_999);
    let mut asked = Vec::new();
    let answer = ports.pick(LOCAL, remote(1), 80, |port| {
        asked.push(port);
        false
    });
    assert_eq!(answer, None);
    assert!(asked.len() <= 1_000 + PROBES_MAX as usize, "{}", asked.len());
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked, (40_000..=40_999).collect::<Vec<_>>());
}

#[test]
fn an_empty_range_has_no_port() {
    #[expect(clippy::reversed_empty_ranges)]
    let mut ports = ports(10..=9);
    assert_eq!(ports.pick(LOCAL, remote(1), 80, |_| true), None);
}

/// As for the ports whose answers come to this thread's queue.
#[test]
fn only_ports_that_the_caller_can_use() {
    let mut ports = ports(32_768..=60_999);
    let mine = |port: u16| port.wrapping_mul(40_503) >> 14 == 2;
    let picked: BTreeSet<u16> =
        (0..500).filter_map(|_| ports.pick(LOCAL, remote(1), 80, mine)).collect();
    assert_eq!(picked.len(), 500, "a port comes back only after all others");
    assert!(picked.into_iter().all(mine));
}

/// RFC 6056, section 3.3.4: consecutive for one destination, so that a port comes back late.
#[test]
fn a_destination_goes_through_the_range_in_order() {
    let mut ports = ports(50_000..=50_099);
    let mut pick = || ports.pick(LOCAL, remote(1), 80, |_| true).unwrap();
    let mut last = pick();
    for _ in 0..1_000 {
        let next = pick();
        assert_eq!(next, if last == 50_099 { 50_000 } else { last + 1 });
        last = next;
    }
}

/// RFC 6056, section 3.3.4: where other destinations are does not show in a destination's ports.
#[test]
fn destinations_do_not_reveal_each_other() {
    let (mut quiet, mut busy) = (ports(32_768..=60_999), ports(32_768..=60_999));
    let mut seen = Vec::new();
    let mut differ = 0;
    for round in 0..2_000_u32 {
        // The destination that is watched, with others in between, and without.
        let watched = quiet.pick(LOCAL, remote(0), 443, |_| true);
        differ += u32::from(busy.pick(LOCAL, remote(0), 443, |_| true) != watched);
        seen.extend(busy.pick(LOCAL, remote(1 + round), 443, |_| true));
    }
    // All would differ with one counter; a shared one of 2^16 is met in about 3 of 100 runs.
    assert_eq!(differ, 0);
    // Where destinations begin: their differences spread over the range; chi-square, 15 degrees.
    let mut counts = [0_i64; 16];
    for pair in seen.windows(2) {
        let way = (u32::from(pair[1]) + 28_232 - u32::from(pair[0])) % 28_232;
        counts[(way * 16 / 28_232) as usize] += 1;
    }
    let squares: i64 = counts.iter().map(|count| (count * 16 - 1_999).pow(2)).sum();
    assert!(squares / 16 / 1_999 < 38, "{counts:?}");
}

#[test]
fn every_part_of_the_destination_and_the_key_count() {
    let first = |ports: &mut Ports, local, remote, port| ports.pick(local, remote, port, |_| true);
    let here = |local, remote, port| first(&mut ports(1_024..=65_535), local, remote, port);
    let one = here(LOCAL, remote(1), 80);
    assert_eq!(one, here(LOCAL, remote(1), 80));
    assert_ne!(one, here(LOCAL, remote(2), 80));
    assert_ne!(one, here(LOCAL, remote(1), 81));
    assert_ne!(one, here(remote(3), remote(1), 80));
    let mut other = Ports::new(1_024..=65_535, Keys::new([6; 32]).ports);
    assert_ne!(one, first(&mut other, LOCAL, remote(1), 80));
}

#[test]
fn the_table_is_bounded() {
    let mut ports = ports(1_024..=65_535);
    assert_eq!(size_of_val(&*ports.counters) + size_of_val(&*ports.in_use), 384 << 10);
    let allocated = allocation_counter::measure(|| {
        for number in 0..10_000 {
            ports.pick(LOCAL, remote(number), 80, |_| true);
        }
    });
    assert_eq!(allocated.count_total, 0);
}

/// Connections to one destination, as [`Tcp`](crate::tcp::Tcp) opens them.
struct Opener {
    ports: Ports,
    remote: IpAddr,
    open: BTreeSet<u16>,
    /// How many ports one pick has asked for, at most.
    asked_max: u32,
}

impl Opener {
    fn flow(&self, local_port: u16) -> Flow {
        Flow { local: LOCAL, remote: self.remote, local_port, remote_port: 80 }
    }

    fn open(&mut self) -> Option<u16> {
        let mut asked = 0;
        let port = self.ports.pick(LOCAL, self.remote, 80, |port| {
            asked += 1;
            !self.open.contains(&port)
        });
        self.asked_max = self.asked_max.max(asked);
        if let Some(port) = port {
            self.ports.taken(&self.flow(port));
            assert!(self.open.insert(port));
        }
        port
    }

    fn close(&mut self, port: u16) {
        assert!(self.open.remove(&port));
        self.ports.released(&self.flow(port));
    }
}

/// RFC 6056, section 3.3.4: a range is filled to the last port, and stays full while connections
/// come and go; no pick asks for many ports, and the last answer asks for none at all.
#[test]
fn a_full_range_costs_no_more_than_an_empty_one() {
    for range in [32_768..=60_999, 0..=u16::MAX, 50_000..=50_099] {
        let count = range.len();
        let ports = ports(range);
        let mut opener = Opener { ports, remote: remote(1), open: BTreeSet::new(), asked_max: 0 };
        for _ in 0..count {
            assert!(opener.open().is_some());
        }
        assert!(opener.asked_max <= PROBES_MAX, "{} while it fills", opener.asked_max);
        opener.asked_max = 0;
        assert_eq!(opener.open(), None);
        assert_eq!(opener.asked_max, 0, "the error comes at once");
        let mut random = 12_345_u32;
        for _ in 0..20_000 {
            // At most 0.1 % are free.
            while opener.open.len() + count / 1_000 + 1 > count {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let from = (random >> 16) as u16;
                let port = opener.open.range(from..).next().or(opener.open.first()).copied();
                opener.close(port.unwrap());
            }
            assert!(opener.open().is_some());
        }
        assert!(opener.asked_max <= 1, "{} while it is full", opener.asked_max);
        for port in opener.open.clone() {
            opener.close(port);
        }
        assert_eq!(opener.ports.in_use(), 0);
        assert_eq!(opener.ports.crowded.len(), 0, "the memory is given back");
    }
}

/// RFC 6056, section 3.3.4: long-lived connections in the middle of the range are jumped over.
#[test]
fn a_long_row_of_taken_ports_is_not_walked() {
    let ports = ports(0..=u16::MAX);
    let mut opener = Opener { ports, remote: remote(1), open: BTreeSet::new(), asked_max: 0 };
    for _ in 0..40_000 {
        opener.open().unwrap();
    }
    // The next 25,000 are short, so that the row is met from its first port on.
    for _ in 0..100_000 {
        let port = opener.open().unwrap();
        opener.close(port);
    }
    assert!(opener.asked_max <= PROBES_MAX, "{}", opener.asked_max);
}

/// Those that are crowded are known up to a limit; what is not known is found nevertheless.
#[test]
fn crowded_destinations_take_bounded_memory() {
    let mut ports = ports(50_000..=50_255);
    let mut open = BTreeSet::new();
    for number in 0..100 {
        for _ in 0..256 {
            let port =
                ports.pick(LOCAL, remote(number), 80, |port| !open.contains(&(number, port)));
            let local_port = port.expect("there are free ports");
            assert!(open.insert((number, local_port)));
            let remote = remote(number);
            ports.taken(&Flow { local: LOCAL, remote, local_port, remote_port: 80 });
        }
    }
    for number in 0..100 {
        assert_eq!(
            ports.pick(LOCAL, remote(number), 80, |port| !open.contains(&(number, port))),
            None
        );
    }
    assert_eq!(ports.crowded.len(), 64);
}

/// Connections tell of their ports when they begin, and when nothing is left of them.
#[test]
fn connections_take_ports_and_release_them() {
    use crate::{
        Instant,
        tcp::{Config, Error, Tcp},
    };
    let config = Config { ports: 50_000..=50_063, ..Config::default() };
    let now = Instant::ZERO;
    let mut tcp = Tcp::new(config, &Keys::new([5; 32]), now);
    let to = (remote(1), 80).into();
    let ids: Vec<_> = (0..64).map(|_| tcp.connect(LOCAL, to, 1_500, now).unwrap()).collect();
    assert_eq!(tcp.ports.in_use(), 64);
    assert_eq!(tcp.connect(LOCAL, to, 1_500, now), Err(Error::NoFreePort(to)));
    let flow = tcp.info(ids[7]).unwrap().flow;
    tcp.abort(ids[7], now).unwrap();
    assert_eq!(tcp.ports.in_use(), 63);
    let id = tcp.connect(LOCAL, to, 1_500, now).unwrap();
    assert_eq!(tcp.info(id).unwrap().flow, flow);
    let local = (LOCAL, 49_999).into();
    tcp.connect_from(local, to, 1_500, now).unwrap();
    assert_eq!(tcp.ports.in_use(), 64, "it is not of the range");
    for id in ids {
        let _gone = tcp.abort(id, now);
    }
    tcp.abort(id, now).unwrap();
    assert_eq!(tcp.ports.in_use(), 0);
}
