//! However connections end, and whoever ends them: counted once at each end, with its process.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    os::fd::OwnedFd,
    process::Command,
    sync::{Arc, Barrier},
    thread,
    time::Duration,
};

use portolan_e2e::{
    Place, Running, World, program, tcp,
    traced::{Side, Traced, close, connect, mirrored, move_bytes},
};
use portolan_flow::Totals;
use rustix::{
    net::{AddressFamily, SocketFlags, SocketType, bind, connect_unspec, socket_with, sockopt},
    process::{Pid, Signal, kill_process},
};

const PORT: u16 = 7300;

fn at(address: &str) -> SocketAddr {
    SocketAddr::new(address.parse().expect("an address"), PORT)
}

fn listen(address: &str) -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(at(address)).expect("all is ours");
    (listener, at(address))
}

fn totals(opened: u64, resets: u64, (sent, received): (u64, u64)) -> Totals {
    Totals {
        opened,
        closed: opened,
        resets,
        bytes_sent: sent,
        bytes_received: received,
        ..Totals::default()
    }
}

/// What scripts share: a name for the process, and where.
const PRELUDE: &str = r#"
import os, socket, sys
ADDRESS, COUNT = ("127.0.0.1", 7300), 5
def be(name):
    with open("/proc/self/comm", "w") as comm:
        comm.write(name)
def say(word):
    os.write(1, (word + "\n").encode())
def answer(peer):
    assert peer.recv(5, socket.MSG_WAITALL) == b"fiveb"
    peer.sendall(b"sevenby")
def ask(peer):
    peer.sendall(b"fiveb")
    assert peer.recv(7, socket.MSG_WAITALL) == b"sevenby"
"#;

/// Holds its connections until the other end ends them.
const SERVER: &str = r#"
be("ptl-server")
listener = socket.create_server(ADDRESS, backlog=64)
peers = [listener.accept()[0] for _ in range(COUNT)]
for peer in peers:
    answer(peer)
say("answered")
for peer in peers:
    peer.recv(1)
"#;

/// The same, and takes nothing more.
const DEAF_SERVER: &str = r#"
import signal
be("ptl-server")
listener = socket.create_server(ADDRESS, backlog=64)
peers = [listener.accept()[0] for _ in range(COUNT)]
for peer in peers:
    answer(peer)
say("answered")
signal.pause()
"#;

const CLIENT: &str = r#"
be("ptl-client")
peers = [socket.create_connection(ADDRESS) for _ in range(COUNT)]
for peer in peers:
    ask(peer)
say("asked")
for peer in peers:
    try:
        peer.recv(1)
    except ConnectionResetError:
        pass
"#;

/// Asks, and then says something that it does not wait to be heard.
const PUSHING_CLIENT: &str = r#"
be("ptl-client")
peers = [socket.create_connection(ADDRESS) for _ in range(COUNT)]
for peer in peers:
    ask(peer)
    peer.sendall(b"unread")
say("asked")
for peer in peers:
    try:
        peer.recv(1)
    except ConnectionResetError:
        pass
"#;

/// Its children accept, one connection each.
const FORKING_SERVER: &str = r#"
be("ptl-master")
listener = socket.create_server(ADDRESS, backlog=64)
for _ in range(COUNT):
    if os.fork() == 0:
        be("ptl-worker")
        peer, _ = listener.accept()
        answer(peer)
        say(str(os.getpid()))
        peer.recv(1)
        sys.exit()
for _ in range(COUNT):
    os.wait()
"#;

/// Hands each connection over to another process, and keeps none.
const GIVING_CLIENT: &str = r#"
be("ptl-giver")
here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
if os.fork() == 0:
    be("ptl-taker")
    here.close()
    taken = [socket.recv_fds(there, 1, 1)[1][0] for _ in range(COUNT)]
    there.send(b"x")
    for descriptor in taken:
        with socket.socket(fileno=descriptor) as peer:
            ask(peer)
    sys.exit()
there.close()
for _ in range(COUNT):
    with socket.create_connection(ADDRESS) as peer:
        socket.send_fds(here, [b"x"], [peer.fileno()])
here.recv(1)
os.wait()
"#;

fn python(script: &str) -> Command {
    let mut command = Command::new(program("python3", "python3"));
    command.arg("-c").arg([PRELUDE, script].concat());
    command
}

fn start(place: &Place, script: &str) -> Running {
    Running::start(place, python(script))
}

