//! `portolan trace`: what happened is counted, each event once, whatever the method.

use std::{fs, io, os::unix::process::CommandExt, process::Command};

use portolan_e2e::{
    NOBODY, Place, Running, World,
    edges::{records, records_in},
    program, tcp,
    traced::attach,
};
use rustix::process::Signal;
use serde_json::Value;

const PORT: u16 = 7411;

/// The methods that count.
const COUNTING: [&str; 3] = ["bundle", "aggregate", "stream"];

/// Answers each five bytes with seven, until the client ends.
const SERVER: &str = r#"
import socket, sys
listener = socket.create_server((sys.argv[1], int(sys.argv[2])), backlog=128)
print("ready", flush=True)
while True:
    peer, _ = listener.accept()
    with peer:
        while peer.recv(5, socket.MSG_WAITALL):
            peer.sendall(b"sevenby")
"#;

/// Connects so many times, one after the other, and asks twice each time.
const CLIENT: &str = r#"
import socket, sys
for _ in range(int(sys.argv[3])):
    with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as server:
        for _ in range(2):
            server.sendall(b"fiveb")
            assert server.recv(7, socket.MSG_WAITALL) == b"sevenby"
"#;

/// Connects, and says so once it stands.
const HOLDER: &str = r#"
import socket, sys
server = socket.create_connection((sys.argv[1], int(sys.argv[2])))
print("connected", flush=True)
sys.stdin.readline()
"#;

/// Tries to connect to where nobody listens.
const REFUSED: &str = r#"
import socket, sys
for _ in range(int(sys.argv[3])):
    with socket.socket() as socket_:
        assert socket_.connect_ex((sys.argv[1], int(sys.argv[2]))) != 0
"#;

fn python(script: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program("python3", "python3"));
    command.arg("-c").arg(script).args(arguments);
    command
}

fn server(place: &Place, address: &str) -> Running {
    let mut server = Running::start(place, python(SERVER, &[address, &PORT.to_string()]));
    tcp::wait_listening(place, &mut server, PORT);
    server
}

fn client(place: &Place, address: &str, count: u32) {
    place.succeed(python(CLIENT, &[address, &PORT.to_string(), &count.to_string()]));
}

/// A trace that counts from now on.
fn trace(world: &World, more: &[&str]) -> Running {
    let mut arguments = vec!["trace", "--json", "--interval", "100ms"];
    if let Some(attach) = attach().filter(|_| !more.contains(&"snapshot")) {
        arguments.extend(["--attach", attach.name()]);
    }
    arguments.extend(more);
    let mut trace = Running::start(&world.host, world.portolan(&arguments));
    trace.wait_for("it to be on", |trace| {
        trace.stderr().contains("portolan: tracing by ").then_some(())
    });
    trace
}

/// The edges to [`PORT`] told so far, of the lines that are whole.
fn told(output: &str, places: &[&Place]) -> Vec<Value> {
    let whole = output.rfind('\n').map_or("", |end| &output[..end]);
    let mut edges = records_in(whole, places);
    edges.retain(|record| record["type"] == "edge" && record["server_port"] == PORT);
    edges
}

/// The sum over intervals of what is at a path: of one end, since the two may count the same thing
/// in different intervals.
fn sum(records: &[Value], path: &str) -> u64 {
    let number = |record: &Value| record.pointer(path).and_then(Value::as_u64);
    records.iter().map(|record| number(record).unwrap_or(0)).sum()
}

/// The least that both ends counted so far.
fn sum_at_both(records: &[Value], field: &str) -> u64 {
    sum(records, &format!("/active/{field}")).min(sum(records, &format!("/passive/{field}")))
}

fn summaries(output: &str) -> Vec<Value> {
    let mut summaries = records(output);
    summaries.retain(|record| record["type"] == "summary");
    summaries
}

