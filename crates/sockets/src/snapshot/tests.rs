//! Whole readings, through the public interface only. The programs that are seen are processes of
//! their own, since a reading leaves out the observer.

use std::{
    collections::BTreeSet,
    fs,
    net::{TcpListener, TcpStream},
    sync::{Mutex, PoisonError},
};

use portolan_flow::{Bundle, End, Flow, Namespace, NetnsId, Transport};
use portolan_sys::netns;

use crate::{
    MethodName, Reading, Snapshot, SnapshotOptions,
    scene::{Program, eventually, in_own_namespace, run_in_own_namespace},
};

mod ephemeral;
mod events;
mod observers;
mod trouble;

/// Below the ephemeral ports.
const PORT: u16 = 7000;

/// By then a reading has looked up all owners again.
const READINGS_MAX: usize = 16;

/// Held by tests that read all namespaces: they count the readers of this process in one, which
/// would be each other's too.
static ALL_NAMESPACES: Mutex<()> = Mutex::new(());

fn alone_in_all_namespaces(work: impl FnOnce() + Send) {
    let _alone = ALL_NAMESPACES.lock().unwrap_or_else(PoisonError::into_inner);
    in_own_namespace(work);
}

/// A listing method, or the kernel's events.
type Way = Option<MethodName>;

const EVENTS: Way = None;
const DIAG: Way = Some(MethodName::Diag);

/// The two ways that differ in all that a snapshot does itself.
const BOTH: [Way; 2] = [EVENTS, DIAG];

fn all_ways() -> impl Iterator<Item = Way> {
    [EVENTS].into_iter().chain(MethodName::ALL.map(Some))
}

/// Runs `work` for both, each in a namespace of its own.
fn in_own_namespaces(work: impl Fn(Way) + Sync) {
    BOTH.into_iter().for_each(|way| in_own_namespace(|| work(way)));
}

fn open(way: Way, own_namespace_only: bool) -> Snapshot {
    let options = SnapshotOptions { method: way, own_namespace_only, again: true };
    let snapshot = Snapshot::open(options).expect("all ways work on every supported kernel");
    assert_eq!(snapshot.choice().is_none(), way == EVENTS, "{:?}", snapshot.unfollowed());
    snapshot
}

/// A server that says when it listens, accepts so many connections, and says that.
fn server(accepts: usize) -> Program {
    let mut server = Program::perl(&format!(
        "socket(L, PF_INET, SOCK_STREAM, 6); \
         bind(L, sockaddr_in({PORT}, INADDR_LOOPBACK)) or die; listen(L, 9); print qq(listens\\n); \
         for (1..{accepts}) {{ accept(my $c, L) or die; push @c, $c }} print qq(accepted\\n)"
    ));
    assert_eq!(server.line(), "listens");
    server
}

/// A client that says when it has opened so many connections.
fn client(connections: usize) -> Program {
    let mut client = Program::bash(&format!(
        "for _ in {{1..{connections}}}; do exec {{fd}}<>/dev/tcp/127.0.0.1/{PORT}; done; echo open"
    ));
    assert_eq!(client.line(), "open");
    client
}

fn both(connections: usize) -> (Program, Program) {
    let mut server = server(connections);
    let client = client(connections);
    assert_eq!(server.line(), "accepted");
    (client, server)
}

fn read(snapshot: &mut Snapshot) -> Reading {
    let reading = snapshot.read().expect("the own namespace is readable");
    assert_eq!(reading.coverage.skipped, 0);
    reading
}

/// The process behind an end: its name and its ids.
fn who(end: &End) -> (Option<&str>, &[u32]) {
    (end.owner.process().map(|process| &*process.name), end.pids.as_slice())
}

fn only(flows: &[Flow]) -> &Flow {
    assert_eq!(flows.len(), 1, "{flows:?}");
    &flows[0]
}

#[test]
fn connections_become_one_edge_between_two_processes() {
    in_own_namespace(|| {
        let (client, server) = both(5);
        for way in all_ways() {
            let reading = read(&mut open(way, true));
            let flow = only(&reading.bundle.flows);
            assert_eq!(who(&flow.client), (Some("bash"), &[client.pid()][..]), "{way:?}");
            assert_eq!(who(&flow.server), (Some("perl"), &[server.pid()][..]), "{way:?}");
            assert_eq!((flow.transport, flow.server_port), (Transport::Tcp, PORT));
            assert_eq!((flow.connections(), flow.side(), flow.guessed), (5, "both", false));
            assert!(flow.client.namespace.as_ref().is_some_and(|name| name.is_host()));
            let [listener] = &reading.bundle.listeners[..] else {
                panic!("one port listens: {:?}", reading.bundle.listeners)
            };
            assert_eq!((listener.port, who(&listener.end).0), (PORT, Some("perl")));
            assert_eq!(reading.coverage.rows, 11, "a listener and five connections");
            assert!(!reading.coverage.torn);
        }
    });
}