/// A server that was seen to listen.
fn serving(place: &Place, traced: &mut Traced, script: &str) -> Running {
    let mut server = start(place, script);
    tcp::wait_listening(place, &mut server, PORT);
    traced.read();
    server
}

fn said(running: &mut Running, word: &str) {
    running.wait_for(word, |running| running.stdout().contains(word).then_some(()));
}

fn names(all: &[&str]) -> BTreeSet<Option<String>> {
    all.iter().map(|&name| Some(name.to_owned())).collect()
}

/// Runs on a thread in a namespace of its own, which is what the tracer calls `host`.
fn inside(work: impl FnOnce(&Place, &mut Traced) + Send) {
    let world = World::new();
    world.host.enter(|| work(&world.host, &mut Traced::open()));
}

/// Lets both processes end, and then reads.
fn ended(traced: &mut Traced, processes: [Running; 2]) -> (Totals, Totals) {
    for process in processes {
        let _ = process.finish();
    }
    traced.read();
    traced.tcp(at("127.0.0.1"))
}

#[test]
fn a_killed_client_has_closed_its_connections() {
    for has_read in [false, true] {
        inside(|place, traced| {
            let mut server = serving(place, traced, SERVER);
            let mut client = start(place, CLIENT);
            said(&mut client, "asked");
            said(&mut server, "answered");
            if has_read {
                traced.read();
            }
            client.signal(Signal::KILL);
            let (active, passive) = ended(traced, [server, client]);
            assert_eq!(active, totals(5, 0, (25, 35)), "{traced:?}");
            assert_eq!(passive, mirrored(active), "{traced:?}");
            let server = at("127.0.0.1");
            assert_eq!(
                traced.processes(Side::Active, server),
                names(&["ptl-client"]),
                "{traced:?}"
            );
            assert_eq!(
                traced.processes(Side::Passive, server),
                names(&["ptl-server"]),
                "{traced:?}"
            );
        });
    }
}

#[test]
fn a_killed_server_has_closed_its_connections() {
    for (has_read, client, resets, sent) in
        [(false, CLIENT, 0, 25), (true, CLIENT, 0, 25), (true, PUSHING_CLIENT, 5, 55)]
    {
        inside(|place, traced| {
            let mut server = serving(place, traced, DEAF_SERVER);
            let mut client = start(place, client);
            said(&mut client, "asked");
            said(&mut server, "answered");
            if has_read {
                traced.read();
            }
            server.signal(Signal::KILL);
            let (active, passive) = ended(traced, [server, client]);
            assert_eq!(active, totals(5, resets, (sent, 35)), "{traced:?}");
            assert_eq!(passive, mirrored(active), "{traced:?}");
            let server = at("127.0.0.1");
            assert_eq!(
                traced.processes(Side::Active, server),
                names(&["ptl-client"]),
                "{traced:?}"
            );
            assert_eq!(
                traced.processes(Side::Passive, server),
                names(&["ptl-server"]),
                "{traced:?}"
            );
        });
    }
}

/// Who accepted shows when it ends; until then, it is called after who listens.
#[test]
fn killed_children_of_a_server() {
    for (has_read, name) in [(false, "ptl-worker"), (true, "ptl-master")] {
        inside(|place, traced| {
            let mut server = serving(place, traced, FORKING_SERVER);
            let mut client = start(place, CLIENT);
            said(&mut client, "asked");
            let children = server.wait_for("five children", |server| {
                let pids: Vec<i32> =
                    server.stdout().lines().filter_map(|it| it.parse().ok()).collect();
                (pids.len() == 5).then_some(pids)
            });
            if has_read {
                traced.read();
            }
            for child in children {
                let child = Pid::from_raw(child).expect("a process");
                kill_process(child, Signal::KILL).expect("it runs");
            }
            let (active, passive) = ended(traced, [server, client]);
            assert_eq!(active, totals(5, 0, (25, 35)), "{traced:?}");
            assert_eq!(passive, mirrored(active), "{traced:?}");
            let server = at("127.0.0.1");
            assert_eq!(
                traced.processes(Side::Active, server),
                names(&["ptl-client"]),
                "{traced:?}"
            );
            assert_eq!(traced.processes(Side::Passive, server), names(&[name]), "{traced:?}");
        });
    }
}