#[test]
fn short_connections_are_counted_exactly_by_every_method() {
    for method in COUNTING {
        let world = World::new();
        let _server = server(&world.host, "127.0.0.1");
        let mut trace = trace(&world, &["--method", method]);
        assert!(trace.stderr().contains(&format!("tracing by {method} (")), "{}", trace.stderr());
        client(&world.host, "127.0.0.1", 20);
        trace.wait_for("the end of all", |trace| {
            (sum_at_both(&told(&trace.stdout(), &[&world.host]), "closed") >= 20).then_some(())
        });
        trace.signal(Signal::TERM);
        let ended = trace.finish();
        assert_eq!(ended.code, Some(0), "{ended}");
        let edges = told(&ended.stdout, &[&world.host]);
        let expected = [
            ("/active/opened", 20),
            ("/active/closed", 20),
            ("/active/resets", 0),
            ("/active/refused", 0),
            ("/active/bytes_sent", 20 * 10),
            ("/active/bytes_received", 20 * 14),
            ("/passive/opened", 20),
            ("/passive/closed", 20),
            ("/passive/bytes_sent", 20 * 14),
            ("/passive/bytes_received", 20 * 10),
        ];
        for (field, expected) in expected {
            assert_eq!(sum(&edges, field), expected, "{field} by {method}: {edges:#?}");
        }
        for edge in &edges {
            assert_eq!(edge["client_namespace"], "host", "{edge}");
            assert_eq!(edge["server_process"], "python3", "{edge}");
            assert_eq!(edge["direction_guessed"], false, "{edge}");
        }
        // The tracer sees all namespaces: others may have added to the sums.
        let summaries = summaries(&ended.stdout);
        assert!(sum_at_both(&summaries, "opened") >= 20, "{summaries:#?}");
        for summary in summaries {
            assert_eq!(summary["method"], method, "{summary}");
            let losses = summary["losses"].as_object().expect("losses by reason");
            for reason in ["overflow", "queue_full", "no_room", "not_counted"] {
                assert_eq!(losses[reason], 0, "{summary}");
            }
        }
    }
}

/// Asks with ten bytes and is answered with thirty, so many times, by two clients in turn.
const DATAGRAMS: &str = r#"
import socket, sys
address = (sys.argv[1], int(sys.argv[2]))
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(address)
clients = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
for number in range(int(sys.argv[3])):
    client = clients[number % 2]
    client.sendto(b"x" * 10, address)
    _, asker = server.recvfrom(100)
    server.sendto(b"y" * 30, asker)
    client.recv(100)
"#;

/// Where UDP is seen on kernels that refuse better.
const FORCED: [(&str, &str); 1] = [("bundle", "cgroup_skb")];

#[test]
fn datagrams_are_counted_exactly_by_every_method() {
    for (method, attach) in COUNTING.map(|method| (method, "auto")).into_iter().chain(FORCED) {
        let world = World::new();
        let arguments = ["127.0.0.1", &PORT.to_string(), "20"];
        let mut trace = trace(&world, &["--method", method, "--udp", "--udp-attach", attach]);
        world.host.succeed(python(DATAGRAMS, &arguments));
        trace.wait_for("all datagrams", |trace| {
            let edges = told(&trace.stdout(), &[&world.host]);
            let received = sum(&edges, "/active/datagrams_received");
            let is_all_received = sum(&edges, "/passive/datagrams_received") >= 20;
            (received >= 20 && is_all_received).then_some(())
        });
        trace.signal(Signal::TERM);
        let ended = trace.finish();
        assert_eq!(ended.code, Some(0), "{ended}");
        let edges = told(&ended.stdout, &[&world.host]);
        let expected = [
            ("/active/datagrams_sent", 20),
            ("/active/datagrams_received", 20),
            ("/active/bytes_sent", 200),
            ("/active/bytes_received", 600),
            ("/active/opened", 0),
            ("/passive/datagrams_sent", 20),
            ("/passive/datagrams_received", 20),
            ("/passive/bytes_sent", 600),
            ("/passive/bytes_received", 200),
        ];
        for (field, expected) in expected {
            assert_eq!(sum(&edges, field), expected, "{field} by {method}: {edges:#?}");
        }
        assert!(edges.iter().all(|edge| edge["network_transport"] == "udp"), "{edges:#?}");
        // The better way, or why not.
        let is_refused = ended.stderr.contains("UDP not attached by fentry: ");
        let is_first = attach == "auto" && portolan_e2e::traced::attach().is_none();
        let at = if is_first && !is_refused { "fentry" } else { "cgroup_skb" };
        assert!(ended.stderr.contains(&format!("; UDP by {at})")), "{ended}");
        assert!(summaries(&ended.stdout).iter().all(|it| it["udp_attach"] == at), "{ended}");
    }
    // Without UDP there is none of it, and TCP as before.
    let world = World::new();
    let _server = server(&world.host, "127.0.0.1");
    let mut trace = trace(&world, &["--no-udp"]);
    let port = (PORT + 1).to_string();
    world.host.succeed(python(DATAGRAMS, &["127.0.0.1", &port, "3"]));
    client(&world.host, "127.0.0.1", 1);
    trace.wait_for("the connection", |trace| {
        (sum(&told(&trace.stdout(), &[&world.host]), "/active/closed") >= 1).then_some(())
    });
    assert!(!trace.stdout().contains("\"udp\""), "{}", trace.stdout());
    assert!(trace.stdout().contains("\"udp_attach\":null"), "{}", trace.stdout());
    assert!(trace.stderr().contains("; without UDP)"), "{}", trace.stderr());
    trace.stop();
}

