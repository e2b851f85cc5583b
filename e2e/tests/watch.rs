//! `portolan sockets --watch`: what opens and closes is told once, whatever tells it.

use std::{fs, io, os::unix::fs::MetadataExt, os::unix::process::CommandExt, process::Command};

use portolan_e2e::{NOBODY, Place, Running, World, edges::records, peers, program, tcp};
use serde_json::Value;

/// Redis's port, in namespaces of the test's own.
const PORT: u16 = 6379;

/// By events, and by comparing listings of every method.
const WAYS: [&[&str]; 5] = [
    &[],
    &["--method", "walk"],
    &["--method", "diag"],
    &["--method", "iter"],
    &["--method", "procfs"],
];

fn watch(world: &World, place: &Place, more: &[&str]) -> Running {
    let arguments = [&["sockets", "--watch=50ms", "-ta"], more].concat();
    let mut watch = Running::start(place, world.portolan(&arguments));
    watch.wait_for("the first listing", |watch| {
        watch.stderr().contains("what changes follows").then_some(())
    });
    watch
}

/// The changes told so far: what became of it, its state and its two ports.
fn changes(watch: &Running) -> Vec<(String, String, u64, u64)> {
    let output = watch.stdout();
    let whole = output.rfind('\n').map_or("", |end| &output[..end]);
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let port = |value: &Value| value.as_u64().expect("a port");
    let change = |record: &Value| {
        let ports = (port(&record["local_port"]), port(&record["peer_port"]));
        (text(&record["change"]), text(&record["state"]), ports.0, ports.1)
    };
    records(whole).iter().map(change).collect()
}

fn told(watch: &Running, what: &str, state: &str, is_wanted: impl Fn(u64, u64) -> bool) -> usize {
    let changes = changes(watch);
    let told = changes.iter().filter(|(change, in_state, local, peer)| {
        change == what && in_state == state && is_wanted(*local, *peer)
    });
    told.count()
}

#[test]
fn what_opens_and_closes_is_told_once() {
    for way in WAYS {
        let world = World::new();
        let mut redis = peers::redis(&world, &world.host, "127.0.0.1");
        tcp::wait_listening(&world.host, &mut redis, PORT);
        let mut watch = watch(&world, &world.host, &[way, &["--json", "-p"]].concat());
        let client = peers::redis_cli(&world.host, "127.0.0.1");
        let port = u64::from(PORT);
        let both = |watch: &Running, what: &str| {
            told(watch, what, "ESTAB", |local, _| local == port) == 1
                && told(watch, what, "ESTAB", |_, peer| peer == port) == 1
        };
        watch.wait_for("both ends open", |watch| both(watch, "opened").then_some(()));
        client.stop();
        watch.wait_for("they end", |watch| {
            let ended = told(watch, "closed", "ESTAB", |local, _| local == port) == 1
                || told(watch, "closed", "CLOSE-WAIT", |local, _| local == port) == 1
                || told(watch, "closed", "LAST-ACK", |local, _| local == port) == 1
                || told(watch, "opened", "TIME-WAIT", |_, peer| peer == port) == 1
                || told(watch, "changed", "TIME-WAIT", |_, peer| peer == port) == 1;
            ended.then_some(())
        });
        let opened = told(&watch, "opened", "ESTAB", |_, _| true);
        assert_eq!(opened, 2, "each end once, {way:?}: {:#?}", changes(&watch));
        let processes: Vec<Value> = records(&watch.stdout())
            .into_iter()
            .filter(|record| record["change"] == "opened" && record["state"] == "ESTAB")
            .map(|record| record["process"]["name"].clone())
            .collect();
        assert!(processes.contains(&"redis-server".into()), "{way:?}: {processes:?}");
        watch.stop();
    }
}

