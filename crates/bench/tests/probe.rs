//! The scenario `probe` in a small real world: everyone gives the right answers, and the packets
//! are those that there have to be.
//!
//! It has no test harness, because the server, the published method and the checks are copies of
//! this very program; its checks connect, whatever method they are asked for, so that this says
//! nothing about `portolan probe`.

use std::{
    error::Error,
    io,
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use portolan_bench::{
    Count, Lane, Listen, Options, Outcome, Probe, ProbeOptions, Program, Published, listen,
    published, run,
};

const CHECKS: u64 = 50;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["listen", "--address", address] => {
            let plan = Listen { address: address.parse()?, ticks: Vec::new() };
            Ok(listen(&plan, &mut io::stdout(), &mut io::stdin().lock())?)
        }
        [
            "published",
            "--target",
            target,
            "--source",
            source,
            "--count",
            count,
            "--timeout-ms",
            ms,
        ] => {
            let timeout = Duration::from_millis(ms.parse()?);
            let (target, source, count) = (target.parse()?, source.parse()?, count.parse()?);
            let count = published(Published { target, source, count, timeout })?;
            println!("{}", count.to_line()?);
            Ok(())
        }
        ["probe", target, "--count", count, "--method", _, "--timeout", timeout, "--json"] => {
            let ms = timeout.strip_suffix("ms").ok_or("a timeout in milliseconds")?.parse()?;
            let count = connect(target.parse()?, count.parse()?, Duration::from_millis(ms));
            println!("{}", count.to_line()?);
            Ok(())
        }
        // What `cargo test -- --list` and test runners ask.
        _ if args.contains(&"--list") => Ok(()),
        _ if !portolan_sys::user::is_root() => {
            Err("needs root to make a network namespace: run make test as root".into())
        }
        _ => every_contestant_is_right(),
    }
}

/// What the method `connect` has to do.
fn connect(target: SocketAddr, checks: u64, timeout: Duration) -> Count {
    let mut count = Count { checks, ..Count::default() };
    for _ in 0..checks {
        match TcpStream::connect_timeout(&target, timeout) {
            Ok(_) => count.open += 1,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => count.closed += 1,
            Err(error) if error.kind() == io::ErrorKind::TimedOut => count.filtered += 1,
            Err(_) => count.error += 1,
        }
    }
    count
}

fn every_contestant_is_right() -> Result<(), Box<dyn Error>> {
    let own = std::env::current_exe()?;
    let part = |name| Program::new(&own, [name]);
    let scenario = Probe::new(ProbeOptions {
        listen: part("listen"),
        published: part("published"),
        probe: part("probe"),
        slow_peers_max: None,
    });
    let options = Options { sizes: vec![CHECKS], rounds: Some(2), ..Options::default() };
    let results = run(&scenario, &options, &mut |_| Ok(()))?;
    let lanes = &results.sizes[0].lanes;
    assert_eq!(lanes.len(), 3 * 6);
    lanes.iter().for_each(check);
    println!("test probe ... ok, {} contestants", lanes.len());
    Ok(())
}

fn check(lane: &Lane) {
    let name = &lane.contestant;
    let Outcome::Measured(samples) = &lane.outcome else { panic!("{name}: {:?}", lane.outcome) };
    let captured = match &lane.closer {
        Ok(figures) => figures[0].value,
        Err(why) => panic!("{name}: {why}"),
    };
    let (checks, packets) = match (lane.task, lane.is_own) {
        ("open", false) => (CHECKS, 3.0..=3.0),
        // The server's end acknowledges ours, unless it comes late: on a busy host there are more.
        ("open", true) => (CHECKS, 6.0..=9.0),
        ("refused", _) => (CHECKS, 2.0..=2.0),
        _ => (1, 1.0..=1.0),
    };
    assert_eq!(lane.rows, Some(checks), "{name}");
    assert!(packets.contains(&captured), "{name}: captured {captured}");
    for sample in samples {
        let figure = |name: &str| {
            let found = sample.figures.iter().find(|figure| figure.name == name);
            found.map(|figure| figure.value).unwrap()
        };
        assert!(packets.contains(&figure("packets_per_check")), "{name}: {:?}", sample.figures);
        let accepts = if lane.task == "open" && lane.is_own { 50.0 } else { 0.0 };
        assert_eq!(figure("accepts"), accepts, "{name}");
        assert!(figure("checks_per_second") > 0.0, "{name}");
    }
}