#[test]
fn what_is_up_and_its_bytes_are_told_while_it_lasts() {
    let world = World::new();
    let _server = server(&world.host, "127.0.0.1");
    let address = ["127.0.0.1", &PORT.to_string()];
    let before = Running::start(&world.host, python(HOLDER, &address));
    tcp::wait_accepted(&world.host, PORT, 1);
    let mut trace = trace(&world, &[]);
    let _during = Running::start(&world.host, python(HOLDER, &address));
    trace.wait_for("two that are up", |trace| {
        let edges = told(&trace.stdout(), &[&world.host]);
        edges.iter().any(|edge| edge["connections"] == 2).then_some(())
    });
    // One that nobody saw come up.
    before.stop();
    trace.wait_for("the end of the first", |trace| {
        (sum(&told(&trace.stdout(), &[&world.host]), "/active/closed") == 1).then_some(())
    });
    assert_eq!(sum(&told(&trace.stdout(), &[&world.host]), "/active/opened"), 1);
    trace.stop();
}

#[test]
fn refusals_are_told_as_such() {
    let world = World::new();
    let mut trace = trace(&world, &["--failed"]);
    world.host.succeed(python(REFUSED, &["127.0.0.1", &PORT.to_string(), "3"]));
    trace.wait_for("three refusals", |trace| {
        (sum(&told(&trace.stdout(), &[&world.host]), "/active/refused") == 3).then_some(())
    });
    trace.signal(Signal::INT);
    let ended = trace.finish();
    assert_eq!(ended.code, Some(0), "{ended}");
    let edges = told(&ended.stdout, &[&world.host]);
    for field in ["opened", "closed", "timed_out", "unreachable", "abandoned"] {
        assert_eq!(sum(&edges, &format!("/active/{field}")), 0, "{field}: {edges:#?}");
    }
    assert!(edges.iter().all(|edge| edge["client_process"] == "python3"), "{edges:#?}");

    let arguments = ["trace", "--count", "600", "--interval", "100ms", "--failed"];
    let mut trace = Running::start(&world.host, world.portolan(&arguments));
    trace.wait_for("it to be on", |trace| trace.stderr().contains("tracing by").then_some(()));
    world.host.succeed(python(REFUSED, &["127.0.0.1", &PORT.to_string(), "3"]));
    trace.wait_for("a line of the table", |trace| {
        let stdout = trace.stdout();
        let mut lines = stdout.lines();
        lines.any(|line| line.contains("7411/tcp") && line.ends_with(" refused")).then_some(())
    });
    trace.stop();
}

#[test]
fn filters_choose_what_is_listed_and_totals_count_all() {
    let world = World::new();
    let _server = server(&world.host, "127.0.0.1");
    let _holder = Running::start(&world.host, python(HOLDER, &["127.0.0.1", &PORT.to_string()]));
    tcp::wait_accepted(&world.host, PORT, 1);
    for (filter, listed) in [
        (&["--own-namespace", "--port", "7411"][..], 1),
        (&["--own-namespace", "--port", "7412"], 0),
        (&["--own-namespace", "--process", "python3"], 1),
        (&["--own-namespace", "--process", "python"], 0),
        (&["--own-namespace", "--udp"], 0),
        (&["--own-namespace", "--tcp", "PYTHON 7411"], 1),
        (&["--own-namespace", "--no-udp", "nothing-like-it"], 0),
        (&["--own-namespace", "--failed"], 0),
    ] {
        let arguments = [&["trace", "--once", "--json", "--interval", "100ms"], filter].concat();
        let ran = world.host.run(world.portolan(&arguments));
        assert_eq!(ran.code, Some(0), "{ran}");
        let edges = told(&ran.stdout, &[&world.host]);
        assert_eq!(edges.len(), listed, "{filter:?}: {ran}");
        let summary = &summaries(&ran.stdout)[0];
        let in_scope = u64::from(!filter.contains(&"--udp"));
        assert_eq!(summary["connections"], in_scope, "{filter:?}: {summary}");
        assert_eq!(summary["edges_listed"], listed, "{filter:?}: {summary}");
    }
}