#[test]
fn a_filter_is_what_one_looks_through() {
    let world = World::new();
    let mut redis = peers::redis(&world, &world.host, "127.0.0.1");
    tcp::wait_listening(&world.host, &mut redis, PORT);
    let filter = ["state", "established", "dport", "=", ":6379"];
    let mut watch = watch(&world, &world.host, &filter);
    let client = peers::redis_cli(&world.host, "127.0.0.1");
    let line = |watch: &Running, sign: &str| {
        watch.stdout().lines().filter(|line| line.starts_with(sign)).count()
    };
    watch.wait_for("one end opens", |watch| (line(watch, "+ ") == 1).then_some(()));
    client.stop();
    watch.wait_for("it closes", |watch| (line(watch, "- ") == 1).then_some(()));
    assert_eq!(line(&watch, "+ ") + line(&watch, "- "), 2, "{}", watch.stdout());
    watch.stop();
}

#[test]
fn it_ends_when_nobody_reads() {
    let world = World::new();
    let (reader, writer) = io::pipe().expect("descriptors are free");
    let command = world.portolan(&["sockets", "-ta", "--watch=20ms", "-H"]);
    let watch = Running::start_into(&world.host, command, writer);
    drop(reader);
    let mut redis = peers::redis(&world, &world.host, "127.0.0.1");
    tcp::wait_listening(&world.host, &mut redis, PORT);
    let ended = watch.finish();
    assert_eq!(ended.code, Some(0), "{ended}");
}

#[test]
fn what_has_no_events_is_refused() {
    let world = World::new();
    let ran = world.host.run(world.portolan(&["sockets", "--watch", "-m"]));
    ran.assert_failed(2, &["--watch does not follow memory", "list again"]);
    let ran = world.host.run(world.portolan(&["sockets", "--watch=1ms"]));
    ran.assert_failed(2, &["between 10ms and 1h"]);
}

/// A listener on every address, as long as nobody says anything.
const LISTENER: &str = r#"
import socket, sys
listener = socket.create_server(("0.0.0.0", 7123))
print("ready", flush=True)
sys.stdin.readline()
"#;

#[test]
fn namespaces_come_and_go() {
    for way in WAYS {
        let world = World::new();
        let more = [way, &["-N", "--json", "sport", "=", ":7123"]].concat();
        let mut watch = watch(&world, &world.host, &more);
        let mut unshare = Command::new(program("unshare", "util-linux"));
        unshare.args(["--net", program("python3", "python3").to_str().expect("text")]);
        unshare.args(["-c", LISTENER]);
        let mut python = Running::start(&world.host, unshare);
        python.wait_for("its socket", |python| python.stdout().contains("ready").then_some(()));
        let inode = fs::metadata(format!("/proc/{}/ns/net", python.pid())).expect("it runs").ino();
        let namespace = Value::from(format!("netns:{inode}"));
        let told = |watch: &Running, what: &str| {
            let output = watch.stdout();
            let whole = output.rfind('\n').map_or("", |end| &output[..end]);
            let of_it = |record: &&Value| record["namespace"] == namespace;
            records(whole).iter().filter(of_it).filter(|record| record["change"] == what).count()
        };
        watch.wait_for("it listens", |watch| (told(watch, "opened") == 1).then_some(()));
        // The namespace ends with it.
        python.stop();
        watch.wait_for("it is gone", |watch| (told(watch, "closed") == 1).then_some(()));
        assert!(!watch.stderr().contains("not followed"), "{way:?}: {}", watch.stderr());
        watch.stop();
    }
}

#[test]
fn namespaces_that_may_not_be_entered_are_told_once() {
    let mut world = World::new();
    let _inside = world.add_namespace();
    let mut command = Command::new(world.portolan_for_all());
    command.args(["sockets", "-ta", "-N", "--watch=20ms"]);
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    world.at_home(&mut command);
    let mut watch = Running::start(&world.host, command);
    watch.wait_for("the first listing", |watch| {
        watch.stderr().contains("what changes follows").then_some(())
    });
    std::thread::sleep(std::time::Duration::from_millis(100));
    let said = watch.stderr();
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("be entered")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(lines[0].contains("run as root, or grant CAP_SYS_PTRACE and CAP_SYS_ADMIN"), "{said}");
    watch.stop();
}
