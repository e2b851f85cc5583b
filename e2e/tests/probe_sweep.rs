//! Sweeps by `portolan probe`: what is found, what is left out, in which order.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    net::SocketAddr,
    process::Command,
};

use portolan_e2e::{
    Ran, Running, World, portolan,
    probe::{self, METHODS, findings, listeners, summary, targets, verdicts},
    program, wait_for,
};
use rustix::process::Signal;

/// Where somebody listens, in 127.0.0.0/22.
const OPEN: [&str; 4] = ["127.0.0.1:80", "127.0.1.7:80", "127.0.2.255:80", "127.0.3.254:80"];

fn command(world: &World, args: &str) -> Command {
    let args: Vec<&str> = args.split(' ').collect();
    world.portolan(&[&["probe"], &args[..]].concat())
}

fn run(world: &World, args: &str) -> Ran {
    world.host.run(command(world, args))
}

fn open() -> BTreeMap<String, String> {
    OPEN.iter().map(|&target| (target.to_owned(), "open".to_owned())).collect()
}

fn set(ran: &Ran) -> BTreeSet<SocketAddr> {
    let targets = targets(&ran.stdout);
    let set: BTreeSet<_> = targets.iter().copied().collect();
    assert_eq!(set.len(), targets.len(), "something was told twice: {ran}");
    set
}

#[test]
fn exactly_what_listens_is_found() {
    let world = World::new();
    let _open = listeners(&world.host, &OPEN);
    for method in METHODS {
        let ran = run(&world, &format!("127.0.0.0/22 -p 80 --open --json --method {method}"));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""), "{ran}");
        assert_eq!(verdicts(&ran.stdout), open(), "{ran}");
        assert_eq!(summary(&ran)["closed"], 1024 - OPEN.len(), "{ran}");
    }
    // From 4,096 checks on, as they come and past the kernel's IP where it can be.
    let ran = run(&world, "127.0.0.0/20 -p 80,81 --open --json");
    assert_eq!(verdicts(&ran.stdout), open(), "{ran}");
    assert_eq!(summary(&ran)["closed"], 8192 - OPEN.len(), "{ran}");
}

#[test]
fn people_see_what_is_open_or_everything() {
    let world = World::new();
    let _open = listeners(&world.host, &OPEN);
    let targets = |ran: &Ran| -> Vec<String> {
        let lines = ran.stdout.lines().skip(1);
        lines.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
    };
    for flag in ["", " --open"] {
        let ran = run(&world, &format!("127.0.0.0/22 -p 80{flag}"));
        assert_eq!(targets(&ran), OPEN, "{ran}");
        let sum = ran.stderr.trim_end();
        assert!(sum.starts_with("1,024 checks in "), "{ran}");
        assert!(sum.ends_with(": 4 open, 1,020 closed"), "{ran}");
    }
    let ran = run(&world, "127.0.0.0/22 -p 80 --every");
    let all = targets(&ran);
    assert_eq!((all.len(), &all[0], &all[1]), (1024, &"127.0.0.0:80".into(), &OPEN[0].into()));
    // Of a few, everything; unless only what is open is asked for.
    assert_eq!(targets(&run(&world, "127.0.0.0/28 -p 80")).len(), 16);
    assert_eq!(targets(&run(&world, "127.0.0.0/28 -p 80 --open")), OPEN[..1]);
    let none = run(&world, "127.0.9.0/28 -p 80 --open");
    assert_eq!((none.code, none.stdout.as_str()), (Some(1), ""), "{none}");
}

#[test]
fn what_is_excluded_is_not_asked() {
    let world = World::new();
    let _open = listeners(&world.host, &OPEN);
    let list = world.file("ours");
    fs::write(&list, "# ours\n127.0.1.0/24  127.0.2.5-9 # and more\r\n\n127.0.3.1\n")
        .expect("a list");
    let list = list.display();
    let ran = run(&world, &format!("127.0.0.0/22 -p 80 --json --exclude-file {list}"));
    let asked = set(&ran);
    assert_eq!(asked.len(), 1024 - 256 - 5 - 1, "{ran}");
    assert!(!asked.contains(&"127.0.1.7:80".parse().expect("a target")), "{ran}");
    let args = format!(
        "127.0.0.0/22 127.0.1.7:81 -p 80 --json --exclude-file {list} --exclude 127.0.0.0/24 \
         --exclude localhost"
    );
    let ran = run(&world, &args);
    assert_eq!(set(&ran).len(), 1024 - 256 - 5 - 1 - 256, "{ran}");
    run(&world, "127.0.0.0/30 -p 80 --exclude 127.0.0.0/8")
        .assert_failed(2, &["nothing is left", "--exclude"]);
}

#[test]
fn targets_come_from_files_and_standard_input() {
    let world = World::new();
    let _open = listeners(&world.host, &OPEN);
    let list = world.file("targets");
    fs::write(&list, "127.0.0.1 127.0.1.7:81 # two\n127.0.2.250-255\n").expect("a list");
    let file = list.display();
    let ran = run(&world, &format!("-i {file} 127.0.0.1 127.0.0.9:http -p 80 --json"));
    assert_eq!(set(&ran).len(), 1 + 1 + 6 + 1, "{ran}");
    assert_eq!(summary(&ran)["open"], 2, "{ran}");

    let mut piped = Running::start(&world.host, command(&world, "-i - -p 80 --json"));
    piped.stdin().write_all(b"127.0.0.1\n127.0.1.7 127.0.2.255:80\n").expect("targets");
    piped.close_stdin();
    let ran = piped.finish();
    assert_eq!((ran.code, set(&ran).len()), (Some(0), 3), "{ran}");
}