#[test]
fn a_snapshot_sees_what_is_up() {
    let world = World::new();
    let _server = server(&world.host, "127.0.0.1");
    let mut trace = trace(&world, &["--method", "snapshot"]);
    assert!(trace.stderr().contains("tracing by snapshot ("), "{}", trace.stderr());
    let _holder = Running::start(&world.host, python(HOLDER, &["127.0.0.1", &PORT.to_string()]));
    let edge = trace.wait_for("the connection", |trace| {
        told(&trace.stdout(), &[&world.host]).into_iter().find(|edge| edge["connections"] == 1)
    });
    assert_eq!(edge["server_process"], "python3", "{edge}");
    assert!(edge.get("opened").is_none() && edge.get("active").is_none(), "{edge}");
    trace.signal(Signal::TERM);
    let ended = trace.finish();
    assert_eq!(ended.code, Some(0), "{ended}");
}

#[test]
fn it_stops_when_it_was_told_to() {
    let world = World::new();
    let run = |more: &[&str]| {
        let arguments = [&["trace", "--json"], more].concat();
        let ran = world.host.run(world.portolan(&arguments));
        assert_eq!(ran.code, Some(0), "{ran}");
        summaries(&ran.stdout)
    };
    assert_eq!(run(&["--once", "--interval", "100ms"]).len(), 1);
    assert_eq!(run(&["--count", "3", "--interval", "100ms"]).len(), 3);
    // The last interval is cut short, and nothing of the time is missing.
    let parts = run(&["--duration", "250ms", "--interval", "150ms"]);
    assert!(!parts.is_empty());
    let rounding = u64::try_from(parts.len()).expect("few");
    assert!(sum(&parts, "/interval_ms") + rounding >= 250, "{parts:#?}");
    let short = run(&["--duration", "10ms", "--interval", "1h"]);
    assert_eq!(short.len(), 1, "{short:#?}");
}

