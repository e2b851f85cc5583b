use std::collections::HashSet;

use super::*;

fn scenario(slow_peers_max: Option<u64>) -> Sweep {
    let nothing = || Program::new("/bin/true", [""; 0]);
    Sweep::new(SweepOptions { listen: nothing(), probe: nothing(), slow_peers_max })
}

#[test]
fn names_are_unique_and_each_baseline_is_one_of_them() {
    let contestants = scenario(None).contestants();
    let names: HashSet<&str> = contestants.iter().map(|one| one.name()).collect();
    assert_eq!(names.len(), contestants.len());
    assert!(contestants.iter().all(|one| names.contains(one.baseline())));
}

#[test]
fn more_addresses_than_there_are_cannot_be_swept() {
    let refused = scenario(None).prepare(SIZE_MAX + 1).err().unwrap().to_string();
    assert!(refused.contains("65537 addresses are too many: at most 65536"), "{refused}");
}

#[test]
fn without_loss_the_task_that_needs_it_is_absent_and_says_why() {
    let scenario = scenario(Some(20_000));
    scenario.loss.set(Some("tc says: no such filter".to_owned()));
    for one in scenario.contestants().iter().filter(|one| one.is_own()) {
        let why = one.absent(16);
        assert_eq!(why.is_some(), one.task() == "sweep-loss", "{}: {why:?}", one.name());
    }
}

#[test]
fn the_arguments_name_the_way_and_every_block() {
    let blocks = ["10.77.0.0/29".to_owned(), "10.77.0.8/31".to_owned()];
    for peer in peers::PEERS {
        let args = (peer.args)(&CLEAN, &blocks);
        for part in blocks.iter().map(String::as_str).chain([CLEAN.device]) {
            assert!(args.iter().any(|arg| arg == part), "{part}: {args:?}");
        }
    }
    let (_, _, own) = peers::OWN[1];
    let args = own(&LOSSY, &blocks).join(" ");
    assert_eq!(args, "10.77.0.0/29 10.77.0.8/31 -p 80 --method quiet --open --json");
}