#[test]
fn shards_are_disjoint_and_together_everything() {
    let world = World::new();
    let mut together = BTreeSet::new();
    for part in 1..=5 {
        let args = "127.0.0.0/22 [::1]:81 127.0.0.9:81 -p 80,82 --json --seed 9";
        let ran = run(&world, &format!("{args} --shard {part}/5"));
        let asked = set(&ran);
        assert!((400..=420).contains(&asked.len()), "{} in part {part}", asked.len());
        for target in asked {
            assert!(together.insert(target), "{target} is in two parts");
        }
    }
    assert_eq!(together.len(), 2 * 1024 + 2);
}

#[test]
fn a_seed_decides_the_order() {
    let world = World::new();
    // By quiet, loopback answers each question before the next is asked; and they are too many to
    // be sorted.
    let order = |args: &str| {
        let ran = run(&world, &format!("127.0.0.0/21 -p 80 --json --method quiet {args}"));
        assert_eq!(set(&ran).len(), 2048);
        targets(&ran.stdout)
    };
    let first = order("--seed 7");
    assert!(!first.is_sorted(), "it is shuffled");
    assert_eq!(first, order("--seed 7"));
    assert_ne!(first, order("--seed 8"));
    assert_ne!(order("--timeout 1s"), order("--timeout 1s"), "without one, it is another");
    // Few findings are sorted, whatever the order of the questions.
    let ran = run(&world, "127.0.0.0/24 -p 80 --json --seed 7");
    assert!(targets(&ran.stdout).is_sorted(), "{ran}");
}

#[test]
fn few_descriptors_are_enough() {
    let world = World::new();
    probe::silence(&world);
    let _open = listeners(&world.host, &OPEN);
    let args = "127.0.0.0/22 10.200.0.8/30 -p 80 --json --method quiet --timeout 100ms";
    for limit in [64, 12] {
        let mut shell = Command::new(program("bash", "bash"));
        shell.args(["-c", &format!("ulimit -n {limit}; exec \"$0\" probe {args}")]);
        shell.arg(portolan());
        world.at_home(&mut shell);
        let ran = world.host.run(shell);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""), "{ran}");
        let sum = summary(&ran);
        let counts = ["open", "closed", "filtered", "error"].map(|it| sum[it].as_u64());
        assert_eq!(counts, [4, 1020, 4, 0].map(Some), "{sum}");
    }
}

#[test]
fn an_interruption_does_not_wait_for_what_was_not_asked() {
    let world = World::new();
    probe::silence(&world);
    // At this rate it would take hours.
    let args = "10.200.0.0/16 -p 80 --json --rate 10 --timeout 200ms";
    let sweep = Running::start(&world.host, command(&world, args));
    wait_for("a question", || (probe::frames_into_silence(&world) > 0).then_some(()));
    sweep.signal(Signal::INT);
    let ran = sweep.finish();
    assert_eq!((ran.code, ran.signal), (Some(1), None), "{ran}");
    assert_eq!(summary(&ran)["complete"], false, "{ran}");
    let told = findings(&ran.stdout);
    assert!(!told.is_empty() && told.iter().all(|it| it["state"] == "filtered"), "{ran}");
}

#[test]
fn a_second_interruption_ends_it_at_once() {
    let world = World::new();
    probe::silence(&world);
    let args = "10.200.0.0/24 -p 80 --json --timeout 1h";
    let mut sweep = Running::start(&world.host, command(&world, args));
    wait_for("a question", || (probe::frames_into_silence(&world) > 0).then_some(()));
    sweep.signal(Signal::INT);
    let pending = format!("/proc/{}/status", sweep.pid());
    sweep.wait_for("the first to be taken", |_| {
        let status = fs::read_to_string(&pending).ok()?;
        let none = |name: &str| status.contains(&format!("{name}:\t0000000000000000"));
        none("ShdPnd").then_some(())
    });
    sweep.signal(Signal::INT);
    let ran = sweep.finish();
    assert_eq!(ran.code, Some(130), "{ran}");
}

/// Runs a sweep of a second or more on a pseudo-terminal; what is on it.
fn on_a_terminal(world: &World, redirected: &str) -> String {
    let args = "10.200.0.0/24 -p 80 --rate 200 --timeout 200ms --retries 0 --every";
    let shell = format!("stty cols 120; \"$PORTOLAN\" probe {args} {redirected}; echo code $?");
    let mut command = Command::new(program("script", "bsdutils"));
    command.args(["--quiet", "--flush", "--return", "--command", &shell, "/dev/null"]);
    command.env("PORTOLAN", portolan()).env("SHELL", "/bin/sh");
    world.at_home(&mut command);
    let ran = world.host.run(command);
    assert!(ran.stdout.contains("code 1"), "{ran}");
    ran.stdout
}

#[test]
fn a_long_sweep_shows_its_progress_on_a_terminal() {
    let world = World::new();
    probe::silence(&world);
    let shown = on_a_terminal(&world, ">/dev/null");
    for part in ["% ", " of 256, ", "/s, ", "0 open, ", " left"] {
        assert!(shown.contains(part), "no {part:?} in {shown:?}");
    }
    // The line is taken away again, and the sum is what remains.
    let (_, after) = shown.rsplit_once(" left").expect("progress");
    assert!(after.contains("\x1b[2K") && after.contains("256 checks in "), "{after:?}");
    // Whoever reads it from a file or a pipe gets the sum alone.
    let log = world.file("log");
    let shown = on_a_terminal(&world, &format!(">/dev/null 2>{}", log.display()));
    assert!(!shown.contains(" left"), "{shown:?}");
    let log = fs::read_to_string(log).expect("what it said");
    assert!(log.starts_with("256 checks in ") && log.lines().count() == 1, "{log:?}");
}