#[test]
fn a_connection_that_nobody_accepted_is_the_listeners() {
    in_own_namespace(|| {
        let server = server(0);
        let _client = client(2);
        for way in all_ways() {
            let reading = read(&mut open(way, true));
            let flow = only(&reading.bundle.flows);
            assert_eq!(who(&flow.server), (Some("perl"), &[server.pid()][..]), "{way:?}");
            assert_eq!(flow.connections(), 2);
        }
    });
}

#[test]
fn a_datagram_socket_with_a_peer_is_an_edge() {
    in_own_namespace(|| {
        let mut server = Program::perl(
            "socket(L, PF_INET, SOCK_DGRAM, 17); \
             bind(L, sockaddr_in(5300, INADDR_LOOPBACK)) or die; print qq(bound\\n)",
        );
        assert_eq!(server.line(), "bound");
        let mut client = Program::bash("exec 3<>/dev/udp/127.0.0.1/5300; echo open");
        assert_eq!(client.line(), "open");
        for way in all_ways() {
            let reading = read(&mut open(way, true));
            let flow = only(&reading.bundle.flows);
            assert_eq!((flow.transport, flow.server_port), (Transport::Udp, 5300), "{way:?}");
            assert_eq!(who(&flow.client), (Some("bash"), &[client.pid()][..]));
            assert_eq!(who(&flow.server), (Some("perl"), &[server.pid()][..]));
            assert_eq!(reading.bundle.listeners.len(), 1);
        }
    });
}

#[test]
fn the_observer_is_not_part_of_what_it_observes() {
    in_own_namespaces(|way| {
        let own = TcpListener::bind("127.0.0.1:7117").expect("free");
        let _one = TcpStream::connect("127.0.0.1:7117").expect("connected");
        let _other = own.accept().expect("accepted");
        let mut visitor = Program::bash("exec 3<>/dev/tcp/127.0.0.1/7117; echo open");
        assert_eq!(visitor.line(), "open");
        let bundle = read(&mut open(way, true)).bundle;
        assert_eq!(bundle, Bundle::default());
    });
}

#[test]
fn readings_follow_what_changes() {
    in_own_namespaces(|way| {
        let server = server(0);
        let mut snapshot = open(way, true);
        assert_eq!(read(&mut snapshot).bundle.flows, []);
        let one = client(1);
        assert_eq!(who(&only(&read(&mut snapshot).bundle.flows).client).1, [one.pid()]);
        let other = client(2);
        let bundle = read(&mut snapshot).bundle;
        let pids = BTreeSet::from([one.pid(), other.pid()]);
        let flow = only(&bundle.flows);
        assert_eq!(flow.client.pids.as_slice().iter().copied().collect::<BTreeSet<_>>(), pids);
        assert_eq!(flow.connections(), 3);
        drop((one, other, server));
        assert_eq!(read(&mut snapshot).bundle.listeners, []);
    });
}

#[test]
fn a_socket_that_was_handed_on_gets_its_new_owner_in_time() {
    in_own_namespaces(|way| {
        // The parent closes the listener when it is told to; the child keeps it.
        let mut parent = Program::perl(&format!(
            "socket(L, PF_INET, SOCK_STREAM, 6); \
             bind(L, sockaddr_in({PORT}, INADDR_LOOPBACK)) or die; listen(L, 9); my $p = $$; \
             if (my $c = fork) {{ print qq($c\\n); <STDIN>; close L; print qq(closed\\n) }} \
             else {{ select(undef, undef, undef, 0.01) while getppid() == $p; exit }}"
        ));
        let child: u32 = parent.line().parse().expect("a process id");
        let mut snapshot = open(way, true);
        let holder = |snapshot: &mut Snapshot| {
            let listeners = read(snapshot).bundle.listeners;
            listeners[0].end.pids.as_slice().to_vec()
        };
        assert_eq!(holder(&mut snapshot), [parent.pid().min(child)]);
        parent.tell();
        assert_eq!(parent.line(), "closed");
        let readings = (0..READINGS_MAX).map(|_| holder(&mut snapshot));
        assert_eq!(readings.last(), Some(vec![child]));
    });
}

/// The two programs in a namespace of their own, and its inode number.
fn elsewhere() -> (NetnsId, (Program, Program)) {
    run_in_own_namespace(|| {
        let programs = both(3);
        (netns::current().expect("/proc is mounted"), programs)
    })
}

