use std::collections::HashSet;

use super::*;
use crate::{Purpose, Sample};

fn scenario(list: Program, slow_peers_max: Option<u64>) -> Sockets {
    let hold = Program::new("/bin/true", [""; 0]);
    Sockets::new(SocketsOptions { hold, list, slow_peers_max })
}

fn nothing() -> Program {
    Program::new("/bin/true", [""; 0])
}

#[test]
fn names_are_unique_and_each_baseline_is_one_of_them() {
    let contestants = scenario(nothing(), None).contestants();
    let names: HashSet<&str> = contestants.iter().map(|one| one.name()).collect();
    assert_eq!(names.len(), contestants.len());
    assert!(contestants.iter().all(|one| names.contains(one.baseline())));
}

#[test]
fn every_method_there_is_takes_part_in_every_task() {
    let contestants = scenario(nothing(), None).contestants();
    for task in TASKS {
        let own = contestants.iter().filter(|one| one.task() == task.name && one.is_own());
        let names: Vec<&str> = own.map(|one| one.name()).collect();
        for how in MethodName::ALL.map(MethodName::name).into_iter().chain(["auto"]) {
            assert!(names.iter().any(|name| name.ends_with(how)), "{how}: {names:?}");
        }
        assert_eq!(names.len(), MethodName::ALL.len() + 1);
    }
}

#[test]
fn only_peers_that_look_for_owners_are_left_out_of_large_sizes() {
    let left_out = |max, size| -> Vec<String> {
        let contestants = scenario(nothing(), max).contestants();
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

/// The own contestants of `task`, with a program that prints `text` whatever its flags.
fn warm_up(task: &str, text: &str) -> Sample {
    let list = Program::new("/bin/sh", ["-c", &format!("printf '{text}'"), "sh"]);
    let mut own = scenario(list, None).contestants();
    let own = own.iter_mut().find(|one| one.task() == task && one.is_own()).unwrap();
    own.run(10, Purpose::WarmUp).unwrap()
}

#[test]
fn what_the_own_program_prints_is_counted() {
    let rows = |task, text| warm_up(task, text).rows;
    assert_eq!(rows("list", "Netid State\\ntcp ESTAB\\ntcp ESTAB\\n"), Some(2));
    assert_eq!(rows("owners", "Netid Process\\ntcp a[7]\\ntcp\\n"), Some(1));
    assert_eq!(rows("summary", "    12  tcp ESTAB\\n    12  total\\n"), Some(12));
    assert_eq!(rows("group", "    12  127.0.0.1\\n    12  total\\n"), Some(12));
    assert_eq!(rows("close-wait", "Netid State\\n"), Some(0));
}

#[test]
fn each_task_knows_how_many_rows_are_right() {
    let contestants = scenario(nothing(), None).contestants();
    let of = |task: &str| {
        let mut rows = contestants
            .iter()
            .filter(|one| one.task() == task)
            .map(|one| one.rows_expected(18_001));
        let first = rows.next().unwrap();
        assert!(rows.all(|other| other == first), "{task}");
        first
    };
    // Both ends of 9,001 connections, in two processes with four listeners each.
    assert!(
        ["list", "owners", "summary", "group"].iter().all(|task| of(task) == (18_010..=18_010))
    );
    assert_eq!((of("listening"), of("close-wait")), (8..=8, 0..=0));
}
