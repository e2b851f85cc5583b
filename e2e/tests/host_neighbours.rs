//! What the host's neighbours hear of it without asking: which groups it is in, and which addresses
//! it has; and what it hears from one that has the same.

use std::{
    fs,
    net::{SocketAddr, TcpStream},
    process::Command,
    time::Duration,
};

use portolan_e2e::{
    Place, Running, World,
    link::{Link, MAC, Offload, Wire, ip},
    program, wait_for,
};
use rustix::process::Signal;

/// Long enough for any machine; what takes longer hangs.
const LONG: Duration = Duration::from_secs(30);

const HOST: &str = "fd00:300::10";
/// The solicited node of that: RFC 4291, section 2.7.1.
const GROUP: &str = "ff02::1:ff00:10";

/// A bridge that forwards to groups where they were reported, and asks for reports; its first port
/// is a TAP for the host.
fn bridge(world: &World, version: u8) {
    let place = &world.host;
    // Its own link-local address is to be usable at once: it asks from there.
    let path = "/proc/sys/net/ipv6/conf/default/accept_dad";
    place.enter(|| fs::write(path, "0")).expect("to switch it off");
    // The times, hundredths of a second, have to be known when it becomes a querier.
    let times = "mcast_query_response_interval 100 mcast_startup_query_interval 100";
    let times = format!("{times} mcast_query_interval 30000");
    let make = format!("link add br0 type bridge mcast_mld_version {version} {times}");
    for args in [
        make.as_str(),
        "link set br0 type bridge mcast_snooping 1 mcast_querier 1",
        "tuntap add dev tap0 mode tap",
        "link set tap0 master br0",
        "link set tap0 up",
        "link set br0 up",
        "address add fd00:300::1/64 dev br0 nodad",
    ] {
        ip(place, args);
    }
}

fn reported(place: &Place) -> bool {
    let mut command = Command::new(program("bridge", "iproute2"));
    command.args(["mdb", "show", "dev", "br0"]);
    let shown = place.succeed(command).stdout;
    shown.lines().any(|line| line.contains("port tap0") && line.contains(GROUP))
}

/// Whether somebody behind the bridge finds the host, whom he does not know yet.
fn is_found(place: &Place) -> bool {
    ip(place, "neigh flush dev br0");
    let to = SocketAddr::new(HOST.parse().expect("an address"), 7);
    place.enter(|| TcpStream::connect_timeout(&to, LONG)).is_ok()
}

#[test]
fn a_switch_that_watches_reports_lets_neighbours_find_the_host() {
    for version in [1, 2] {
        let world = World::new();
        bridge(&world, version);
        let address = format!("{HOST}/64");
        let command = world.portolan(&[
            "host",
            "--json",
            "--nic",
            "tap:tap0",
            "--address",
            &address,
            "--serve",
            "echo:7",
        ]);
        let place = &world.host;
        let running = Running::start(place, command);
        wait_for("a report", || reported(place).then_some(()));
        assert!(is_found(place), "version {version}");
        // Without the report nobody finds it, once the bridge forwards by reports alone: that it
        // waits for a while after it became a querier.
        wait_for("the bridge to forward by reports", || {
            let mut forget = Command::new(program("bridge", "iproute2"));
            forget.args(["mdb", "del", "dev", "br0", "port", "tap0", "grp", GROUP]);
            // It may be forgotten already, or be told again by an answer to the last query.
            place.run(forget);
            (!is_found(place)).then_some(())
        });
        // It asks, and hears of the group again.
        ip(place, "link set br0 type bridge mcast_querier 0");
        ip(place, "link set br0 type bridge mcast_querier 1");
        wait_for("an answer to the query", || reported(place).then_some(()));
        assert!(is_found(place), "version {version}");
        running.signal(Signal::TERM);
        let ended = running.finish();
        assert_eq!(ended.code, Some(0), "{ended}");
    }
}

/// The frames are what others take for reports, too.
#[test]
fn wireshark_understands_reports() {
    let world = World::new();
    bridge(&world, 2);
    let capture = world.file("reports.pcapng");
    let file = capture.to_str().expect("UTF-8");
    let address = format!("{HOST}/64");
    let command = world.portolan(&[
        "host",
        "--nic",
        "tap:tap0",
        "--address",
        &address,
        "--pcap",
        file,
        "--duration",
        "4s",
    ]);
    let place = &world.host;
    let ended = place.run(command);
    assert_eq!(ended.code, Some(0), "{ended}");
    let mut command = Command::new(program("tshark", "tshark"));
    let fields = ["ipv6.src", "ipv6.hlim", "ipv6.opt.router_alert", "icmpv6.checksum.status"];
    command.args(["-r", file, "-Y", "icmpv6.type == 143 && eth.src[0] & 2", "-T", "fields"]);
    for field in fields.iter().chain(&["icmpv6.mldr.mar.multicast_address", "_ws.malformed"]) {
        command.args(["-e", field]);
    }
    let read = place.succeed(command).stdout;
    let of_host: Vec<_> = read.lines().filter(|line| line.contains(GROUP)).collect();
    assert!(of_host.len() >= 2, "{read}");
    for line in of_host {
        let columns: Vec<_> = line.split('\t').collect();
        assert!(columns[0].starts_with("fe80::"), "{line}");
        assert_eq!(columns[1..4], ["1", "0", "1"], "hop limit, alert, a good checksum: {line}");
        assert_eq!(columns.get(5).copied().unwrap_or_default(), "", "{line}");
    }
}

#[test]
fn an_address_that_another_host_has_is_told_at_the_start() {
    let link = Link::new(Wire::Veth, 1_500, Offload::On);
    let own = link.peer_v4();
    // The link's other end has it.
    for (taken, other) in [(own, None), (link.peer_v6(), Some(link.host_v4()))] {
        let length = if taken.is_ipv4() { 24 } else { 64 };
        let address = format!("{taken}/{length}");
        let other = other.map(|other| format!("{other}/24"));
        let mut command = link.world.portolan(&["host", "--nic", "packet:ptl0"]);
        command.args(["--mac", "02:00:00:00:00:0a", "--duration", "20s", "--address", &address]);
        command.args(other.iter().flat_map(|other| ["--address", other]));
        let ended = link.world.host.run(command);
        assert_eq!(ended.code, Some(2), "{ended}");
        let told = format!("{taken} is already used by ");
        assert!(ended.stderr.contains(&told), "{ended}");
        assert!(ended.stderr.contains("choose another address"), "{ended}");
    }
}

/// RFC 5227, section 2.3; RFC 4861, section 7.2.6: who knew the address by another hardware address
/// learns the new one, before he has something to send.
#[test]
fn neighbours_with_old_entries_learn_the_new_address() {
    let link = Link::new(Wire::Veth, 1_500, Offload::On);
    for address in [link.host_v4(), link.host_v6()] {
        let entry = format!("neigh add {address} lladdr 02:00:00:00:00:66 dev ptl0 nud stale");
        ip(&link.peer, &entry);
    }
    let hosted = portolan_e2e::hosted::Hosted::start(link, &["--mac", "02:00:00:00:00:09"]);
    let [a, b, c, d, e, f] = MAC;
    let mac = format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}");
    for address in [hosted.link.host_v4(), hosted.link.host_v6()] {
        wait_for("the new hardware address", || {
            let mut command = Command::new(program("ip", "iproute2"));
            command.args(["neigh", "show", &address.to_string()]);
            hosted.link.peer.succeed(command).stdout.contains(&mac).then_some(())
        });
    }
    let _ = hosted.end_with_any_resets();
}
