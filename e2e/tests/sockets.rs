//! `portolan sockets` beside ss(8), with real programs.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Write as _},
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
};

use portolan_e2e::{NOBODY, Ran, Running, World, edges::records, peers, portolan, program, tcp};
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

/// A listener on 127.0.0.1:7000 with three connections, of which the clients sent 10, 3000 and 200
/// bytes that nobody reads; told to look, it says what became of each end.
const CONNECTIONS: &str = r#"
import socket, sys
listener = socket.socket()
listener.bind(("127.0.0.1", 7000))
listener.listen(8)
clients = [socket.create_connection(("127.0.0.1", 7000)) for _ in range(3)]
servers = [listener.accept()[0] for _ in clients]
for client, size in zip(clients, (10, 3000, 200)):
    client.send(b"x" * size)
print("ports", *[client.getsockname()[1] for client in clients], flush=True)
sys.stdin.readline()
def state(end):
    end.setblocking(False)
    try:
        end.send(b"y")
        return "up"
    except OSError as error:
        return error.errno
from errno import errorcode
names = [errorcode.get(state(end), "up") for end in clients + servers]
print("states", *names, flush=True)
sys.stdin.readline()
"#;

fn connections(world: &World) -> (Running, Vec<u64>) {
    let mut python = Command::new(program("python3", "python3"));
    python.args(["-c", CONNECTIONS]);
    let mut running = Running::start(&world.host, python);
    let ports = running.wait_for("its connections", |python| {
        let text = python.stdout();
        let ports = text.lines().next()?.strip_prefix("ports ")?.to_owned();
        text.ends_with('\n').then_some(ports)
    });
    tcp::wait_accepted(&world.host, 7000, 3);
    (running, ports.split(' ').map(|port| port.parse().expect("a port")).collect())
}

fn listed(world: &World, args: &str) -> String {
    let args: Vec<&str> = args.split(' ').collect();
    world.host.succeed(world.portolan(&args)).stdout
}

#[test]
fn one_connection_is_closed_and_both_ends_notice() {
    let world = World::new();
    let (mut python, ports) = connections(&world);
    // The server's end of the second connection.
    let filter = format!("sockets --kill --yes -H sport = :7000 dport = :{}", ports[1]);
    let ran = world.host.succeed(world.portolan(&filter.split(' ').collect::<Vec<_>>()));
    assert_eq!(ran.stdout.lines().count(), 1, "{ran}");
    assert!(ran.stdout.contains(&format!("127.0.0.1:{}", ports[1])), "{ran}");
    assert_eq!(ran.stderr, "portolan: 1 closed\n");
    python.stdin().write_all(b"\n").expect("it reads");
    let states = python.wait_for("what it saw", |python| {
        let text = python.stdout();
        let states = text.lines().nth(1)?.strip_prefix("states ")?.to_owned();
        text.ends_with('\n').then_some(states)
    });
    assert_eq!(states, "up ECONNRESET up up ECONNABORTED up");
}

/// A listener on 127.0.0.1:7000 with 400 connections: as JSON more than is written at once.
const MANY: &str = r#"
import socket, sys
listener = socket.socket()
listener.bind(("127.0.0.1", 7000))
listener.listen(400)
ends = []
for _ in range(400):
    ends += [socket.create_connection(("127.0.0.1", 7000)), listener.accept()[0]]
print("ready", flush=True)
sys.stdin.readline()
"#;

/// Closes the clients' ends of [`MANY`] with such a standard output.
fn many_closed_into(stdout: impl Into<Stdio>, user: u32, more: &[&str]) -> (Ran, usize) {
    let world = World::new();
    let mut python = Command::new(program("python3", "python3"));
    python.args(["-c", MANY]);
    let mut python = Running::start(&world.host, python);
    python.wait_for("its connections", |python| python.stdout().contains("ready").then_some(()));
    let mut command = Command::new(world.portolan_for_all());
    command.args(["sockets", "--kill", "--yes", "-t", "dport", "=", ":7000"]).args(more);
    command.uid(user).gid(user).current_dir("/");
    world.at_home(&mut command);
    let ran = Running::start_into(&world.host, command, stdout).finish();
    let left = listed(&world, "sockets -tH state established dport = :7000").lines().count();
    (ran, left)
}

fn nobody_reads() -> io::PipeWriter {
    let (reader, writer) = io::pipe().expect("descriptors are free");
    drop(reader);
    writer
}

