//! A router between the host and the kernel whose far link takes shorter packets: it says so, or
//! it does not (RFC 1191, RFC 8201, RFC 8899).

use std::{
    io::ErrorKind,
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    time::Duration,
};

use portolan_e2e::{
    World,
    bulk::{self, Order},
    capture::Seen,
    kernel::Counted,
    link::{Link, Offload, Wire, ip, set},
    wait_for,
};
use portolan_host::{blocking::Endpoint, stack};

const PORT: u16 = 7_001;
const SERVER_V4: &str = "198.51.100.2";
const SERVER_V6: &str = "fd00:51::2";
const BYTES: usize = 1 << 20;

/// What the router does with packets that are too long for its far link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Router {
    /// It answers with an ICMP error.
    Tells,
    /// It drops them.
    IsSilent,
}

/// The host, a TAP, the router (the link's kernel), a veth pair with this MTU, the server.
fn check(router: Router, mtu: u16, server: &str) -> (Seen, Counted) {
    let link = Link::new(Wire::Tap, 1_500, Offload::On);
    let far = World::new();
    let (near, far_end) = (&link.peer, &far.host);
    set(near, "ipv4/ip_forward", "1");
    set(near, "ipv6/conf/all/forwarding", "1");
    let namespace = far_end.path();
    ip(near, &format!("link add far type veth peer name ptl1 netns {}", namespace.display()));
    for (place, name, end) in [(near, "far", 1), (far_end, "ptl1", 2)] {
        ip(place, &format!("address add 198.51.100.{end}/24 dev {name}"));
        ip(place, &format!("address add fd00:51::{end}/64 dev {name} nodad"));
        // A pair drops what is too long for the end that it comes to, without a word.
        let is_near = place.inode() == near.inode();
        let mtu = if is_near && router == Router::IsSilent { 1_500 } else { mtu };
        ip(place, &format!("link set {name} mtu {mtu} up"));
    }
    // The server says that it takes more than its link does: else nobody would send it.
    let gateways = ["198.51.100.1", "fd00:51::1"];
    // Below 1,280 there is no IPv6.
    let families = if mtu < 1_280 { 1 } else { 2 };
    for (network, gateway) in link.networks().iter().zip(gateways).take(families) {
        ip(far_end, &format!("route add {network} via {gateway} advmss 1400"));
    }
    let server = SocketAddr::new(server.parse().expect("an address"), PORT);
    let listener = far_end.enter(|| TcpListener::bind(server)).expect("to listen");
    // Until the router has found the server.
    let closed = SocketAddr::new(server.ip(), 9);
    wait_for("the server to be reached", || {
        let refused = near.enter(|| TcpStream::connect_timeout(&closed, Duration::from_secs(5)));
        refused.is_err_and(|it| it.kind() == ErrorKind::ConnectionRefused).then_some(())
    });
    let capture = link.world.file("router.pcapng");
    let mut config = link.config();
    for (network, gateway) in [("0.0.0.0/0", link.peer_v4()), ("::/0", link.peer_v6())] {
        let network = network.parse().expect("a network");
        config.routes.push(stack::Route { network, gateway });
    }
    let endpoint = Endpoint::start(&config, vec![link.open("", &capture)]).expect("to begin");
    let client = endpoint.connect(server).expect("to connect");
    client.set_timeout(Some(bulk::PATIENCE));
    let accepted = bulk::patient(listener.accept().expect("a client").0).expect("a time");
    let moved = std::thread::scope(|scope| {
        let serving = scope.spawn(|| bulk::exchange(&accepted, false, Order::InTurn, BYTES));
        let client = bulk::exchange(&client, true, Order::InTurn, BYTES);
        (client, serving.join().expect("to serve"))
    });
    drop((client, accepted));
    endpoint.stop().expect("an end in order");
    let told = format!("{:?}", endpoint.readings()[0]);
    drop(endpoint);
    let seen = Seen::read(&capture);
    let (of_client, of_server) = moved;
    let of_client = of_client.unwrap_or_else(|error| panic!("{error}: {told} {seen:?}"));
    let of_server = of_server.unwrap_or_else(|error| panic!("{error}: {told} {seen:?}"));
    assert_eq!(of_client, (of_server.1, of_server.0), "{told}");
    assert_eq!(seen.resets, 0, "{told} {seen:?}");
    let kernel = Counted::of(near);
    (seen, kernel)
}

fn is_v4(server: &str) -> bool {
    server.parse::<IpAddr>().expect("an address").is_ipv4()
}

#[test]
fn a_router_tells_the_length() {
    for (server, mtu) in [(SERVER_V4, 700), (SERVER_V4, 1_300), (SERVER_V6, 1_300)] {
        let (_, kernel) = check(Router::Tells, mtu, server);
        if is_v4(server) {
            assert!(kernel.get("Ip.FragFails") > 0, "the router had nothing to tell");
        }
    }
}

#[test]
fn a_black_hole_is_found() {
    for server in [SERVER_V4, SERVER_V6] {
        check(Router::IsSilent, 1_280, server);
    }
}
