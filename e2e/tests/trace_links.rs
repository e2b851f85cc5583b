//! One edge, seen from both of its ends.

use std::{
    net::{IpAddr, SocketAddr, TcpListener},
    process::Command,
    thread,
    time::Duration,
};

use portolan_e2e::{
    Place, Running, World, program, tcp,
    traced::{Side, Traced, close, connect, mirrored, move_bytes},
};
use portolan_flow::{Flow, Totals, fold};

const PORT: u16 = 7420;

const PRELUDE: &str = r#"
import socket, sys
address, count = (sys.argv[1], int(sys.argv[2])), int(sys.argv[3])
def be(name):
    with open("/proc/self/comm", "w") as comm:
        comm.write(name)
"#;

const SERVER: &str = r#"
be("ptl-server")
listener = socket.create_server(address, backlog=64)
for _ in range(count):
    peer, _ = listener.accept()
    with peer:
        while peer.recv(5, socket.MSG_WAITALL):
            peer.sendall(b"sevenby")
sys.stdin.readline()
"#;

const CLIENT: &str = r#"
be("ptl-client")
for _ in range(count):
    with socket.create_connection(address) as peer:
        for _ in range(3):
            peer.sendall(b"fiveb")
            assert peer.recv(7, socket.MSG_WAITALL) == b"sevenby"
"#;

fn python(script: &str, address: &str, count: u32) -> Command {
    let mut command = Command::new(program("python3", "python3"));
    command.arg("-c").arg([PRELUDE, script].concat());
    command.args([address, &PORT.to_string(), &count.to_string()]);
    command
}

/// The edges of a folded reading that lead to a server.
fn edges(traced: &Traced, server: SocketAddr) -> Vec<Flow> {
    let mut edges = fold(traced.flows.clone());
    edges.retain(|flow| SocketAddr::new(flow.server.address, flow.server_port) == server);
    edges
}

fn to_and_fro(from: &Place, to: &Place, traced: &mut Traced) {
    const COUNT: u32 = 40;
    let mut server = Running::start(to, python(SERVER, &to.address, COUNT));
    tcp::wait_listening(to, &mut server, PORT);
    traced.read();
    from.succeed(python(CLIENT, &to.address, COUNT));
    // The server sees the end of the last one a moment later.
    let address = SocketAddr::new(to.address.parse().expect("an address"), PORT);
    thread::sleep(Duration::from_millis(100));
    traced.read();
    let count = u64::from(COUNT);
    let expected = Totals {
        opened: count,
        closed: count,
        bytes_sent: 15 * count,
        bytes_received: 21 * count,
        ..Totals::default()
    };
    assert_eq!(traced.tcp(address), (expected, mirrored(expected)), "{traced:?}");
    let [edge] = &edges(traced, address)[..] else { panic!("not one edge: {:?}", traced.flows) };
    for (end, name, place) in [(&edge.client, "ptl-client", from), (&edge.server, "ptl-server", to)]
    {
        assert_eq!(
            end.owner.process().map(|process| process.name.as_str()),
            Some(name),
            "{edge:?}"
        );
        let namespace = end.namespace.as_ref().map(|namespace| namespace.name());
        assert_eq!(namespace, Some(place.namespace.as_str()), "{edge:?}");
        let own: IpAddr = place.address.parse().expect("an address");
        assert_eq!(end.address, own);
    }
    let traffic = edge.traffic.as_ref().expect("it is counted");
    assert_eq!((traffic.active.opened, traffic.passive.opened), (count, count));
    assert_eq!((traffic.bytes_to_server(), traffic.bytes_to_client()), (15 * count, 21 * count));
}

#[test]
fn an_edge_between_two_namespaces() {
    let mut world = World::new();
    let far = world.add_namespace();
    world.host.enter(|| {
        let mut traced = Traced::open().and(&far);
        to_and_fro(&world.host, &far, &mut traced);
        to_and_fro(&far, &world.host, &mut traced);
    });
}

/// IPv4 is IPv4, whatever socket it comes to or from.
#[test]
fn sockets_for_both_ip_versions() {
    let world = World::new();
    world.host.enter(|| {
        let any: SocketAddr = "[::]:7421".parse().expect("valid");
        let listener = TcpListener::bind(any).expect("all is ours");
        let plain: SocketAddr = "127.0.0.1:7421".parse().expect("valid");
        let mapped: SocketAddr = "[::ffff:127.0.0.1]:7421".parse().expect("valid");
        let ipv6: SocketAddr = "[::1]:7421".parse().expect("valid");
        let before = [plain, mapped, ipv6].map(|to| connect(&listener, to));
        let mut traced = Traced::open();
        for ((client, server), bytes) in before.iter().zip([10, 10, 40]) {
            move_bytes(client, server, bytes);
        }
        for (to, bytes) in [(plain, 100), (mapped, 100), (ipv6, 400)] {
            for _ in 0..5 {
                let (client, server) = connect(&listener, to);
                move_bytes(&client, &server, bytes);
                move_bytes(&server, &client, 2 * bytes);
                close(client, server);
            }
        }
        traced.read();
        for (server, opened, up, sent) in [(plain, 10, 2, 1_020), (ipv6, 5, 1, 2_040)] {
            let [edge] = &edges(&traced, server)[..] else { panic!("{:?}", traced.flows) };
            assert_eq!(edge.client.address, server.ip(), "{edge:?}");
            assert_eq!((edge.active.connections, edge.passive.connections), (up, up), "{edge:?}");
            assert!(!edge.guessed, "{edge:?}");
            let received = if opened == 10 { 2_000 } else { 4_000 };
            let expected = Totals {
                opened,
                closed: opened,
                bytes_sent: sent,
                bytes_received: received,
                ..Totals::default()
            };
            assert_eq!(traced.tcp(server), (expected, mirrored(expected)), "{traced:?}");
        }
        assert!(edges(&traced, mapped).is_empty() && edges(&traced, any).is_empty());
        before.into_iter().for_each(|(client, server)| close(client, server));
        traced.read();
        let (active, passive) = traced.tcp(plain);
        assert_eq!((active.closed, passive.closed), (12, 12), "{traced:?}");
    });
}

