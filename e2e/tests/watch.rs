//! `portolan sockets --watch`: what opens and closes is told once, whatever tells it.

use std::io;

use portolan_e2e::{Place, Running, World, edges::records, peers, tcp};
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
