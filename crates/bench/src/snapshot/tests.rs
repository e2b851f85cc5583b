use std::collections::HashSet;

use super::*;

fn scenario(slow_peers_max: Option<u64>) -> Snapshot {
    let nothing = Program::new("/bin/true", [""; 0]);
    Snapshot::new(SnapshotOptions { hold: nothing.clone(), read: nothing, slow_peers_max })
}

#[test]
fn names_are_unique_and_each_baseline_is_one_of_them() {
    let contestants = scenario(None).contestants();
    let names: HashSet<&str> = contestants.iter().map(|one| one.name()).collect();
    assert_eq!(names.len(), contestants.len());
    assert!(contestants.iter().all(|one| names.contains(one.baseline())));
}

#[test]
fn only_peers_that_look_for_owners_are_left_out_of_large_sizes() {
    let left_out = |max, size| -> Vec<String> {
        let contestants = scenario(max).contestants();
        let absent = contestants
            .iter()
            .filter(|one| one.absent(size).is_some_and(|why| why.contains("left out")));
        absent.map(|one| one.name().to_owned()).collect()
    };
    let slow: Vec<String> = left_out(Some(20_000), 20_001);
    assert!(slow.iter().all(|name| name.ends_with("-tanp")), "{slow:?}");
    assert_eq!(left_out(Some(20_000), 20_000), [""; 0]);
    assert_eq!(left_out(None, 1_000_000), [""; 0]);
}
