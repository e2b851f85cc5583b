use std::collections::HashSet;

use super::*;

fn scenario(slow_peers_max: Option<u64>) -> Probe {
    let nothing = || Program::new("/bin/true", [""; 0]);
    let (listen, published, probe) = (nothing(), nothing(), nothing());
    Probe::new(ProbeOptions { listen, published, probe, slow_peers_max })
}

#[test]
fn names_are_unique_and_each_baseline_is_one_of_them() {
    let contestants = scenario(None).contestants();
    let names: HashSet<&str> = contestants.iter().map(|one| one.name()).collect();
    assert_eq!(names.len(), contestants.len());
    assert!(contestants.iter().all(|one| names.contains(one.baseline())));
    assert!(contestants.iter().all(|one| one.name().ends_with(&format!("({})", one.task()))));
}

#[test]
fn every_method_takes_part_in_every_task() {
    let contestants = scenario(None).contestants();
    for task in TASKS {
        let of_task = contestants.iter().filter(|one| one.task() == task.name);
        assert_eq!(of_task.filter(|one| one.is_own()).count(), METHODS.len());
    }
}

#[test]
fn only_what_fills_the_table_of_connections_is_left_out_of_large_sizes() {
    let left_out = |max, size| -> Vec<String> {
        let contestants = scenario(max).contestants();
        let absent = contestants.iter().filter(|one| one.absent(size).is_some());
        absent.map(|one| one.name().to_owned()).collect()
    };
    assert_eq!(left_out(Some(20_000), 20_001), ["portolan probe connect (open)"]);
    assert_eq!(left_out(Some(20_000), 20_000), [""; 0]);
    assert_eq!(left_out(None, 1_000_000), [""; 0]);
}
