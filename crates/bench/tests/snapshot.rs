//! The scenario `snapshot` in a small real world: every contestant that is installed gives a
//! result that can be right.
//!
//! It has no test harness, because the world is held and read by copies of this very program.

use std::{
    error::Error,
    io::{self, Write},
};

use portolan_bench::{
    Event, Hold, Options, Outcome, Program, Read, Snapshot, SnapshotOptions, hold, read, run,
};
use portolan_sockets::MethodName;

const SOCKETS: u64 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["hold", "--connections", connections, "--share", share] => {
            let share = Hold { connections: connections.parse()?, share: share.parse()? };
            Ok(hold(share, &mut io::stdout(), &mut io::stdin())?)
        }
        ["read", "--repeat", repeat, method @ ..] => {
            let method = MethodName::ALL.into_iter().find(|known| method.contains(&known.name()));
            let plan = Read { method, repeat: repeat.parse()? };
            let report = read(plan)?;
            Ok(writeln!(io::stdout(), "{}", serde_json::to_string(&report)?)?)
        }
        // What `cargo test -- --list` and test runners ask.
        _ if args.contains(&"--list") => Ok(()),
        _ if !portolan_sys::user::is_root() => {
            Err("needs root to make a network namespace: run make test as root".into())
        }
        _ => every_contestant_gives_a_plausible_result(),
    }
}

fn every_contestant_gives_a_plausible_result() -> Result<(), Box<dyn Error>> {
    let own = std::env::current_exe()?;
    let scenario = Snapshot::new(SnapshotOptions {
        hold: Program::new(&own, ["hold"]),
        read: Program::new(&own, ["read"]),
        slow_peers_max: None,
    });
    let options = Options { sizes: vec![SOCKETS], rounds: Some(2), ..Options::default() };
    let mut events = 0;
    let results = run(&scenario, &options, &mut |_: Event<'_>| {
        events += 1;
        Ok(())
    })?;
    assert!(events > 0);
    let lanes = &results.sizes[0].lanes;
    let mut measured = 0;
    for lane in lanes {
        match &lane.outcome {
            Outcome::Measured(samples) => {
                assert_eq!(samples.len(), 2, "{}", lane.contestant);
                assert!(lane.rows >= Some(SOCKETS), "{}: {:?}", lane.contestant, lane.rows);
                assert!(samples.iter().all(|sample| !sample.wall.is_zero()));
                measured += 1;
            }
            Outcome::Absent(why) => println!("{} ... skipped: {why}", lane.contestant),
            fault => panic!("{}: {fault:?}", lane.contestant),
        }
    }
    assert!(measured >= 2, "the own ones are always there");
    println!("test snapshot ... ok, {measured} of {} contestants", lanes.len());
    Ok(())
}
