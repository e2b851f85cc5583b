//! `portolan probe --wait` and `--count`: until it is open, and again and again.

use std::time::{Duration, Instant};

use portolan_e2e::{
    Ran, Running, World,
    edges::records,
    probe::{self, METHODS, findings, listeners, summary, verdicts},
    wait_for,
};
use rustix::process::Signal;

fn start(world: &World, args: &str) -> Running {
    let args: Vec<&str> = args.split(' ').collect();
    Running::start(&world.host, world.portolan(&[&["probe"], &args[..]].concat()))
}

fn run(world: &World, args: &str) -> Ran {
    start(world, args).finish()
}

/// Waits until the program was told several times that a port is closed.
fn is_refused_again_and_again(world: &World) {
    wait_for("resets", || (probe::resets(&world.host) >= 3).then_some(()));
}

#[test]
fn it_waits_until_everything_is_open() {
    for method in METHODS {
        let world = World::new();
        let _first = listeners(&world.host, &["127.0.0.1:80"]);
        let args = format!("127.0.0.1:80 [::1]:81 --wait=1h --json --method {method}");
        let waiting = start(&world, &args);
        is_refused_again_and_again(&world);
        assert_eq!(waiting.stdout(), "", "nothing is told before the end");
        let _second = listeners(&world.host, &["[::1]:81"]);
        let ran = waiting.finish();
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran}");
        assert!(verdicts(&ran.stdout).values().all(|verdict| verdict == "open"), "{ran}");
        assert_eq!(summary(&ran)["open"], 2, "{ran}");
    }
}

#[test]
fn at_the_deadline_it_says_how_it_is() {
    let world = World::new();
    probe::silence(&world);
    let _open = listeners(&world.host, &["127.0.0.1:80"]);
    // Silent targets are asked for a second, which is longer than it may wait.
    let targets = "127.0.0.1:80 127.0.0.1:81 10.200.0.9:80 10.203.0.9:80";
    for (time, least) in [("300ms", 300), ("0s", 0), ("1200ms", 1200)] {
        let begun = Instant::now();
        let ran = run(&world, &format!("{targets} --wait={time} --json"));
        assert!(begun.elapsed() >= Duration::from_millis(least), "{ran}");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""), "{ran}");
        let found: Vec<_> = verdicts(&ran.stdout).into_values().collect();
        assert_eq!(found, ["filtered", "unreachable no-route", "open", "closed"], "{ran}");
        assert_eq!(summary(&ran)["complete"], true, "{ran}");
    }
}

#[test]
fn a_name_that_does_not_resolve_is_waited_for() {
    let world = World::new();
    let begun = Instant::now();
    let ran = run(&world, "no-such-host.invalid:80 --wait=500ms");
    assert!(begun.elapsed() >= Duration::from_millis(500), "{ran}");
    ran.assert_failed(2, &["cannot resolve no-such-host.invalid"]);
    assert_eq!(ran.stdout, "", "{ran}");
    // What will never be right is not waited for.
    run(&world, "no-such-host.invalid:0 --wait").assert_failed(2, &["port 0"]);
    run(&world, "10.0.0.0/8 --wait -p 80").assert_failed(2, &["--wait is for 4096 checks"]);
}

#[test]
fn an_interruption_ends_the_wait() {
    for signal in [Signal::INT, Signal::TERM] {
        let world = World::new();
        let waiting = start(&world, "127.0.0.1:80 --wait --json");
        is_refused_again_and_again(&world);
        waiting.signal(signal);
        let ran = waiting.finish();
        assert_eq!((ran.code, ran.signal, ran.stderr.as_str()), (Some(1), None, ""), "{ran}");
        assert_eq!(findings(&ran.stdout)[0]["state"], "closed", "{ran}");
    }
}

#[test]
fn one_target_is_checked_again_and_again() {
    let world = World::new();
    probe::accepting(&world.host, "127.0.0.1:80");
    for method in METHODS {
        let ran = run(&world, &format!("127.0.0.1:80 --count 1000 --json --method {method}"));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran}");
        let [record] = &records(&ran.stdout)[..] else { panic!("one record: {ran}") };
        assert_eq!((&record["type"], &record["version"]), (&"count".into(), &1.into()), "{ran}");
        assert_eq!((&record["checks"], &record["open"]), (&1000.into(), &1000.into()), "{ran}");
        assert_eq!(record["method"], method, "{ran}");
        let times = ["time_us_median", "time_us_p99", "time_us_max"];
        let times = times.map(|name| record[name].as_u64().expect("a time"));
        assert!(times.is_sorted() && times[0] > 0, "{ran}");
        assert!(record["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{ran}");

        let ran = run(&world, &format!("127.0.0.1:81 --count 100 --json --method {method}"));
        assert_eq!(ran.code, Some(1), "{ran}");
        assert_eq!(records(&ran.stdout)[0]["closed"], 100, "{ran}");
    }
    let ran = run(&world, "127.0.0.1:80 --count 10");
    assert!(ran.stdout.starts_with("10 checks by syn in ") && ran.code == Some(0), "{ran}");
    assert!(ran.stdout.contains("10 open") && ran.stdout.contains("median"), "{ran}");
}

#[test]
fn several_targets_are_not_counted() {
    let world = World::new();
    for targets in ["127.0.0.1 -p 80,81", "127.0.0.0/24:80", "127.0.0.1:80 [::1]:80"] {
        let ran = run(&world, &format!("{targets} --count 10 --json"));
        ran.assert_failed(2, &["--count is for one target", "HOST:PORT"]);
        assert_eq!(ran.stdout, "", "{ran}");
    }
}

#[test]
fn counting_silence_can_be_interrupted() {
    let world = World::new();
    probe::silence(&world);
    let counting = start(&world, "10.200.0.9:80 --count 1000000 --json --timeout 1s");
    wait_for("a question", || (probe::frames_into_silence(&world) > 0).then_some(()));
    counting.signal(Signal::INT);
    let ran = counting.finish();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""), "{ran}");
    let record = &records(&ran.stdout)[0];
    // A check is a second: many more would be many seconds after the signal.
    assert!(record["checks"].as_u64().is_some_and(|checks| (1..10).contains(&checks)), "{ran}");
    assert_eq!(record["filtered"], record["checks"], "{ran}");
}
