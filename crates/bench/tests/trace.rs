//! The scenario `trace` with a small load: every workload has figures that can be right.
//!
//! It has no test harness, because the load and the tracer are copies of this very program; its
//! tracer writes what `portolan trace --json` does, in short, so that this says nothing about that.

use std::{error::Error, path::Path, time::Duration};

use portolan_bench::{Lane, Options, Outcome, Program, Sample, Trace, TraceOptions, Workload, run};
use portolan_load::{
    Client, ClientOptions, Mode, Server, ServerOptions, Transports, parse_addresses, parse_ports,
};
use portolan_sys::{limits, signals};
use portolan_trace::{MethodName, Tracer};
use serde_json::json;

/// An error that can leave a thread.
type Fault = Box<dyn Error + Send + Sync>;

/// Small enough for a machine that does something else too.
const SIZES: [(Workload, u64); 5] = [
    (Workload::Short, 300),
    (Workload::Persistent, 300),
    (Workload::Udp, 300),
    (Workload::Fan, 20),
    (Workload::Latency, 1),
];

/// How long each run is looked at.
const WINDOW: Duration = Duration::from_millis(300);

/// How often the tracer reads.
const INTERVAL: Duration = Duration::from_millis(50);

fn main() -> Result<(), Fault> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["load", "server", flags @ ..] => serve(flags),
        ["load", "client", mode, target, flags @ ..] => load(mode, target, flags),
        ["trace", flags @ ..] => trace(value(flags, "--method").unwrap_or_default()),
        // What `cargo test -- --list` and test runners ask.
        _ if args.contains(&"--list") => Ok(()),
        _ if !portolan_sys::user::is_root() => {
            println!("test trace ... skipped: needs root to trace, and to make namespaces");
            Ok(())
        }
        _ => {
            let own = &std::env::current_exe()?;
            // Each has a network namespace of its own, and nothing here depends on how fast it is.
            std::thread::scope(|scope| {
                let all =
                    SIZES.map(|(workload, size)| scope.spawn(move || measure(own, workload, size)));
                all.into_iter().try_for_each(|one| one.join().map_err(|_| "see above")?)
            })
        }
    }
}

fn value<'a>(flags: &[&'a str], name: &str) -> Option<&'a str> {
    let at = flags.iter().position(|flag| *flag == name)?;
    flags.get(at + 1).copied()
}

fn milliseconds(flags: &[&str]) -> Result<Duration, Fault> {
    let text = value(flags, "--duration").and_then(|text| text.strip_suffix("ms"));
    Ok(Duration::from_millis(text.ok_or("a duration")?.parse()?))
}

fn serve(flags: &[&str]) -> Result<(), Fault> {
    let signals = signals::take()?;
    let is_udp = value(flags, "--transport") == Some("udp");
    let server = Server::start(&ServerOptions {
        listen: parse_addresses(value(flags, "--listen").ok_or("where")?)?,
        transports: if is_udp { Transports::Udp } else { Transports::Tcp },
        threads: 1,
        ..ServerOptions::default()
    })?;
    println!("{}", json!({"type": "ready"}));
    signals.wait_timeout(milliseconds(flags)?);
    println!("{}", serde_json::to_string(&server.stop()?)?);
    Ok(())
}

fn load(mode: &str, target: &str, flags: &[&str]) -> Result<(), Fault> {
    let options = ClientOptions {
        mode: match mode {
            "connect" => Mode::Connect,
            "request" => Mode::Request,
            _ => Mode::Udp,
        },
        targets: parse_addresses(target)?,
        source_ports: value(flags, "--source-ports").map(parse_ports).transpose()?,
        rate: value(flags, "--rate").map(str::parse).transpose()?,
        connections: value(flags, "--connections").ok_or("how many")?.parse()?,
        duration: Some(milliseconds(flags)?),
        ..ClientOptions::default()
    };
    println!("{}", serde_json::to_string(&Client::start(&options)?.wait()?)?);
    Ok(())
}

