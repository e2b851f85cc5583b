use std::fs;

use super::*;

fn name(comm: &[u8], cgroup: u64) -> Name {
    let mut name = Name { cgroup, ..Name::default() };
    name.comm[..comm.len()].copy_from_slice(comm);
    name
}

#[test]
fn nobody_is_unobserved() {
    assert_eq!(Owners::default().of(Name::default(), 1), Owner::Unobserved);
}

#[test]
fn a_process_that_runs_has_its_whole_name() {
    let comm = fs::read("/proc/self/comm").expect("linux has it");
    let owner = Owners::default().of(name(comm.trim_ascii_end(), 0), std::process::id());
    let program = std::env::current_exe().expect("linux has it");
    let program = program.file_name().expect("a file").to_string_lossy().into_owned();
    assert_eq!(owner.process().map(|process| process.name.clone()), Some(program));
}

#[test]
fn an_id_that_is_anothers_by_now_says_nothing() {
    let owner = Owners::default().of(name(b"gone", u64::MAX), std::process::id());
    let process = owner.process().expect("it was seen");
    assert_eq!((&*process.name, &process.unit), ("gone", &None));
}

#[test]
fn the_same_name_is_looked_up_once() {
    let mut owners = Owners::default();
    let (one, other) = (owners.of(name(b"gone", 7), 0), owners.of(name(b"gone", 7), 0));
    let (Owner::Process(one), Owner::Process(other)) = (one, other) else {
        panic!("both were seen");
    };
    assert!(Arc::ptr_eq(&one, &other));
}
