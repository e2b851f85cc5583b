//! Two thousand seeds, and that the simulator finds what is wrong.

use std::{process, thread};

use portolan_sim::{
    coverage::Happening,
    host::Kind,
    link::{Burst, Settings},
    runner::{Progress, keep_panics_quiet, run_safely, run_seeds},
    scenario::{Connection, Scenario, Script, Service, generated},
    world::run,
};

struct Quiet;

impl Progress for Quiet {
    fn done(&self, _runs: u64) {}

    fn stuck(&self, seed: u64) {
        eprintln!("seed {seed}: the run does not end");
        process::exit(1);
    }
}

/// In a long run 100,000 of them: `cargo run --release -p portolan-sim -- run --seeds 0..100000`.
#[test]
fn two_thousand_seeds_break_no_rule() {
    keep_panics_quiet();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let tally = run_seeds((0, 2_000), threads, 10, &Quiet);
    println!("{} seeds, {} segments, {} bytes", tally.runs, tally.segments, tally.bytes);
    let failures: Vec<String> = tally
        .failures
        .iter()
        .map(|(seed, violation)| format!("seed {seed}: {violation}"))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(tally.runs, 2_000);
    // Each kind of trouble is met, and not by one run alone.
    let rare: Vec<String> = Happening::ALL
        .iter()
        .map(|&what| (what.name(), tally.coverage.count(what), tally.runs_with.count(what)))
        .filter(|&(_, count, runs)| count < 20 || runs < 3)
        .map(|(name, count, runs)| format!("{name}: {count} times in {runs} runs"))
        .collect();
    assert!(rare.is_empty(), "{}", rare.join("\n"));
}

/// The test above counts what happens; this one, that a count is one of something that happened.
#[test]
fn what_does_not_happen_is_not_counted() {
    let outcome = run(&transfer(10_000));
    assert_eq!(outcome.violation, None);
    let happened: Vec<&str> = Happening::ALL
        .iter()
        .filter(|&&what| outcome.coverage.count(what) > 0)
        .map(|what| what.name())
        .collect();
    let expected = ["connection complete", "FIN-WAIT-2", "LAST-ACK", "TIME-WAIT"];
    let is_known = |name: &&str| expected.contains(name) || *name == "simultaneous close";
    assert!(happened.iter().all(is_known), "{happened:?}");
}

#[test]
fn a_run_is_the_same_each_time() {
    for seed in [1, 7, 100] {
        let mut scenario = generated(seed);
        scenario.captures = true;
        let (first, second) = (run(&scenario), run(&scenario));
        assert!(first.segments > 0, "seed {seed}");
        assert_eq!(first.capture.frames(), second.capture.frames(), "seed {seed}");
    }
}

#[test]
fn two_stacks_that_others_wrote_get_through_a_lossy_network() {
    let mut scenario = transfer(100_000);
    for host in &mut scenario.hosts {
        host.kind = Kind::Smoltcp;
    }
    for link in &mut scenario.links {
        link.loss_ppm = 30_000;
        link.burst = Some(Burst { enter_ppm: 10_000, leave_ppm: 300_000, loss_ppm: 900_000 });
        link.reorder_ppm = 50_000;
        link.reorder_us = 20_000;
        link.corrupt_ppm = 10_000;
    }
    let outcome = run(&scenario);
    assert_eq!(outcome.violation, None);
    assert_eq!(outcome.bytes, 200_000);
}

#[test]
fn what_can_never_arrive_is_missed() {
    let mut scenario = transfer(10_000);
    scenario.links[1].mtu = 60;
    let violation = run(&scenario).violation.expect("the server's data does not get through");
    assert_eq!(violation.rule, "liveness", "{violation}");
}

#[test]
fn a_scenario_that_cannot_be_is_reported_and_not_a_crash() {
    keep_panics_quiet();
    let mut scenario = transfer(1);
    scenario.hosts[0].mtu = 1;
    let violation = run_safely(&scenario).violation.expect("no host has such an MTU");
    assert_eq!(violation.rule, "panic");
    assert!(violation.what.contains("MTU"), "{violation}");
}

/// One connection that carries so many bytes each way.
fn transfer(bytes: u64) -> Scenario {
    let script = Script { bytes, ..Script::default() };
    Scenario {
        links: [1, 2].map(|delay| Settings { delay_us: delay * 5_000, ..Settings::default() }),
        calm_us: 10_000_000,
        services: vec![Service { host: 1, port: 80, backlog: 128, accept_every_us: 0 }],
        connections: vec![Connection {
            at_us: 0,
            from: 0,
            port: 80,
            simultaneous_us: None,
            after: None,
            active: script,
            passive: script,
        }],
        ..Scenario::default()
    }
}