#[test]
fn all_are_closed_though_nobody_reads_which() {
    let (ran, left) = many_closed_into(nobody_reads(), 0, &["--json"]);
    assert_eq!((ran.code, left), (Some(0), 0), "{ran}");
    assert_eq!(ran.stderr, "portolan: 400 closed\n");
}

#[test]
fn all_are_closed_though_the_disk_is_full() {
    let full = File::options().write(true).open("/dev/full").expect("linux has it");
    let (ran, left) = many_closed_into(full, 0, &["--json"]);
    ran.assert_failed(2, &["400 closed", "No space left on device"]);
    assert_eq!(left, 0, "{ran}");
}

#[test]
fn that_some_were_not_closed_is_told_though_nobody_reads() {
    // The heading is what cannot be written.
    let (ran, left) = many_closed_into(nobody_reads(), NOBODY, &[]);
    ran.assert_failed(1, &["0 closed, 400 not closed", "CAP_NET_ADMIN"]);
    assert_eq!(left, 400, "{ran}");
}

#[test]
fn without_a_terminal_nothing_is_closed_unless_yes_is_said() {
    let world = World::new();
    let (_python, _) = connections(&world);
    let refused = world.host.run(world.portolan(&["sockets", "--kill", "sport", "=", ":7000"]));
    refused.assert_failed(2, &["no terminal", "--yes"]);
    let refused = world.host.run(world.portolan(&["sockets", "--kill", "--yes", "-t"]));
    refused.assert_failed(2, &["needs a filter"]);
    assert_eq!(listed(&world, "sockets -tH sport = :7000").lines().count(), 3);
    let nothing =
        world.host.succeed(world.portolan(&["sockets", "--kill", "--yes", "sport", "=", ":7001"]));
    assert!(nothing.stderr.contains("nothing to close"), "{nothing}");
}

#[test]
fn the_largest_queues_come_first_and_no_more_than_were_asked_for() {
    let world = World::new();
    let (_python, ports) = connections(&world);
    let rows = |order: &str| -> Vec<String> {
        let args = format!("sockets -tH --columns recv-q,peer-port {order} sport = :7000");
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        listed(&world, &args).lines().map(words).collect()
    };
    let [first, second, third] = [(10, ports[0]), (200, ports[2]), (3000, ports[1])]
        .map(|(size, at)| format!("{size} {at}"));
    assert_eq!(rows("--sort recv-q"), [&*first, &*second, &*third]);
    assert_eq!(rows("--sort -recv-q"), [&*third, &*second, &*first]);
    assert_eq!(rows("--sort recv-q --reverse --limit 2"), [&*third, &*second]);
    assert_eq!(rows("--limit 1").len(), 1);
    let json = listed(&world, "sockets -t --json --columns recv-q --sort -recv-q sport = :7000");
    assert_eq!(json.lines().next(), Some("{\"version\":1,\"receive_queue\":3000}"));
}

#[test]
fn memory_is_what_ss_says() {
    let world = World::new();
    let (_python, _) = connections(&world);
    let of = |text: &str| -> BTreeSet<String> {
        let is_memory = |word: &&str| word.starts_with("skmem:(");
        text.split_whitespace().filter(is_memory).map(str::to_owned).collect()
    };
    let mut ss = Command::new(program("ss", "iproute2"));
    ss.args(["-Htanm", "sport", "=", ":7000"]);
    let theirs = of(&world.host.succeed(ss).stdout);
    assert_eq!(of(&listed(&world, "sockets -tam sport = :7000")), theirs);
    assert!(theirs.len() >= 3, "the queues differ: {theirs:?}");

    let args = ["sockets", "-tam", "--method", "procfs", "sport", "=", ":7000"];
    let ran = world.host.succeed(world.portolan(&args));
    assert_eq!(of(&ran.stdout), BTreeSet::new());
    assert_eq!(ran.stderr.lines().count(), 1, "{ran}");
    assert!(ran.stderr.contains("memory, which /proc/net does not tell"), "{ran}");
}

/// Asks for a connection to be closed on a pseudo-terminal, and answers.
fn answered(world: &World, port: u64, answer: &str) -> String {
    let shell = format!("\"$PORTOLAN\" sockets -K sport = :7000 dport = :{port}; echo code $?");
    let mut command = Command::new(program("script", "bsdutils"));
    command.args(["--quiet", "--flush", "--return", "--command", &shell, "/dev/null"]);
    command.env("PORTOLAN", portolan()).env("SHELL", "/bin/sh");
    world.at_home(&mut command);
    let mut script = Running::start(&world.host, command);
    script.wait_for("the question", |script| {
        script.stdout().contains("Close this socket? [y/N] ").then_some(())
    });
    script.stdin().write_all(answer.as_bytes()).expect("it reads");
    script.wait_for("its end", |script| script.stdout().contains("code ").then_some(()));
    script.stdout()
}