#[test]
fn a_connection_is_whose_it_was_at_first() {
    inside(|place, traced| {
        let server = serving(place, traced, SERVER);
        let client = start(place, GIVING_CLIENT);
        let (active, passive) = ended(traced, [server, client]);
        assert_eq!(active, totals(5, 0, (25, 35)), "{traced:?}");
        assert_eq!(passive, mirrored(active), "{traced:?}");
        let server = at("127.0.0.1");
        assert_eq!(traced.processes(Side::Active, server), names(&["ptl-giver"]), "{traced:?}");
        assert_eq!(traced.processes(Side::Passive, server), names(&["ptl-server"]), "{traced:?}");
    });
}

#[test]
fn a_thread_connects_by_the_name_of_its_process() {
    inside(|_, traced| {
        let (listener, address) = listen("127.0.0.1");
        let work = move || {
            let (client, server) = connect(&listener, address);
            close(client, server);
        };
        let thread = thread::Builder::new().name("another".to_owned()).spawn(work);
        thread.expect("threads are free").join().expect("it ends");
        traced.read();
        assert_eq!(traced.tcp(address).0, totals(1, 0, (0, 0)));
        for side in [Side::Active, Side::Passive] {
            let names = traced.processes(side, address);
            let is_ours = |name: &Option<String>| {
                name.as_ref().is_some_and(|name| name.starts_with("trace_"))
            };
            assert!(names.len() == 1 && names.iter().all(is_ours), "{names:?}");
        }
    });
}

#[test]
fn half_closed_connections_go_on() {
    inside(|_, traced| {
        let (listener, address) = listen("127.0.0.1");
        let (client, server) = connect(&listener, address);
        move_bytes(&client, &server, 100);
        client.shutdown(Shutdown::Write).expect("it is up");
        assert_eq!((&server).read(&mut [0; 1]).expect("its end"), 0);
        traced.read();
        assert_eq!(traced.sum(Side::Active, |_| true).up, 1, "{traced:?}");
        assert_eq!(traced.sum(Side::Passive, |_| true).up, 1, "{traced:?}");
        for round in 1..=3 {
            move_bytes(&server, &client, 50_000);
            traced.read();
            let (active, passive) = traced.tcp(address);
            let expected = Totals { closed: 0, ..totals(1, 0, (100, round * 50_000)) };
            assert_eq!((active, passive), (expected, mirrored(expected)));
        }
        drop((server, client));
        traced.read();
        let (active, passive) = traced.tcp(address);
        let expected = totals(1, 0, (100, 150_000));
        assert_eq!((active, passive), (expected, mirrored(expected)));
        assert_eq!(traced.sum(Side::Active, |_| true).up, 0, "{traced:?}");
    });
}

#[test]
fn both_ends_close_at_once() {
    inside(|_, traced| {
        let (listener, address) = listen("127.0.0.1");
        let both = Arc::new(Barrier::new(2));
        let (give, take) = std::sync::mpsc::channel::<TcpStream>();
        let other = Arc::clone(&both);
        let closer = thread::spawn(move || {
            for server in take {
                other.wait();
                drop(server);
            }
        });
        for round in 0..2_000 {
            let (client, server) = connect(&listener, address);
            move_bytes(&client, &server, 10);
            give.send(server).expect("it waits");
            both.wait();
            drop(client);
            if round % 500 == 0 {
                traced.read();
            }
        }
        drop(give);
        closer.join().expect("it ends");
        // Neither has waited for the other's last acknowledgement, which may be late.
        let (active, passive) = traced.wait_for("the end of all", |traced| {
            let (active, passive) = traced.tcp(address);
            (active.closed >= 2_000 && passive.closed >= 2_000).then_some((active, passive))
        });
        let expected = totals(2_000, 0, (20_000, 0));
        assert_eq!(Totals { retransmits: 0, ..active }, expected, "{traced:?}");
        assert_eq!(Totals { retransmits: 0, ..passive }, mirrored(expected), "{traced:?}");
    });
}

/// The same four numbers again, while the end that closed first still remembers the last time.
#[test]
fn ports_are_used_again_in_time_wait() {
    inside(|_, traced| {
        let (listener, address) = listen("127.0.0.1");
        for _ in 0..50 {
            let socket =
                socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None);
            let socket: OwnedFd = socket.expect("descriptors are free");
            sockopt::set_socket_reuseaddr(&socket, true).expect("it is a socket");
            bind(&socket, &"127.0.0.1:40000".parse::<SocketAddr>().expect("valid")).expect("free");
            rustix::net::connect(&socket, &address).expect("the port is used again");
            let client = TcpStream::from(socket);
            let (server, _) = listener.accept().expect("it was just opened");
            move_bytes(&client, &server, 10);
            close(server, client);
            // By its clock, of milliseconds, the server tells a new SYN from an old one.
            thread::sleep(Duration::from_millis(3));
        }
        traced.read();
        let (active, passive) = traced.tcp(address);
        let expected = totals(50, 0, (500, 0));
        assert_eq!((active, passive), (expected, mirrored(expected)), "{traced:?}");
    });
}

