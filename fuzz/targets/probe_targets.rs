//! Any text is targets and ports or errors that can be shown; what was read reads as itself when
//! printed, and every check of a space has a port that was asked for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use portolan_probe::{
    ports::PortSet,
    space::{Entry, Order, Permutation, Ranges, Shard, Space},
    targets::{Target, parse_file},
};

fn services(name: &str) -> Option<u16> {
    (name == "http").then_some(80)
}

/// Some octets are a million ranges, which takes longer than a run may.
const RANGES_MAX: usize = 10_000;

/// The entries of the targets that can be read, as the program makes them.
fn entries(text: &str) -> Vec<Entry> {
    let targets = parse_file(text, &services).filter_map(Result::ok);
    let entries = targets.flat_map(|(_, target)| {
        let zone = target.hosts.zone().map_or(0, |zone| zone.len() as u32);
        let port = target.port;
        target.hosts.ranges().map(move |range| Entry { range, zone, port })
    });
    entries.take(RANGES_MAX).collect()
}

// The first line is ports, the second is excluded, the rest are targets.
fuzz_target!(|text: &str| {
    for found in parse_file(text, &services) {
        match found {
            Ok((_, target)) => {
                let printed = target.to_string();
                // Stars and ranges may be longer when they are written in full.
                if printed.len() <= portolan_probe::targets::TEXT_BYTES_MAX {
                    assert_eq!(Target::parse(&printed, &services), Ok(target));
                }
            }
            Err(error) => assert!(!error.to_string().contains(char::is_control)),
        }
    }
    let mut lines = text.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let ports = match PortSet::parse(line(), &services) {
        Ok(ports) => {
            assert_eq!(PortSet::parse(&ports.to_string(), &services).as_ref(), Ok(&ports));
            ports
        }
        Err(error) => {
            assert!(!error.to_string().contains(char::is_control));
            PortSet::all()
        }
    };
    let excluded = entries(line());
    let excludes = Ranges::collect(excluded.iter().map(|entry| entry.range)).unwrap_or_default();
    let asked = entries(line());
    let Ok(space) = Space::new(ports.clone(), asked.iter().copied(), &excludes) else { return };
    assert_eq!(space.is_empty(), space.addresses() == 0);
    assert_eq!(space.get(space.len()), None);
    let shuffled = Order::new(Permutation::new(space.len(), text.len() as u64), Shard::WHOLE);
    let ends = [0, space.len().wrapping_sub(1)];
    for index in ends.into_iter().chain(shuffled.map(|(_, index)| index).take(20)) {
        let Some(check) = space.get(index) else {
            assert!(space.is_empty());
            continue;
        };
        assert!(space.ranges().contains(check.ip()) && !excludes.contains(check.ip()));
        let own = asked.iter().any(|entry| entry.port == Some(check.port()));
        assert!(own || ports.contains(check.port()));
    }
});
