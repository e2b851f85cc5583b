//! The scenario `load`, small: every workload has figures that can be right.
//!
//! It has no test harness, because our client and servers are copies of this very program: as much
//! of `portolan load` as the scenario asks for.

use std::{error::Error, path::Path, time::Duration};

use portolan_bench::{
    BareLoop, Lane, Load, LoadOptions, LoadWorkload, Options, Outcome, Program, Sample, bare_loop,
    run,
};
use portolan_load::{
    Ask, Client, ClientOptions, Close, Mode, Server, ServerOptions, Sizes, Transports, Url,
    parse_addresses, parse_serve, ports::run_task,
};
use portolan_sys::signals;
use serde_json::json;

/// An error that can leave a thread.
type Fault = Box<dyn Error + Send + Sync>;

/// What is measured, at which size, and who takes part.
const SMALL: [(LoadWorkload, u64, &[&str]); 4] = [
    (LoadWorkload::Http, 4, &["portolan to nginx"]),
    (LoadWorkload::HttpClose, 4, &["h2load to portolan"]),
    (LoadWorkload::Connect, 4, &["reset", "twice"]),
    (LoadWorkload::Ports, 64, &["explicit"]),
];

fn main() -> Result<(), Fault> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["load", "server", flags @ ..] => serve(flags),
        ["load", "client", mode, target, flags @ ..] => load(mode, target, flags),
        ["load", "ports", "--task", task] => {
            let task = serde_json::from_str(task)?;
            Ok(run_task(&task, &mut std::io::stdin().lock(), &mut std::io::stdout().lock())?)
        }
        ["bare", flags @ ..] => connect(flags),
        // What `cargo test -- --list` and test runners ask.
        _ if args.contains(&"--list") => Ok(()),
        _ if !portolan_sys::user::is_root() => {
            Err("needs root to make a network namespace: run make test as root".into())
        }
        _ => {
            let own = &std::env::current_exe()?;
            // Each has network namespaces of its own, and nothing here depends on how fast it is.
            std::thread::scope(|scope| {
                let all = SMALL.map(|(workload, size, only)| {
                    scope.spawn(move || measure(own, workload, size, only))
                });
                all.into_iter().try_for_each(|one| one.join().map_err(|_| "see above")?)
            })
        }
    }
}

fn value<'a>(flags: &[&'a str], name: &str) -> Option<&'a str> {
    let at = flags.iter().position(|flag| *flag == name)?;
    flags.get(at + 1).copied()
}

fn parsed<T: std::str::FromStr>(flags: &[&str], name: &str) -> Result<T, Fault> {
    let text = value(flags, name).and_then(|text| text.trim_end_matches("ms").parse().ok());
    text.ok_or_else(|| format!("what is {name}?").into())
}

fn serve(flags: &[&str]) -> Result<(), Fault> {
    let signals = signals::take()?;
    let server = Server::start(&ServerOptions {
        serve: parse_serve(value(flags, "--serve").ok_or("what")?, Sizes::default())?,
        transports: Transports::Tcp,
        threads: parsed(flags, "--threads")?,
        ..ServerOptions::default()
    })?;
    println!("{}", json!({"type": "ready"}));
    signals.wait_timeout(Duration::from_secs(60));
    println!("{}", serde_json::to_string(&server.stop()?)?);
    Ok(())
}

fn load(mode: &str, target: &str, flags: &[&str]) -> Result<(), Fault> {
    let is_http = mode == "http";
    let mut options = ClientOptions {
        mode: if is_http { Mode::Http } else { Mode::Connect },
        rate: value(flags, "--rate").map(str::parse).transpose()?,
        connections: value(flags, "--connections").map_or(Ok(1_000), str::parse)?,
        duration: Some(Duration::from_millis(parsed(flags, "--duration")?)),
        threads: parsed(flags, "--threads")?,
        requests: 0,
        keep_alive: !flags.contains(&"--no-keepalive"),
        close: if flags.contains(&"--reset") { Close::Reset } else { Close::Fin },
        ..ClientOptions::default()
    };
    if is_http {
        let url = Url::parse(target)?;
        options.targets = vec![url.address()?];
        options.http =
            vec![url.request(&Ask { keep_alive: options.keep_alive, ..Ask::default() })?];
    } else {
        options.targets = parse_addresses(target)?;
    }
    let summary = Client::start(&options)?.wait()?;
    println!("{}", serde_json::to_string(&summary)?);
    if summary.is_good() { Ok(()) } else { std::process::exit(1) }
}

fn connect(flags: &[&str]) -> Result<(), Fault> {
    let found = bare_loop(BareLoop {
        target: parsed(flags, "--target")?,
        threads: parsed(flags, "--threads")?,
        duration: Duration::from_millis(parsed(flags, "--duration-ms")?),
        resets: flags.contains(&"--reset"),
    })?;
    println!("{}", serde_json::to_string(&found)?);
    Ok(())
}

fn measure(own: &Path, workload: LoadWorkload, size: u64, only: &[&str]) -> Result<(), Fault> {
    let (load, bare) = (Program::new(own, ["load"]), Program::new(own, ["bare"]));
    let window = Some(Duration::from_millis(300));
    let scenario = Load::new(LoadOptions { workload, load, bare, window, all: false });
    let only: Vec<String> = only.iter().map(|&part| part.to_owned()).collect();
    let options =
        Options { sizes: vec![size], rounds: Some(1), only: only.clone(), ..Options::default() };
    let results = run(&scenario, &options, &mut |_| Ok(()))?;
    let lanes = &results.sizes[0].lanes;
    assert!(lanes.len() > only.len(), "{workload:?}: who they are compared with is missing");
    let measured = lanes.iter().filter(|lane| is_measured(lane, lanes, size)).count();
    println!("test load {} ... ok, {measured} of {} contestants", workload.name(), lanes.len());
    Ok(())
}

fn is_measured(lane: &Lane, lanes: &[Lane], size: u64) -> bool {
    let name = &lane.contestant;
    let samples = match &lane.outcome {
        Outcome::Measured(samples) => samples,
        // A kernel without IP_LOCAL_PORT_RANGE; a program that is missing is a fault.
        Outcome::Absent(why) if !why.contains("not installed") => {
            println!("{name} ... skipped: {why}");
            return false;
        }
        fault => panic!("{name}: {fault:?}"),
    };
    // Whom a baseline is compared with in its turn was not asked for.
    let is_compared =
        lanes.iter().any(|one| one.contestant == lane.baseline && one.contestant != *name);
    assert_eq!(!lane.differences.is_empty(), is_compared, "{name}: {:?}", lane.differences);
    for sample in samples {
        let is_ports = matches!(lane.task, "connect" | "bind") && name.ends_with(')');
        if is_ports && !name.contains("reset") {
            assert_eq!(sample.rows, Some(size), "{name}");
            assert!(figure(sample, "total_us") > 0.0, "{name}: {:?}", sample.figures);
            continue;
        }
        for wanted in ["achieved_per_second", "client_ns_per_operation", "server_ns_per_operation"]
        {
            assert!(figure(sample, wanted) > 0.0, "{name} {wanted}: {:?}", sample.figures);
        }
        if name.contains("twice") {
            assert!(figure(sample, "asked_per_second") > 0.0, "{name}: {:?}", sample.figures);
            assert!(sample.marks.iter().any(|mark| mark.contains("asked for")), "{name}");
        }
    }
    true
}

fn figure(sample: &Sample, name: &str) -> f64 {
    let found = sample.figures.iter().find(|figure| figure.name == name);
    found.map_or(f64::NAN, |figure| figure.value)
}
