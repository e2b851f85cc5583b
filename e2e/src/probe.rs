//! What `portolan probe` is asked about, and what it says.

use std::{
    collections::BTreeMap,
    fs,
    net::{SocketAddr, TcpListener},
    process::Command,
    thread,
};

use serde_json::Value;

use crate::{edges::records, place::Place, programs::program, running::Ran, world::World};

/// The ways to ask.
pub const METHODS: [&str; 4] = ["connect", "linger", "quiet", "syn"];

/// A network in which nobody answers: see [`silence`].
pub const SILENT: &str = "10.200.0.0/16";

/// Listens on these addresses, without ever accepting.
///
/// # Panics
/// When one cannot be had.
#[must_use]
pub fn listeners(place: &Place, addresses: &[&str]) -> Vec<TcpListener> {
    let listen = |address: &&str| {
        TcpListener::bind(address).unwrap_or_else(|error| panic!("{address}: {error}"))
    };
    place.enter(|| addresses.iter().map(listen).collect())
}

/// Listens on this address and accepts, as long as the test's process lives.
///
/// # Panics
/// When it cannot be had.
pub fn accepting(place: &Place, address: &str) {
    let listener = listeners(place, &[address]).remove(0);
    thread::spawn(move || for _ in listener.incoming() {});
}

/// Gives the world's host a link that swallows whatever is sent, with [`SILENT`] behind it; and
/// refuses by its routing table to send to 10.201.0.0/16 (unreachable) and 10.202.0.0/16
/// (prohibited).
///
/// # Panics
/// When that cannot be made.
pub fn silence(world: &World) {
    ip(&world.host, "link add quiet0 type veth peer name quiet1");
    for end in ["quiet0", "quiet1"] {
        // No word of its own on the link: what is counted there is the program's.
        let path = format!("/proc/sys/net/ipv6/conf/{end}/disable_ipv6");
        let set = world.host.enter(|| fs::write(&path, "1"));
        set.unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    // Without ARP, frames go to the sender's own address, which is nobody's at the other end.
    ip(&world.host, "link set quiet0 arp off up");
    ip(&world.host, "link set quiet1 up");
    ip(&world.host, "address add 10.200.0.1/16 dev quiet0");
    ip(&world.host, "route add unreachable 10.201.0.0/16");
    ip(&world.host, "route add prohibit 10.202.0.0/16");
}

/// Runs `ip` with arguments that have no blanks.
pub fn ip(place: &Place, args: &str) {
    let mut command = Command::new(program("ip", "iproute2"));
    command.args(args.split(' '));
    place.succeed(command);
}

/// Frames that were sent into the silence.
///
/// # Panics
/// When there is no such link.
#[must_use]
pub fn frames_into_silence(world: &World) -> u64 {
    let read = || fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let table = world.host.enter(read);
    let line = table.lines().find_map(|line| line.trim().strip_prefix("quiet0:"));
    let sent = line.and_then(|line| line.split_whitespace().nth(9)?.parse().ok());
    sent.unwrap_or_else(|| panic!("no quiet0 in {table}"))
}

/// Resets that the namespace's TCP sent: answers to those who asked closed ports.
#[must_use]
pub fn resets(place: &Place) -> u64 {
    let read = || fs::read_to_string("/proc/thread-self/net/snmp").unwrap_or_default();
    let table = place.enter(read);
    let mut lines = table.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let names = lines.next().unwrap_or_default().split(' ');
    let mut pairs = names.zip(lines.next().unwrap_or_default().split(' '));
    let resets = pairs.find_map(|(name, value)| (name == "OutRsts").then(|| value.parse().ok())?);
    resets.unwrap_or_default()
}

/// The findings of an output of `--json`, without the sum.
#[must_use]
pub fn findings(output: &str) -> Vec<Value> {
    let mut records = records(output);
    records.retain(|record| record["type"] == "finding");
    records
}

/// The sum, which is the last line.
///
/// # Panics
/// When it is not.
#[must_use]
pub fn summary(ran: &Ran) -> Value {
    let last = records(&ran.stdout).pop();
    let last = last.filter(|record| record["type"] == "summary");
    last.unwrap_or_else(|| panic!("no summary: {ran}"))
}

/// Who was asked, in the order of the findings.
#[must_use]
pub fn targets(output: &str) -> Vec<SocketAddr> {
    findings(output).iter().map(target).collect()
}

/// By target, what was found: `open`, `unreachable no-route`.
///
/// # Panics
/// When something was told twice.
#[must_use]
pub fn verdicts(output: &str) -> BTreeMap<String, String> {
    let mut verdicts = BTreeMap::new();
    for finding in findings(output) {
        let word = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        let verdict = format!("{} {}", word("state"), word("detail")).trim().to_owned();
        let twice = verdicts.insert(target(&finding).to_string(), verdict);
        assert_eq!(twice, None, "{finding} was told twice");
    }
    verdicts
}

fn target(finding: &Value) -> SocketAddr {
    let address = finding["address"].as_str().and_then(|address| address.parse().ok());
    let port = finding["port"].as_u64().and_then(|port| u16::try_from(port).ok());
    match (address, port) {
        (Some(address), Some(port)) => SocketAddr::new(address, port),
        _ => panic!("no target in {finding}"),
    }
}
