//! `portolan load ports`: the search for source ports, seen by what the kernel hands out rather
//! than by how long it takes.

use std::{fs, os::unix::process::CommandExt, process::Command};

use portolan_e2e::{NOBODY, Ran, Running, World, portolan, wait_for};
use portolan_load::ports::{Job, Record, Strategy};
use rustix::process::Signal;

const COUNT: u32 = 1_500;

fn command(args: &str) -> Command {
    let mut command = Command::new(portolan());
    command.args(["load", "ports"]).args(args.split(' '));
    command
}

fn records(ran: &Ran) -> Vec<Record> {
    let read = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {ran}"));
    ran.stdout.lines().map(read).collect()
}

/// The ranges of the parts that are still running, from the whole command line of each process.
fn parts_of(range_start: u16) -> usize {
    let wanted = format!("\"ports\":{{\"start\":{range_start}");
    let processes = fs::read_dir("/proc").expect("it is there").flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(&wanted)).count()
}

#[test]
fn every_call_has_a_port_of_its_own_and_the_kernel_takes_every_second_one_first() {
    let world = World::new();
    let folder = world.folder("ports");
    let ran = world.host.succeed(command(&format!(
        "--connections {COUNT} --binds {COUNT} --range 30001-31600 --json --out {}",
        folder.display()
    )));
    let records = records(&ran);
    let order: Vec<_> = records.iter().map(|record| (record.job, record.strategy)).collect();
    let strategies = [Strategy::Explicit, Strategy::Range, Strategy::Kernel];
    let expected: Vec<_> = [Job::Connect, Job::Bind]
        .into_iter()
        .flat_map(|job| strategies.map(|strategy| (job, strategy)))
        .collect();
    assert_eq!(order, expected);
    for record in &records {
        let all = u64::from(COUNT);
        assert_eq!((record.count, record.distinct_ports), (all, all), "{record:?}");
        let verified = (record.job == Job::Connect).then_some(all);
        assert_eq!((record.verified, &record.failure), (verified, &None), "{record:?}");
        assert!(record.own_namespace && record.range == (30_001, 31_600), "{record:?}");
    }
    // 1600 ports: half of them are 800, of which the first half of the calls takes 750. To connect,
    // the kernel begins with those at an even distance from the first, and with the others to bind;
    // what is left of the second half has gone round all of them in vain.
    let even = |nth: usize| (records[nth].even_in_first_half, records[nth].even_in_second_half);
    assert_eq!(even(2), (750, 50), "connect, kernel: {:?}", records[2]);
    assert_eq!(even(5), (0, 700), "bind, kernel: {:?}", records[5]);
    for nth in [0, 1, 3, 4] {
        let (first, second) = even(nth);
        assert!((300..=450).contains(&first), "no side is preferred: {:?}", records[nth]);
        assert!((300..=450).contains(&second), "no side is preferred: {:?}", records[nth]);
    }
    for name in
        ["ports.html", "connect-cumulative.svg", "connect-per-call.svg", "bind-per-call.svg"]
    {
        let text = fs::read_to_string(folder.join(name)).expect(name);
        assert!(text.contains("</svg>") && text.contains("kernel"), "{name}");
    }
    let csv = fs::read_to_string(folder.join("ports.csv")).expect("it was written");
    assert!(csv.lines().any(|row| row.starts_with("bind,range,1500,")), "{csv}");
    let lines = fs::read_to_string(folder.join("ports.jsonl")).expect("it was written");
    assert_eq!(lines, ran.stdout);
}

#[test]
fn whoever_may_not_make_a_namespace_measures_on_the_host() {
    let world = World::new();
    let mut command = Command::new(world.portolan_for_all());
    command
        .args("load ports --connections 300 --binds 0 --strategy explicit,kernel --json".split(' '))
        .uid(NOBODY)
        .gid(NOBODY);
    let records = records(&world.host.succeed(command));
    assert_eq!(records.len(), 2);
    for record in records {
        assert!(!record.own_namespace && record.range == (32_768, 60_999), "{record:?}");
        assert_eq!((record.distinct_ports, record.verified), (300, Some(300)), "{record:?}");
    }
    let mut command = Command::new(world.portolan_for_all());
    command.args("load ports --range 20000-30000".split(' ')).uid(NOBODY).gid(NOBODY);
    world.host.run(command).assert_failed(2, &["32768-60999", "as root"]);
}

#[test]
fn the_table_is_for_people() {
    let world = World::new();
    let args = "--connections 200 --binds 0 --range 30000-30400 --strategy range";
    let ran = world.host.succeed(command(args));
    assert!(ran.stdout.contains("connect: time of each call"), "{ran}");
    let is_row = |line: &str| line.split_whitespace().take(2).eq(["range", "200"]);
    assert!(ran.stdout.lines().any(is_row), "{ran}");
    assert!(ran.stderr.contains("connect, range: 200"), "{ran}");
    world.host.run(command("--connections 9 --range 30000-30007")).assert_failed(2, &["16 ports"]);
}

#[test]
fn an_end_that_was_asked_for_leaves_nothing_behind() {
    let world = World::new();
    // Long enough to be interrupted: after half of the ports, each call takes its time.
    let args = "--connections 30000 --binds 30000 --range 21017-51017 --strategy kernel --json";
    let running = Running::start(&world.host, command(args));
    wait_for("connections are opened", || (parts_of(21_017) > 0).then_some(()));
    running.signal(Signal::INT);
    let ran = running.finish();
    ran.assert_failed(1, &[]);
    assert!(records(&ran).is_empty(), "{ran}");
    assert_eq!(parts_of(21_017), 0, "nobody is left");
}
