//! The scenario `sockets` in a small real world: every contestant that is installed gives a
//! result that can be right.
//!
//! It has no test harness, because the world is held and listed by copies of this very program;
//! their listing is as much of `portolan sockets` as the scenario needs.

use std::{
    error::Error,
    io::{self, Write},
};

use portolan_bench::{
    Event, Hold, Lane, Options, Outcome, Program, Sockets, SocketsOptions, hold, run,
};
use portolan_flow::Transport;
use portolan_sockets::{Filter, HostNames, MethodName, Owners, Place, Query, States, open};

const SOCKETS: u64 = 200;

/// Both ends of a hundred connections, and where they were accepted.
const ROWS: u64 = SOCKETS + 4;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["hold", "--connections", connections, "--share", share] => {
            let share = Hold { connections: connections.parse()?, share: share.parse()? };
            Ok(hold(share, &mut io::stdout(), &mut io::stdin())?)
        }
        ["sockets", "--method", method, flags @ ..] => Ok(list(method, flags)?),
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
    let scenario = Sockets::new(SocketsOptions {
        hold: Program::new(&own, ["hold"]),
        list: Program::new(&own, ["sockets"]),
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
    let measured = lanes.iter().filter(|lane| is_measured(lane)).count();
    assert!(measured >= 2 * 6, "the own ones are always there");
    println!("test sockets ... ok, {measured} of {} contestants", lanes.len());
    Ok(())
}

fn is_measured(lane: &Lane) -> bool {
    let name = &lane.contestant;
    match &lane.outcome {
        Outcome::Measured(samples) => {
            assert_eq!(samples.len(), 2, "{name}");
            assert!(samples.iter().all(|sample| !sample.wall.is_zero()), "{name}");
        }
        Outcome::Absent(why) => {
            println!("{name} ... skipped: {why}");
            return false;
        }
        fault => panic!("{name}: {fault:?}"),
    }
    let rows = match lane.task {
        "listening" => 4,
        "close-wait" => 0,
        _ => ROWS,
    };
    assert_eq!(lane.rows, Some(rows), "{name}");
    match lane.reads {
        // Its counters are no table.
        Some(Ok(reads)) => assert_eq!(reads == 0, name == "ss -s", "{name}: {reads} reads"),
        ref uncounted => panic!("{name}: {uncounted:?}: needs strace: apt-get install strace"),
    }
    true
}

/// `portolan sockets`, as far as the contestants go.
fn list(method: &str, flags: &[&str]) -> Result<(), Box<dyn Error>> {
    let named = MethodName::ALL.into_iter().find(|known| known.name() == method);
    let method = named.unwrap_or(MethodName::Diag);
    let filter = flags.iter().position(|flag| *flag == "state").map(|at| flags[at..].join(" "));
    let filter = match filter {
        Some(text) => Some(Filter::parse_with(&text, &HostNames::read())?.into()),
        None => None,
    };
    let mut query = Query { states: States::ALL, filter, ..Query::all(Transport::Tcp) };
    query.details.holder = flags.contains(&"-tanp");
    let mut inodes = Vec::new();
    open(method, &Place::here())?.read(&query, &mut |row| inodes.push(row.inode))?;
    let mut owners = Owners::new();
    if query.details.holder {
        owners.walk()?;
    }
    let mut out = io::stdout().lock();
    if flags.contains(&"-ta") {
        return Ok(writeln!(out, "{} total", inodes.len())?);
    }
    writeln!(out, "Netid State")?;
    for inode in inodes {
        let owner =
            owners.holder(inode).map_or(String::new(), |holder| format!("[{}]", holder.pid));
        writeln!(out, "tcp {owner}")?;
    }
    Ok(())
}