fn trace(method: &str) -> Result<(), Fault> {
    let signals = signals::take()?;
    let (sender, is_asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        signals.wait();
        sender.send(())
    });
    let method = MethodName::ALL.into_iter().find(|known| known.name() == method);
    let usual = portolan_trace::TraceOptions::default();
    let tracer = method.map(|method| {
        let ephemeral = limits::ephemeral_ports().unwrap_or(usual.ephemeral);
        Tracer::open(portolan_trace::TraceOptions { method, ephemeral, ..usual })
    });
    // Whatever is no method of the tracer looks on and says nothing.
    let mut tracer = tracer.transpose()?;
    eprintln!("portolan: tracing");
    loop {
        let is_last = is_asked.recv_timeout(INTERVAL).is_ok();
        if let Some(tracer) = &mut tracer {
            tracer.relieve()?;
            tell(&tracer.read()?);
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Writes what the scenario reads of docs/formats/trace.md.
fn tell(reading: &portolan_trace::Reading) {
    for flow in &reading.flows {
        let active = flow.traffic.as_ref().map(|traffic| {
            let (opened, sent) = (traffic.active.opened, traffic.active.datagrams_sent);
            json!({"opened": opened, "datagrams_sent": sent})
        });
        let edge = json!({
            "type": "edge",
            "client_address": flow.client.address.to_string(),
            "server_address": flow.server.address.to_string(),
            "server_port": flow.server_port,
            "network_transport": format!("{:?}", flow.transport).to_lowercase(),
            "client_namespace": flow.client.namespace.as_ref().map(portolan_flow::Namespace::name),
            "server_namespace": flow.server.namespace.as_ref().map(portolan_flow::Namespace::name),
            "active": active,
        });
        println!("{edge}");
    }
    let losses: serde_json::Map<_, _> = (reading.losses.by_reason().into_iter())
        .map(|(reason, count)| (reason.to_owned(), count.into()))
        .collect();
    let overflow = json!({"opened": reading.overflow.opened});
    println!("{}", json!({"type": "summary", "overflow": overflow, "losses": losses}));
}

fn measure(own: &Path, workload: Workload, size: u64) -> Result<(), Fault> {
    let (trace, load) = (Program::new(own, ["trace"]), Program::new(own, ["load"]));
    let window = Some(WINDOW);
    let scenario = Trace::new(TraceOptions { workload, trace, load, window, all: false });
    // One way of the tracer does where the others differ in nothing that is looked at here.
    let only = match workload {
        Workload::Short => vec!["(cpu)".to_owned()],
        _ => vec!["bundle".to_owned()],
    };
    let options = Options { sizes: vec![size], rounds: Some(1), only, ..Options::default() };
    let results = run(&scenario, &options, &mut |_| Ok(()))?;
    let lanes = &results.sizes[0].lanes;
    let measured = lanes.iter().filter(|lane| is_measured(lane, workload, size)).count();
    println!("test trace {} ... ok, {measured} of {} contestants", workload.name(), lanes.len());
    Ok(())
}

fn is_measured(lane: &Lane, workload: Workload, size: u64) -> bool {
    let name = &lane.contestant;
    let samples = match &lane.outcome {
        Outcome::Measured(samples) => samples,
        // A kernel without what it takes.
        Outcome::Absent(why) => {
            println!("{name} ... skipped: {why}");
            return false;
        }
        fault => panic!("{} {name}: {fault:?}", workload.name()),
    };
    let is_baseline = *name == lane.baseline;
    let counts = !is_baseline && !name.starts_with("snapshot");
    assert_eq!(lane.differences.is_empty(), is_baseline || lane.task == "cpu", "{name}");
    for sample in samples {
        let what = format!("{} {name}: {:?}", workload.name(), sample.figures);
        if counts {
            let edges = if workload == Workload::Fan { size } else { 1 };
            assert_eq!(figure(sample, "edges"), f64::from(u16::try_from(edges).unwrap()), "{what}");
        }
        if lane.task == "cpu" {
            assert!(figure(sample, "achieved_per_second") > 0.0, "{what}");
            assert!(is_baseline || figure(sample, "process_percent") > 0.0, "{what}");
            assert!(!counts || figure(sample, "ns_per_event") > 0.0, "{what}");
        } else {
            assert!(figure(sample, "response_us_median") > 0.0, "{what}");
            assert!(figure(sample, "response_us_mean") > 0.0, "{what}");
        }
    }
    true
}

fn figure(sample: &Sample, name: &str) -> f64 {
    let found = sample.figures.iter().find(|figure| figure.name == name);
    found.map_or(f64::NAN, |figure| figure.value)
}
