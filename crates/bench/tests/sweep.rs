//! The scenario `sweep` in a small real world: everyone that is installed finds addresses, and
//! without loss almost all.
//!
//! It has no test harness, because the server and the sweep are copies of this very program; its
//! sweep connects to one address after another, so that this says nothing about `portolan probe`.

use std::{
    error::Error,
    io,
    net::{Ipv4Addr, SocketAddr, TcpStream},
    path::Path,
    time::Duration,
};

use portolan_bench::{
    Lane, Listen, Options, Outcome, Program, Scenario, Sweep, SweepOptions, listen, run,
};

const ADDRESSES: u64 = 96;

/// An error that can leave a thread.
type Fault = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Fault> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["listen", "--address", address, ticks @ ..] => {
            let ticks = ticks.iter().filter(|arg| **arg != "--tick").map(|tick| tick.parse());
            let plan =
                Listen { address: address.parse()?, ticks: ticks.collect::<Result<_, _>>()? };
            Ok(listen(&plan, &mut io::stdout(), &mut io::stdin().lock())?)
        }
        ["probe", blocks @ .., "-p", port, "--method", _, "--open", "--json"] => {
            blocks.iter().try_for_each(|block| sweep(block, port.parse()?))
        }
        // What `cargo test -- --list` and test runners ask.
        _ if args.contains(&"--list") => Ok(()),
        _ if !portolan_sys::user::is_root() => {
            Err("needs root to make a network namespace: run make test as root".into())
        }
        _ => {
            let own = std::env::current_exe()?;
            // Those that wait for late answers do so once, while the others take their turns.
            let patient = ["zmap (loss)", "masscan 1M/s (loss)"];
            std::thread::scope(|scope| {
                let patient = scope.spawn(|| find_addresses(&own, &patient, 0));
                find_addresses(&own, &["portolan", "nmap"], 2)?;
                patient.join().map_err(|_| "see above")?
            })
        }
    }
}

/// Asks twice, so that a packet may get lost.
fn sweep(block: &str, port: u16) -> Result<(), Fault> {
    let (first, bits) = block.split_once('/').ok_or("a block")?;
    let (first, bits): (Ipv4Addr, u32) = (first.parse()?, bits.parse()?);
    for place in 0..1_u32 << (32 - bits) {
        let address = Ipv4Addr::from(u32::from(first) + place);
        let target = SocketAddr::from((address, port));
        let timeout = Duration::from_millis(50);
        if (0..2).any(|_| TcpStream::connect_timeout(&target, timeout).is_ok()) {
            println!(
                "{{\"type\":\"finding\",\"address\":\"{address}\",\"port\":{port},\
                 \"state\":\"open\"}}"
            );
        }
    }
    Ok(())
}

fn find_addresses(own: &Path, names: &[&str], rounds: u32) -> Result<(), Fault> {
    let (listen, probe) = (Program::new(own, ["listen"]), Program::new(own, ["probe"]));
    let scenario = Sweep::new(SweepOptions { listen, probe, slow_peers_max: None });
    let only = names.iter().map(|&name| name.to_owned()).collect();
    let baseline = scenario
        .contestants()
        .iter()
        .map(|one| one.name().to_owned())
        .find(|name| names.iter().any(|part| name.contains(part)));
    let options = Options {
        sizes: vec![ADDRESSES],
        rounds: Some(rounds),
        only,
        baseline,
        ..Options::default()
    };
    let results = run(&scenario, &options, &mut |_| Ok(()))?;
    let lanes = &results.sizes[0].lanes;
    let measured = lanes.iter().filter(|lane| is_measured(lane)).count();
    assert!(measured > 0);
    println!("test sweep {names:?} ... ok, {measured} of {} contestants", lanes.len());
    Ok(())
}

fn is_measured(lane: &Lane) -> bool {
    let name = &lane.contestant;
    let samples = match &lane.outcome {
        Outcome::Measured(samples) => samples,
        // A kernel that cannot lose packets; a program that is missing is a fault.
        Outcome::Absent(why) if !why.contains("not installed") => {
            println!("{name} ... skipped: {why}");
            return false;
        }
        fault => panic!("{name}: {fault:?}"),
    };
    assert!(lane.rows.is_some_and(|rows| (1..=ADDRESSES).contains(&rows)), "{name}");
    for sample in samples {
        let figure = |name: &str| {
            let found = sample.figures.iter().find(|figure| figure.name == name);
            found.map(|figure| figure.value).unwrap()
        };
        let (found, lost) = (figure("found"), figure("lost"));
        assert_eq!(found + lost, 96.0, "{name}");
        assert_eq!(figure("duplicates"), 0.0, "{name}");
        if lane.task == "sweep" {
            assert_eq!(lost, 0.0, "{name}");
        }
        assert!(figure("packets_per_target") >= 1.0, "{name}: {:?}", sample.figures);
    }
    true
}
