//! Processes that end while they are looked at.

use std::{collections::BTreeMap, process::Command};

use portolan_e2e::{Running, World, edges::records, peers, program};
use rustix::process::Signal;
use serde_json::Value;

/// So many records of connections that are up have to be right.
const RECORDS: usize = 60;

/// Starts clients of redis one after the other, each of which ends within 20 ms.
fn short_lived_clients(world: &World) -> Running {
    const CLIENT: &str = "my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
        PeerPort => 6379) or die $!;
        select(undef, undef, undef, rand(0.02))";
    let mut shell = Command::new(program("bash", "bash"));
    let script = "while :; do perl -MIO::Socket::INET -e \"$1\"; done";
    shell.args(["-c", script, "bash", CLIENT]);
    Running::start(&world.host, shell)
}

fn up(output: &str) -> Vec<Value> {
    let whole = output.rfind('\n').map_or("", |end| &output[..end]);
    let mut records = records(whole);
    records.retain(|record| record["connections"].as_u64() > Some(0));
    records
}

#[test]
fn a_process_has_its_own_name_or_none() {
    let world = World::new();
    world.host.no_time_wait();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let _clients = [(); 3].map(|()| short_lived_clients(&world));
    let arguments = ["map", "--json", "--no-page", "--no-store", "--own-namespace"];
    let arguments = [&arguments[..], &["--interval", "100ms"]].concat();
    let mut map = Running::start(&world.host, world.portolan(&arguments));
    map.wait_for(format_args!("{RECORDS} records"), |map| {
        (up(&map.stdout()).len() >= RECORDS).then_some(())
    });
    map.signal(Signal::TERM);
    let ended = map.finish();
    assert_eq!(ended.code, Some(0), "{ended}");
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for record in up(&ended.stdout) {
        let end = format!("{} -> {}", record["client_process"], record["server_process"]);
        *ends.entry(end).or_default() += 1;
    }
    let allowed = ["\"perl\" -> \"redis-server\"", "null -> \"redis-server\""];
    let wrong: Vec<_> = ends.keys().filter(|end| !allowed.contains(&end.as_str())).collect();
    assert!(wrong.is_empty(), "{wrong:?} among {ends:#?}");
}
