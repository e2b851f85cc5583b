//! Without privileges: less is seen, that is said, and nothing wrong is shown.

use std::{collections::BTreeSet, os::unix::process::CommandExt, path::PathBuf, process::Command};

use portolan_e2e::{
    NOBODY, Place, Ran, Running, World,
    edges::{Edge, edges, records, records_in},
    peers::{self, REDIS},
    tcp,
};

fn as_nobody(world: &World, binary: &PathBuf, arguments: &[&str]) -> Ran {
    let mut command = Command::new(binary);
    command.args(arguments).uid(NOBODY).gid(NOBODY).current_dir("/");
    world.at_home(&mut command);
    world.host.run(command)
}

fn redis_cli_of_nobody(place: &Place) -> Running {
    let mut command = peers::redis_cli_command("127.0.0.1");
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    let mut client = Running::start(place, command);
    tcp::wait_connected(place, &mut client, REDIS);
    client
}

/// An edge to redis, by whom it may be seen to be.
fn to_redis(client: Option<&str>, server: Option<&str>, place: &Place) -> Edge {
    let known = Edge::new(("", "127.0.0.1", place), ("", "127.0.0.1", REDIS, place), 1);
    Edge {
        client_process: client.map(str::to_owned),
        server_process: server.map(str::to_owned),
        ..known
    }
}

#[test]
fn nobody_sees_edges_but_not_whose_they_are() {
    let mut world = World::new();
    let inside = world.add_namespace();
    let binary = world.portolan_for_all();
    let _servers = [&world.host, &inside].map(|place| peers::redis(&world, place, "127.0.0.1"));
    let _clients = [&world.host, &inside].map(|place| peers::redis_cli(place, "127.0.0.1"));
    let _own = redis_cli_of_nobody(&world.host);
    tcp::wait_accepted(&world.host, REDIS, 2);

    for listing in ["diag", "procfs"] {
        let arguments = ["map", "--once", "--json", "--no-store", "--listing", listing];
        let ran = as_nobody(&world, &binary, &arguments);
        assert_eq!(ran.code, Some(0), "{ran}");
        for part in ["cannot be looked into", "CAP_SYS_PTRACE", "other network namespaces"] {
            assert!(ran.stderr.contains(part), "nothing about {part:?}: {ran}");
        }
        let records = records_in(&ran.stdout, &[&world.host, &inside]);
        let expected =
            [to_redis(None, None, &world.host), to_redis(Some("redis-cli"), None, &world.host)];
        assert_eq!(edges(&records), BTreeSet::from(expected), "--listing {listing}: {ran}");
        for record in records {
            assert_eq!(record["server_uid"], 0, "{record}");
            let is_own = record["client_process"] == "redis-cli";
            let uid = if is_own { serde_json::Value::Null } else { 0.into() };
            assert_eq!(record["client_uid"], uid, "{record}");
            assert_eq!(record["client_pids"].as_array().map(Vec::len), Some(is_own.into()));
            assert_eq!(record["server_pids"], serde_json::json!([]), "{record}");
            assert_eq!(record["direction_guessed"], false, "{record}");
        }
    }
    let ran = as_nobody(&world, &binary, &["map", "--no-store", "--dependents", ":6379"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("redis-cli"), "{ran}");
}

#[test]
fn the_doctor_says_what_nobody_lacks() {
    let world = World::new();
    let binary = world.portolan_for_all();
    let ran = as_nobody(&world, &binary, &["doctor"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let told = ran.stdout.lines().filter(|line| line.contains(" limited "));
    assert!(told.count() >= 2, "{ran}");
    assert!(ran.stdout.contains("-> run as root, or grant CAP_SYS_PTRACE"), "{ran}");

    let ran = as_nobody(&world, &binary, &["doctor", "--json"]);
    let findings = records(&ran.stdout);
    for topic in ["owners", "namespaces"] {
        // Nobody may load BPF programs; what is used instead counts.
        let used = |finding: &&serde_json::Value| {
            finding["topic"] == topic && finding["status"] != "refused"
        };
        let finding = findings.iter().find(used);
        let finding = finding.unwrap_or_else(|| panic!("nothing on {topic}: {ran}"));
        assert_eq!(finding["status"], "limited", "{finding}");
        assert!(finding["advice"].as_str().is_some_and(|advice| advice.contains("CAP_")));
    }
    let map = findings.iter().find(|finding| finding["topic"] == "map");
    assert!(map.is_some_and(|map| map["status"] == "ok"), "{ran}");
}

#[test]
fn nobody_gets_a_live_map_too() {
    let world = World::new();
    let binary = world.portolan_for_all();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let mut command = Command::new(binary);
    command.args(["map", "--json", "--no-store", "--interval", "100ms"]);
    command.args(["--listen", "127.0.0.1:0"]).uid(NOBODY).gid(NOBODY).current_dir("/");
    world.at_home(&mut command);
    let (mut map, _) = portolan_e2e::live::with_page(&world.host, command);
    let _client = redis_cli_of_nobody(&world.host);
    map.wait_for("the client", |map| {
        map.stdout().contains("\"client_process\":\"redis-cli\"").then_some(())
    });
    map.signal(rustix::process::Signal::TERM);
    let ended = map.finish();
    assert_eq!(ended.code, Some(0), "{ended}");
}