#[test]
fn nobody_gets_a_snapshot_and_the_reason() {
    let world = World::new();
    let binary = world.portolan_for_all();
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new(&binary);
        command.args(arguments).uid(NOBODY).gid(NOBODY).current_dir("/");
        world.at_home(&mut command);
        world.host.run(command)
    };
    let ran = as_nobody(&["trace", "--once", "--json", "--interval", "100ms"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    for part in ["not traced, but polled", "CAP_BPF", "run with sudo", "tracing by snapshot"] {
        assert!(ran.stderr.contains(part), "nothing about {part:?}: {ran}");
    }
    assert_eq!(summaries(&ran.stdout)[0]["method"], "snapshot", "{ran}");
    for asked in [["--method", "bundle"], ["--attach", "tp_btf"]] {
        let ran = as_nobody(&[&["trace", "--once"], &asked[..]].concat());
        ran.assert_failed(2, &["cannot trace this host", "CAP_PERFMON", "--method snapshot"]);
    }
    let ran = as_nobody(&["doctor", "--json"]);
    let methods = records(&ran.stdout);
    let status = |name: &str| {
        let found = methods.iter().find(|it| it["topic"] == "trace" && it["name"] == name);
        found.unwrap_or_else(|| panic!("nothing on {name}: {ran}"))["status"].clone()
    };
    assert_eq!(status("bundle"), "refused", "{ran}");
    assert_eq!(status("snapshot"), "ok", "{ran}");
}

/// The capabilities in force of a process, from its status.
fn capabilities(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:")).expect("it has some");
    u64::from_str_radix(line.trim(), 16).expect("a number")
}

#[test]
fn it_keeps_the_privileges_it_needs_and_no_other() {
    // By number, of include/uapi/linux/capability.h.
    let [dac_read_search, ptrace, perfmon, bpf] = [2, 19, 38, 39].map(|number| 1_u64 << number);
    for method in COUNTING {
        let mut world = World::new();
        let mut trace = trace(&world, &["--method", method]);
        let kept = capabilities(trace.pid());
        assert_eq!(kept, dac_read_search | ptrace | perfmon | bpf, "{kept:x}");
        // A namespace that is new is traced, and has its name.
        let inside = world.add_namespace();
        let _server = server(&inside, &inside.address);
        client(&world.host, &inside.address, 3);
        let places = [&world.host, &inside];
        trace.wait_for("the end of all", |trace| {
            (sum(&told(&trace.stdout(), &places), "/active/closed") >= 3).then_some(())
        });
        let edges = told(&trace.stdout(), &places);
        assert_eq!(sum(&edges, "/active/opened"), 3, "{method}: {edges:#?}");
        for edge in &edges {
            assert_eq!(edge["server_namespace"], inside.namespace.as_str(), "{method}: {edge}");
            assert_eq!(edge["client_namespace"], "host", "{method}: {edge}");
            assert_eq!(edge["server_process"], "python3", "{method}: {edge}");
        }
        trace.stop();
    }
}

/// Whether there is a BPF program of this id (BPF_PROG_GET_FD_BY_ID of bpf(2)).
const IS_THERE: &str = r#"
import ctypes, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
attributes = (ctypes.c_uint32 * 32)(int(sys.argv[1]))
number = {"x86_64": 321, "aarch64": 280}[platform.machine()]
found = libc.syscall(number, 13, attributes, ctypes.sizeof(attributes)) >= 0
assert found or ctypes.get_errno() == 2, ctypes.get_errno()
print("yes" if found else "no")
"#;

/// The ids of the BPF programs that a process holds.
fn programs_of(pid: u32) -> Vec<String> {
    let folder = fs::read_dir(format!("/proc/{pid}/fdinfo")).expect("it runs");
    let texts = folder.flatten().filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let id = |text: String| {
        let line = text.lines().find_map(|line| line.strip_prefix("prog_id:"));
        line.map(|id| id.trim().to_owned())
    };
    texts.filter_map(id).collect()
}

#[test]
fn killed_it_leaves_nothing_attached() {
    let world = World::new();
    let is_there = |id: &String| {
        let ran = world.host.succeed(python(IS_THERE, &[id]));
        ran.stdout == "yes\n"
    };
    for method in COUNTING {
        let trace = trace(&world, &["--method", method]);
        let programs = programs_of(trace.pid());
        assert!(!programs.is_empty() && programs.iter().all(is_there), "{programs:?}");
        trace.signal(Signal::KILL);
        let ended = trace.finish();
        assert_eq!(ended.signal, Some(9), "{ended}");
        portolan_e2e::wait_for("the programs to go", || {
            (!programs.iter().any(is_there)).then_some(())
        });
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let world = World::new();
    for (arguments, parts) in [
        (&["--interval", "50ms"][..], &["--interval", "between 100ms and 1h"][..]),
        (&["--duration", "0s"], &["--duration", "longer than 0s"]),
        (&["--once", "--count", "2"], &["--once", "--count"]),
        (&["--method", "ebpf"], &["bundle, aggregate, stream, snapshot"]),
        (&["--method", "snapshot", "--attach", "kprobe"], &["are for the methods that trace"]),
        (&["--method", "snapshot", "--failed"], &["--failed needs a method that traces"]),
        (&["--port", "0x50"], &["--port"]),
    ] {
        let ran = world.host.run(world.portolan(&[&["trace"], arguments].concat()));
        ran.assert_failed(2, parts);
        assert_eq!(ran.stdout, "", "{ran}");
    }
}

#[test]
fn it_ends_when_nobody_reads() {
    let world = World::new();
    for more in [&["--json"][..], &[], &["--json", "--method", "snapshot"], &["--interval", "1h"]] {
        let (reader, writer) = io::pipe().expect("descriptors are free");
        let mut arguments = vec!["trace"];
        if !more.contains(&"--interval") {
            arguments.extend(["--interval", "100ms"]);
        }
        arguments.extend(more);
        let trace = Running::start_into(&world.host, world.portolan(&arguments), writer);
        drop(reader);
        let ended = trace.finish();
        assert_eq!((ended.code, ended.signal), (Some(0), None), "{ended}");
        assert!(!ended.stderr.contains("panicked") && !ended.stderr.contains("ipe"), "{ended}");
    }
}