/// Passes ARP (or connections would fail for want of a neighbour). Else a random number of 32 bits
/// (`SKF_AD_OFF + SKF_AD_RANDOM` of linux/filter.h); up to a twentieth of all of them means
/// `TC_ACT_SHOT`, which is 2, others `TC_ACT_OK`, which is 0.
const LOSS: &str = "6,40 0 0 12,21 3 0 2054,32 0 0 4294963256,37 1 0 214748364,6 0 0 2,6 0 0 0";

/// `ingress` loses on the way; `egress` before it, and TCP is told.
fn lose_packets(place: &Place, way: &str) {
    let tc = |words: &[&str]| {
        let mut command = Command::new(program("tc", "iproute2"));
        command.args(words);
        place.succeed(command);
    };
    tc(&["qdisc", "add", "dev", "ptl0", "clsact"]);
    tc(&["filter", "add", "dev", "ptl0", way, "bpf", "da", "bytecode", LOSS]);
}

#[test]
fn what_was_sent_again_is_no_payload() {
    over_lossy_links("ingress", |totals| totals.retransmits > 0);
}

/// A full queue or a firewall of this host: what it drops is sent later, not sent again.
#[test]
fn what_this_host_drops_itself_was_not_sent() {
    over_lossy_links("egress", |_| true);
}

/// Connections to the listener, as pairs of their ends: client and server.
fn connect_all(
    address: SocketAddr,
    listener: &TcpListener,
    count: u64,
) -> Vec<(std::net::TcpStream, std::net::TcpStream)> {
    // Ends are told apart by their ports: what is lost and repeated comes in any order.
    let mut clients: Vec<_> = thread::scope(|scope| {
        let one = || std::net::TcpStream::connect(address).expect("it listens");
        let all: Vec<_> = (0..count).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|one| one.join().expect("it ends")).collect()
    });
    listener.set_nonblocking(true).expect("it can");
    let accept = |_| {
        let (end, peer) = portolan_e2e::wait_for("a connection", || listener.accept().ok());
        let is_peer = |client: &std::net::TcpStream| client.local_addr().expect("it is up") == peer;
        (clients.swap_remove(clients.iter().position(is_peer).expect("one")), end)
    };
    (0..count).map(accept).collect()
}

/// Moves bytes there and back while packets get lost, and checks what was counted.
fn over_lossy_links(way: &str, is_plausible: fn(&Totals) -> bool) {
    const CONNECTIONS: u64 = 24;
    const BYTES: usize = 120_000;
    let mut world = World::new();
    let far = world.add_namespace();
    let lose = || [&world.host, &far].map(|place| lose_packets(place, way));
    // A kernel that cannot send a SYN-ACK again forgets the connection (`reqsk_timer_handler`),
    // which its client may believe to be open.
    let loses_handshakes = way == "ingress";
    if loses_handshakes {
        lose();
    }
    world.host.enter(|| {
        let mut traced = Traced::open().and(&far);
        let address = SocketAddr::new(far.address.parse().expect("an address"), PORT);
        let listener = far.enter(|| TcpListener::bind(address)).expect("all is ours");
        thread::scope(|scope| {
            let server = |server| {
                move |client| {
                    move_bytes(&client, &server, BYTES);
                    move_bytes(&server, &client, BYTES);
                    close(client, server);
                }
            };
            let pairs = connect_all(address, &listener, CONNECTIONS);
            if !loses_handshakes {
                lose();
            }
            let working = pairs.into_iter().map(|(client, end)| {
                let work = server(end);
                scope.spawn(move || work(client))
            });
            let mut working: Vec<_> = working.collect();
            while !working.is_empty() {
                thread::sleep(Duration::from_millis(100));
                traced.read();
                working.retain(|work| !work.is_finished());
            }
        });
        // The last acknowledgement may have been lost.
        let (active, passive) = traced.wait_for("the end of all", |traced| {
            let (active, passive) = traced.tcp(address);
            (active.closed >= CONNECTIONS && passive.closed >= CONNECTIONS)
                .then_some((active, passive))
        });
        let bytes = CONNECTIONS * BYTES as u64;
        let expected = Totals {
            opened: CONNECTIONS,
            closed: CONNECTIONS,
            bytes_sent: bytes,
            bytes_received: bytes,
            ..Totals::default()
        };
        eprintln!("{} and {} segments again", active.retransmits, passive.retransmits);
        assert!(is_plausible(&active) && is_plausible(&passive), "{traced:?}");
        for end in [active, passive] {
            assert_eq!(Totals { retransmits: 0, ..end }, expected, "{traced:?}");
        }
        assert_eq!(traced.sum(Side::Active, |half| half.server == address).up, 0);
    });
}
