//! `portolan map` as long as it runs: how it ends, what it may do, and who may ask it.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
};

use portolan_e2e::{Place, Running, World, edges::records, live, peers, program, tcp};
use rustix::process::Signal;

/// The clients of the host's redis that the history in `store` has.
fn clients_of_redis(world: &World, store: &str) -> BTreeSet<String> {
    let arguments = ["map", "--once", "--json", "--own-namespace", "--since", "1h", "--store"];
    let ran = world.host.succeed(world.portolan(&[&arguments[..], &[store]].concat()));
    let records = records(&ran.stdout);
    let to_redis = records.iter().filter(|record| record["server_process"] == "redis-server");
    to_redis.filter_map(|record| Some(record["client_process"].as_str()?.to_owned())).collect()
}

fn shows_client(map: &mut Running, client: &str) {
    let client = format!("\"client_process\":\"{client}\"");
    map.wait_for(&client, |map| map.stdout().contains(&client).then_some(()));
}

/// The status of an HTTP request with a `Host` of its own.
fn status(place: &Place, address: &str, path: &str, host: &str) -> String {
    let mut curl = Command::new(program("curl", "curl"));
    curl.args(["--silent", "--output", "/dev/null", "--write-out", "%{http_code}"]);
    curl.args(["--noproxy", "*", "--max-time", "30", "--header", &format!("Host: {host}")]);
    curl.arg(format!("http://{address}{path}"));
    place.succeed(curl).stdout
}

fn ends_well_on(signal: Signal) {
    let world = World::new();
    world.host.no_time_wait();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let store = world.file("history.sqlite");
    let store = store.to_str().unwrap_or_default();
    let arguments = ["map", "--json", "--listen", "127.0.0.1:0", "--store", store];
    let (mut map, address) = live::with_page(&world.host, world.portolan(&arguments));
    let client = peers::redis_cli(&world.host, "127.0.0.1");
    shows_client(&mut map, "redis-cli");

    // Neither a page that follows the events nor half a request may hold it up.
    let mut follow = Command::new(program("curl", "curl"));
    follow.args(["--silent", "--no-buffer", "--noproxy", "*"]);
    follow.arg(format!("http://{address}/api/v1/events"));
    let mut follower = Running::start(&world.host, follow);
    follower.wait_for("the first event", |curl| curl.stdout().contains("data:").then_some(()));
    let connect = || TcpStream::connect(&address).expect("a connection to the page");
    let idle = world.host.enter(connect);
    let mut half = world.host.enter(connect);
    half.write_all(b"GET / HTTP/1.1\r\nHost: 127").expect("half a request");

    map.signal(signal);
    let ended = map.finish();
    assert_eq!((ended.code, ended.signal), (Some(0), None), "{ended}");
    assert!(!ended.stderr.contains("panicked"), "{ended}");
    drop((idle, half));
    client.stop();
    assert_eq!(clients_of_redis(&world, store), BTreeSet::from(["redis-cli".to_owned()]));
    let again = world.host.enter(|| TcpListener::bind(&address));
    again.unwrap_or_else(|error| panic!("{address} is still in use: {error}"));
}

#[test]
fn sigterm_ends_it_with_everything_saved() {
    ends_well_on(Signal::TERM);
}

#[test]
fn sigint_ends_it_with_everything_saved() {
    ends_well_on(Signal::INT);
}

#[test]
fn two_on_one_store() {
    let world = World::new();
    world.host.no_time_wait();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let store = world.file("history.sqlite");
    let store = store.to_str().unwrap_or_default();
    let arguments = ["map", "--json", "--listen", "127.0.0.1:0", "--interval", "100ms"];
    let arguments = [&arguments[..], &["--store", store]].concat();
    let mut maps: Vec<Running> =
        (0..2).map(|_| live::with_page(&world.host, world.portolan(&arguments)).0).collect();
    let client = peers::redis_cli(&world.host, "127.0.0.1");
    for map in &mut maps {
        shows_client(map, "redis-cli");
    }
    client.stop();
    for map in maps {
        // A third one reads meanwhile.
        assert_eq!(clients_of_redis(&world, store), BTreeSet::from(["redis-cli".to_owned()]));
        map.signal(Signal::TERM);
        let ended = map.finish();
        assert_eq!(ended.code, Some(0), "{ended}");
        assert!(!ended.stderr.contains("history") && !ended.stderr.contains("lock"), "{ended}");
    }
    assert_eq!(clients_of_redis(&world, store), BTreeSet::from(["redis-cli".to_owned()]));
}

/// CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE and CAP_SYS_ADMIN, by their numbers.
const ALLOWED: u64 = 1 << 2 | 1 << 19 | 1 << 21;

#[test]
fn privileges_are_given_up_on_every_thread() {
    let mut world = World::new();
    // Another namespace, which is entered on a thread: that must still work.
    let inside = world.add_namespace();
    let _redis = peers::redis(&world, &inside, "127.0.0.1");
    let arguments = ["map", "--json", "--listen", "127.0.0.1:0", "--no-store"];
    let (mut map, address) = live::with_page(&world.host, world.portolan(&arguments));
    assert_eq!(status(&world.host, &address, "/", "localhost"), "200");
    let _client = peers::redis_cli(&inside, "127.0.0.1");
    let namespace = format!("\"server_namespace\":\"{}\"", inside.namespace);
    map.wait_for("the edge inside", |map| map.stdout().contains(&namespace).then_some(()));

    let tasks = format!("/proc/{}/task", map.pid());
    let threads: Vec<_> = fs::read_dir(&tasks).expect("threads").flatten().collect();
    assert!(threads.len() >= 4, "main, reader, signals and page: {threads:?}");
    for thread in threads {
        let status = fs::read_to_string(thread.path().join("status")).expect("a status");
        let field = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name));
            value.unwrap_or_else(|| panic!("no {name} in {status}")).trim()
        };
        for set in ["CapEff:", "CapPrm:"] {
            let set = u64::from_str_radix(field(set), 16).expect("a set of capabilities");
            assert_eq!(set & !ALLOWED, 0, "{set:016x} on {}", field("Name:"));
            assert_eq!(set, ALLOWED, "what it needs is kept on {}", field("Name:"));
        }
        assert_eq!(field("CapInh:").trim_start_matches('0'), "", "{status}");
        assert_eq!(field("NoNewPrivs:"), "1", "on {}", field("Name:"));
    }
}

#[test]
fn the_page_is_for_this_host_only() {
    let world = World::new();
    let arguments = ["map", "--listen", "127.0.0.1:0", "--no-store"];
    let (map, address) = live::with_page(&world.host, world.portolan(&arguments));
    let port = address.rsplit(':').next().unwrap_or_default();
    for path in ["/", "/app.js", "/api/v1/graph", "/api/v1/dependents?of=x", "/nothing"] {
        for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1.evil.example"] {
            assert_eq!(status(&world.host, &address, path, host), "403", "{path} for {host}");
        }
    }
    for host in ["127.0.0.1", &address, &format!("localhost:{port}"), &format!("[::1]:{port}")] {
        for path in ["/", "/api/v1/graph"] {
            assert_eq!(status(&world.host, &address, path, host), "200", "{path} for {host}");
        }
    }
    // Nobody listens on any other address.
    let pid = map.pid();
    let listening = |file: &str| {
        let table = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join(file));
        let table = table.expect("sockets of the namespace");
        let rows = table.lines().skip(1).filter(|row| row.contains(" 0A "));
        rows.map(str::to_owned).collect::<Vec<_>>()
    };
    let rows = [listening("net/tcp"), listening("net/tcp6")].concat();
    assert!(rows.len() == 1 && rows[0].contains(" 0100007F:"), "{rows:?}");
}

/// Whoever does not read what is printed must not keep the program from ending.
#[test]
fn it_ends_although_nobody_reads_what_it_prints() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let _client = peers::redis_cli(&world.host, "127.0.0.1");
    tcp::wait_accepted(&world.host, peers::REDIS, 1);
    let (unread, mut full) = std::io::pipe().expect("a pipe");
    full.write_all(&[b'.'; 65_536]).expect("a pipe holds 64 KiB");
    let command = world.portolan(&["map", "--json", "--no-page", "--no-store"]);
    let mut map = Running::start_into(&world.host, command, full);
    let wchan = format!("/proc/{}/wchan", map.pid());
    map.wait_for("it to be stuck", |_| {
        fs::read_to_string(&wchan).ok().filter(|place| place.contains("pipe_write"))
    });
    map.signal(Signal::TERM);
    assert_eq!(map.finish().code, Some(0));
    drop(unread);
}
