//! `portolan sockets` beside ss(8), with real programs.

use std::{collections::BTreeSet, process::Command};

use portolan_e2e::{World, edges::records, peers, program, tcp};
use serde_json::Value;

/// Transport, state, own port and peer's port: what both programs print alike.
type Socket = (String, String, u64, u64);

fn of_record(record: &Value) -> Socket {
    let text = |field: &str| record[field].as_str().unwrap_or_default().to_owned();
    let port = |field: &str| record[field].as_u64().unwrap_or(u64::MAX);
    (text("network_transport"), text("state"), port("local_port"), port("peer_port"))
}

fn of_line(line: &str) -> Socket {
    let words: Vec<&str> = line.split_whitespace().collect();
    let port = |address: &str| {
        let (_, port) = address.rsplit_once(':').expect("an address with a port");
        if port == "*" { 0 } else { port.parse().expect("a port") }
    };
    (words[0].to_owned(), words[1].to_owned(), port(words[4]), port(words[5]))
}

fn sorted(sockets: impl Iterator<Item = Socket>) -> Vec<Socket> {
    let mut sockets: Vec<Socket> = sockets.collect();
    sockets.sort();
    sockets
}

#[test]
fn it_lists_what_ss_lists() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let _nginx = peers::nginx(&world, &world.host, "127.0.0.1");
    let _clients = [(); 3].map(|()| peers::redis_cli(&world.host, "127.0.0.1"));
    tcp::wait_accepted(&world.host, peers::REDIS, 3);
    for filter in ["", "sport = :6379", "dport = :6379 or dport = :80", "not sport = :80"] {
        for flags in ["-tu", "-tua", "-tul", "-4tua", "-6tua"] {
            let words: Vec<&str> = [flags].into_iter().chain(filter.split_whitespace()).collect();
            let mut ss = Command::new(program("ss", "iproute2"));
            ss.arg("-Hn").args(&words);
            let theirs = world.host.succeed(ss);
            let ours =
                world.host.succeed(world.portolan(&[&["sockets", "--json"], &*words].concat()));
            let ours = sorted(records(&ours.stdout).iter().map(of_record));
            let theirs = sorted(theirs.stdout.lines().map(of_line));
            assert_eq!(ours, theirs, "{flags} {filter}");
        }
    }
}

#[test]
fn it_says_who_holds_them() {
    let world = World::new();
    let redis = peers::redis(&world, &world.host, "127.0.0.1");
    let _clients = [(); 3].map(|()| peers::redis_cli(&world.host, "127.0.0.1"));
    tcp::wait_accepted(&world.host, peers::REDIS, 3);
    let listed = world.host.succeed(world.portolan(&["sockets", "-tlpH"]));
    let holder = format!("redis-server[{}]", redis.pid());
    assert!(
        listed.stdout.contains("127.0.0.1:6379") && listed.stdout.contains(&holder),
        "{listed}"
    );

    let counted = world.portolan(&["sockets", "-t", "--group-by", "process", "--json"]);
    let groups: BTreeSet<String> =
        world.host.succeed(counted).stdout.lines().map(str::to_owned).collect();
    let expected = ["redis-cli", "redis-server"]
        .map(|process| format!("{{\"group\":\"{process}\",\"sockets\":3}}"));
    assert_eq!(groups, BTreeSet::from(expected));
}

#[test]
fn a_bad_filter_is_pointed_at() {
    let world = World::new();
    let ran = world.host.run(world.portolan(&["sockets", "sport", "=", "x"]));
    ran.assert_failed(2, &["expected a port", "column 9", "\n  sport = x\n          ^"]);
    assert_eq!(ran.stdout, "");
}