/// The flows and the number of listeners in a namespace, by its name.
fn within(reading: &Reading, name: &Namespace) -> (Vec<Flow>, usize) {
    let is_inside = |end: &End| end.namespace.as_ref() == Some(name);
    let flows = reading.bundle.flows.iter().filter(|flow| is_inside(&flow.server)).cloned();
    let listeners = reading.bundle.listeners.iter().filter(|listener| is_inside(&listener.end));
    (flows.collect(), listeners.count())
}

#[test]
fn other_namespaces_are_read_and_let_go() {
    alone_in_all_namespaces(|| {
        for way in all_ways() {
            let mut snapshot = open(way, false);
            snapshot.read().expect("the own namespace is readable");
            let (netns, programs) = elsewhere();
            let name = Namespace::new(&format!("netns:{netns}"));
            let (flows, listeners) = within(&read(&mut snapshot), &name);
            let flow = only(&flows);
            let (client, server) = &programs;
            assert_eq!(who(&flow.client), (Some("bash"), &[client.pid()][..]), "{way:?}");
            assert_eq!(who(&flow.server), (Some("perl"), &[server.pid()][..]), "{way:?}");
            assert_eq!((flow.client.namespace.as_ref(), flow.connections()), (Some(&name), 3));
            assert_eq!(listeners, 1);

            // A netlink socket of ours inside would keep the namespace alive.
            let ours: Vec<u64> = netlink_sockets(server.pid()).filter(is_ours).collect();
            let by_netlink = [EVENTS, DIAG, Some(MethodName::Walk)].contains(&way);
            assert_eq!(!ours.is_empty(), by_netlink, "{way:?}");
            drop(programs);
            let reading = read(&mut snapshot);
            assert_eq!(within(&reading, &name), (vec![], 0), "{way:?}");
            assert!(!ours.iter().any(is_ours), "{way:?} keeps a namespace that ended");
        }
    });
}

#[test]
fn a_released_namespace_ends_and_one_that_goes_on_is_read_again() {
    BOTH.into_iter().for_each(|way| {
        alone_in_all_namespaces(|| {
            let mut snapshot = open(way, false);
            let (netns, (client, server)) = elsewhere();
            let name = Namespace::new(&format!("netns:{netns}"));
            assert_eq!(within(&read(&mut snapshot), &name).1, 1);
            let ours: Vec<u64> = netlink_sockets(server.pid()).filter(is_ours).collect();
            assert!(!ours.is_empty());
            snapshot.release();
            assert!(!ours.iter().any(is_ours), "nothing of ours keeps the namespace");
            assert_eq!(within(&read(&mut snapshot), &name).1, 1);
            drop((client, server));
        })
    });
}

#[test]
fn a_namespace_outlives_the_process_that_it_was_found_by() {
    alone_in_all_namespaces(|| {
        for way in all_ways() {
            let mut snapshot = open(way, false);
            // The first process has the lower id, so it is found first.
            let (netns, (client, server)) = run_in_own_namespace(|| {
                let first = Program::bash("");
                (netns::current().expect("/proc is mounted"), (first, server(0)))
            });
            let name = Namespace::new(&format!("netns:{netns}"));
            assert_eq!(within(&read(&mut snapshot), &name).1, 1, "{way:?}");
            drop(client);
            assert_eq!(within(&read(&mut snapshot), &name).1, 1, "{way:?}");
            drop(server);
        }
    });
}

#[test]
fn other_namespaces_are_not_read_where_that_is_not_wanted() {
    in_own_namespaces(|way| {
        let (netns, _programs) = elsewhere();
        let reading = read(&mut open(way, true));
        let name = Namespace::new(&format!("netns:{netns}"));
        assert_eq!(within(&reading, &name), (vec![], 0));
        assert_eq!(reading.bundle, Bundle::default());
    });
}

/// The inode numbers of the netlink sockets in the namespace of a process.
fn netlink_sockets(pid: u32) -> impl Iterator<Item = u64> {
    let table = fs::read_to_string(format!("/proc/{pid}/net/netlink")).expect("it runs");
    let inodes: Vec<u64> = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split_ascii_whitespace().last()?.parse().ok())
        .collect();
    inodes.into_iter()
}

/// Whether this process holds the socket.
fn is_ours(inode: &u64) -> bool {
    let link = format!("socket:[{inode}]");
    let descriptors = fs::read_dir("/proc/self/fd").expect("/proc is mounted").flatten();
    let mut links = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.any(|found| found.to_str() == Some(&link))
}