#[test]
fn on_a_terminal_it_asks_first() {
    let world = World::new();
    let (_python, ports) = connections(&world);
    let up = || listed(&world, "sockets -tH sport = :7000").lines().count();
    for no in ["\n", "n\n", "what?\n"] {
        let screen = answered(&world, ports[0], no);
        assert!(screen.contains("nothing was closed") && screen.contains("code 1"), "{screen}");
        assert!(screen.contains(&format!("127.0.0.1:{}", ports[0])), "it is shown: {screen}");
        assert_eq!(up(), 3);
    }
    let screen = answered(&world, ports[0], "y\n");
    assert!(screen.contains("1 closed") && screen.contains("code 0"), "{screen}");
    assert_eq!(up(), 2);
}

/// A UDP socket on port 5300 that is bound to the interface `ptl-in`.
const BOUND: &str = r#"
import socket, sys
sock = socket.socket(type=socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"ptl-in")
sock.bind(("0.0.0.0", 5300))
print("bound", flush=True)
sys.stdin.readline()
"#;

#[test]
fn the_interface_of_another_namespace_has_its_name_there() {
    let mut world = World::new();
    let inside = world.add_namespace();
    let mut ip = Command::new(program("ip", "iproute2"));
    ip.args("link add ptl-in type veth peer name ptl-out".split(' '));
    inside.succeed(ip);
    let mut python = Command::new(program("python3", "python3"));
    python.args(["-c", BOUND]);
    let mut running = Running::start(&inside, python);
    running.wait_for("its socket", |python| python.stdout().contains("bound").then_some(()));
    let text = listed(&world, "sockets -uaNH sport = :5300");
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(&inside.namespace)).collect();
    let [line] = lines[..] else { panic!("one socket: {text}") };
    assert!(line.contains(" 0.0.0.0%ptl-in:5300 "), "{line}");
    let json = listed(&world, "sockets -uaN --json sport = :5300");
    let mut found = records(&json);
    found.retain(|record| record["namespace"] == inside.namespace.as_str());
    assert_eq!(found.len(), 1, "{json}");
    assert_eq!(found[0]["interface"], "ptl-in");
    assert!(found[0]["interface_index"].as_u64().is_some_and(|index| index > 0), "{json}");
}

#[test]
fn holders_that_proc_leaves_out_are_told_of() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    // A /proc of its own, in a mount namespace that ends with it.
    let script = r#"mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 65534 \
        --regid 65534 --clear-groups "$0" sockets -tlp"#;
    let mut command = Command::new(program("unshare", "util-linux"));
    command.args(["--mount", "sh", "-c", script]).arg(world.portolan_for_all()).current_dir("/");
    world.at_home(&mut command);
    let ran = world.host.succeed(command);
    assert!(ran.stdout.contains("127.0.0.1:6379"), "{ran}");
    assert_eq!(ran.stderr.lines().count(), 1, "{ran}");
    for part in ["no holder of 1 socket", "run as root, or grant CAP_DAC_READ_SEARCH"] {
        assert!(ran.stderr.contains(part), "{ran}");
    }
}

#[test]
fn namespaces_that_may_not_be_entered_are_told_once() {
    let mut world = World::new();
    let inside = world.add_namespace();
    let mut command = Command::new(world.portolan_for_all());
    command.args(["sockets", "-tulN"]).uid(NOBODY).gid(NOBODY).current_dir("/");
    world.at_home(&mut command);
    let ran = world.host.succeed(command);
    assert_eq!(ran.stderr.lines().count(), 1, "{ran}");
    for part in ["cannot be entered", "cannot be looked into", "run as root", "CAP_SYS_ADMIN"] {
        assert!(ran.stderr.contains(part), "{part}: {ran}");
    }
    assert!(!ran.stdout.contains(&inside.namespace), "{ran}");
}

#[test]
fn flags_stand_together_as_they_do_in_ss() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let redis = "127.0.0.1:6379";
    for flags in ["-tulpan", "-n -tln", "-4 -6 -tl", "-64tlO", "-tal --oneline"] {
        assert!(listed(&world, &format!("sockets {flags}")).contains(redis), "{flags}");
    }
    let ran = world.host.run(world.portolan(&["sockets", "-tulpnr"]));
    ran.assert_failed(2, &["--resolve (-r)", "not looked up", "getent hosts"]);
    assert_eq!(ran.stdout, "");
}
