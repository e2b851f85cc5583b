//! Packets that routers and senders cut, to a host with several queues: a client, a router with a
//! link of short packets, and the host behind it. Parts come by any queue, and none of them but
//! the first one tells whose connection it is about.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream, UdpSocket},
    thread,
    time::Duration,
};

use portolan_e2e::{
    Place, Running, World,
    link::{ip, set},
    wait_for,
};
use rustix::process::Signal;
use serde_json::Value;

/// Long enough for any machine; what takes longer hangs.
const LONG: Duration = Duration::from_secs(30);

/// So many flows are in all queues of four, but for one run in 1,000,000 (4 * 0.75^54).
const FLOWS: usize = 54;

const HOST_V4: &str = "192.168.200.10";
const HOST_V6: &str = "fd00:200::10";

/// The world's first namespace is the router; says where the client is.
fn make(world: &mut World) -> Place {
    let client = world.add_namespace();
    let router = &world.host;
    set(router, "ipv4/ip_forward", "1");
    set(router, "ipv6/conf/all/forwarding", "1");
    ip(router, "address add fd00:100::1/64 dev ptl0 nodad");
    ip(&client, "address add fd00:100::2/64 dev ptl0 nodad");
    ip(&client, &format!("route add 192.168.200.0/24 via {}", router.address));
    ip(&client, "route add fd00:200::/64 via fd00:100::1");
    // The client lets routers cut what it sends.
    set(&client, "ipv4/ip_no_pmtu_disc", "1");
    client
}

/// A host with four queues behind the router.
fn start(world: &World) -> Running {
    let command = world.portolan(&[
        "host",
        "--json",
        "--nic",
        "tap:tap0",
        "--queues",
        "4",
        "--address",
        "192.168.200.10/24",
        "--address",
        "fd00:200::10/64",
        "--gateway",
        "192.168.200.1",
        "--gateway",
        "fd00:200::1",
        "--peer-address",
        "192.168.200.1/24",
        "--serve",
        "echo:7",
    ]);
    let mut running = Running::start(&world.host, command);
    running.wait_for("the host to answer", |running| {
        running.stdout().contains("\"ready\"").then_some(())
    });
    ip(&world.host, "address add fd00:200::1/64 dev tap0 nodad");
    running
}

/// Ends it, and says what it counted.
fn end(running: Running) -> Value {
    running.signal(Signal::TERM);
    let ended = running.finish();
    assert_eq!(ended.code, Some(0), "{ended}");
    let last = ended.stdout.lines().next_back().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {ended}"))
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|nth| (nth * 7 + nth / 251) as u8).collect()
}

fn at(address: &str) -> SocketAddr {
    SocketAddr::new(address.parse().expect("an address"), 7)
}

fn count(counted: &Value, group: &str, name: &str) -> u64 {
    counted[group][name].as_u64().unwrap_or(0)
}

#[test]
fn segments_that_a_router_cuts_find_their_connections() {
    let mut world = World::new();
    let client = make(&mut world);
    let running = start(&world);
    // Behind the host's back: it has told the client, and tells it, that it takes 1,460 bytes.
    ip(&world.host, "link set tap0 mtu 700");
    let data = bytes(60_000);
    for _ in 0..FLOWS {
        let stream = client.enter(|| TcpStream::connect_timeout(&at(HOST_V4), LONG));
        let mut stream = stream.expect("to connect");
        stream.set_read_timeout(Some(LONG)).expect("a timeout");
        let mut writer = stream.try_clone().expect("a second handle");
        thread::scope(|scope| {
            scope.spawn(|| writer.write_all(&data).expect("to write"));
            let mut echo = vec![0; data.len()];
            stream.read_exact(&mut echo).expect("what was written");
            assert!(echo == data);
        });
    }
    let counted = end(running);
    let joined = count(&counted, "noted", "reassembled");
    // The short ones, at the end of each write, pass whole.
    assert!(joined >= (FLOWS * data.len() / 1_460 / 2) as u64, "they were not cut: {counted}");
    // What comes by another queue, an acknowledgment say, may come after the end, and is answered
    // by a reset then; no connection was ended by one.
    let total = (count(&counted, "total", "closed"), count(&counted, "total", "reset"));
    assert_eq!(total, (FLOWS as u64, 0), "{counted}");
    assert!(count(&counted, "queues", "handed_over") > 0, "{counted}");
    assert_eq!(count(&counted, "queues", "handed_lost"), 0, "{counted}");
}

#[test]
fn long_datagrams_are_echoed_by_every_queue() {
    let mut world = World::new();
    let client = make(&mut world);
    let running = start(&world);
    let data = bytes(8_000);
    for (address, any) in [(HOST_V4, "0.0.0.0:0"), (HOST_V6, "[::]:0")] {
        for _ in 0..FLOWS {
            let socket = client.enter(|| UdpSocket::bind(any)).expect("a socket");
            socket.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
            // The first ones may find a neighbour that is still asked for.
            let echo = wait_for("an echo", || {
                socket.send_to(&data, at(address)).expect("to send");
                let mut echo = vec![0; 65_535];
                let (len, from) = socket.recv_from(&mut echo).ok()?;
                echo.truncate(len);
                Some((echo, from))
            });
            assert!(echo == (data.clone(), at(address)), "{} bytes from {}", echo.0.len(), echo.1);
        }
    }
    let counted = end(running);
    let joined = count(&counted, "noted", "reassembled");
    assert!(joined >= 2 * FLOWS as u64, "they were not cut: {counted}");
    assert_eq!(count(&counted, "dropped", "udp_port"), 0, "{counted}");
    // Three queues of four get theirs from the first one.
    assert!(count(&counted, "queues", "handed_over") >= FLOWS as u64, "{counted}");
}