#[test]
fn connections_that_nobody_accepted() {
    inside(|_, traced| {
        let (listener, address) = listen("127.0.0.1");
        let mut clients: Vec<_> =
            (0..5).map(|_| TcpStream::connect(address).expect("there is room")).collect();
        clients.iter_mut().for_each(|client| client.write_all(&[7; 10]).expect("it is up"));
        traced.read();
        assert_eq!(traced.sum(Side::Passive, |_| true).up, 5, "{traced:?}");
        drop(listener);
        for client in &mut clients {
            client.read(&mut [0; 1]).expect_err("it was reset");
        }
        drop(clients);
        traced.read();
        let (active, passive) = traced.tcp(address);
        let expected = totals(5, 5, (50, 0));
        assert_eq!((active, passive), (expected, mirrored(expected)), "{traced:?}");
        assert!(traced.listeners.is_empty(), "{:?}", traced.listeners);
    });
}

#[test]
fn a_port_listens_until_the_last_of_its_listeners_ends() {
    inside(|_, traced| {
        let reusing = || {
            let socket =
                socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None);
            let socket = socket.expect("descriptors are free");
            sockopt::set_socket_reuseport(&socket, true).expect("it is a socket");
            bind(&socket, &at("127.0.0.1")).expect("it is shared");
            rustix::net::listen(&socket, 16).expect("it is bound");
            TcpListener::from(socket)
        };
        let (first, second) = (reusing(), reusing());
        let ports = |traced: &Traced| -> Vec<u16> {
            traced.listeners.iter().map(|listener| listener.port).collect()
        };
        traced.read();
        assert_eq!(ports(traced), [PORT]);
        drop(first);
        traced.read();
        assert_eq!(ports(traced), [PORT]);
        // Known before the next tracer too, which counts listeners anew.
        let mut later = Traced::open();
        let (client, server) = connect(&second, at("127.0.0.1"));
        close(client, server);
        drop(second);
        for traced in [traced, &mut later] {
            traced.read();
            assert_eq!(ports(traced), Vec::<u16>::new());
            let (active, passive) = traced.tcp(at("127.0.0.1"));
            assert_eq!((active, passive), (totals(1, 0, (0, 0)), totals(1, 0, (0, 0))));
        }
    });
}

#[test]
fn a_socket_that_is_used_again() {
    inside(|_, traced| {
        let (listener, address) = listen("127.0.0.1");
        let socket =
            socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        let socket: OwnedFd = socket.expect("descriptors are free");
        for round in 0..3 {
            rustix::net::connect(&socket, &address).expect("it listens");
            let (mut server, _) = listener.accept().expect("it was just opened");
            rustix::io::write(&socket, &[7; 10]).expect("it is up");
            server.read_exact(&mut [0; 10]).expect("it is up");
            if round == 1 {
                traced.read();
            }
            // To connect to nobody is to reset.
            connect_unspec(&socket).expect("it was connected");
            drop(server);
        }
        traced.read();
        let (active, passive) = traced.tcp(address);
        let expected = totals(3, 3, (30, 0));
        assert_eq!((active, passive), (expected, mirrored(expected)), "{traced:?}");
    });
}

/// Both ends of it are one socket, which opened it.
#[test]
fn a_connection_to_oneself() {
    inside(|_, traced| {
        let address = at("127.0.0.1");
        let socket =
            socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        let socket: OwnedFd = socket.expect("descriptors are free");
        bind(&socket, &address).expect("it is free");
        rustix::net::connect(&socket, &address).expect("to itself");
        let mut itself = TcpStream::from(socket);
        itself.write_all(&[7; 10]).expect("it is up");
        itself.read_exact(&mut [0; 10]).expect("it is up");
        traced.read();
        drop(itself);
        traced.read();
        let (active, passive) = traced.tcp(address);
        assert_eq!((active, passive), (totals(1, 0, (10, 10)), Totals::default()), "{traced:?}");
    });
}
