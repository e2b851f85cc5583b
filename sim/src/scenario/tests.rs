use std::collections::BTreeSet;

use super::*;

#[test]
fn what_is_written_is_read_again() {
    for seed in 0..200 {
        let scenario = generated(seed);
        let read: Scenario = serde_json::from_str(&scenario.to_json()).expect("a scenario");
        assert_eq!(read, scenario, "seed {seed}");
    }
}

#[test]
fn seeds_differ_in_every_kind_of_trouble() {
    let scenarios: Vec<Scenario> = (0..500).map(generated).collect();
    let distinct: BTreeSet<String> = scenarios.iter().map(Scenario::to_json).collect();
    assert_eq!(distinct.len(), scenarios.len());
    let some = |has: fn(&Scenario) -> bool| {
        let count = scenarios.iter().filter(|scenario| has(scenario)).count();
        assert!((5..495).contains(&count), "{count} of {}", scenarios.len());
    };
    some(|one| one.links[0].loss_ppm > 0);
    some(|one| one.links[0].burst.is_some());
    some(|one| one.links[0].reorder_ppm > 0);
    some(|one| one.links[0].replay_ppm > 0);
    some(|one| one.links[0].corrupt_ppm > 0);
    some(|one| one.links[0].mtu > 0);
    some(|one| one.links[0].rate_bytes > 0);
    some(|one| !one.changes.is_empty());
    some(|one| one.wrap.is_some());
    some(|one| one.ipv6);
    some(|one| one.connections.len() > 1);
    some(|one| one.connections.iter().any(|pair| pair.simultaneous_us.is_some()));
    some(|one| one.connections.iter().any(|pair| pair.passive.stall.is_some()));
    some(|one| one.hosts[1].device_segments > 0);
}
