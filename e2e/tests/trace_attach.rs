//! What was up before the tracer, what came up while it attached, and what came after.

use std::{
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use portolan_e2e::{
    World,
    traced::{Side, Traced, attach, close, connect, mirrored, move_bytes, timeless},
};
use portolan_flow::Totals;
use portolan_trace::Attach;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

fn listen(address: &str) -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((address, 7100)).expect("all is ours");
    let address = listener.local_addr().expect("it listens");
    (listener, address)
}

/// How far an end has got: what was begun is at least what was done.
#[derive(Debug, Default)]
struct Progress {
    begun: AtomicU64,
    done: AtomicU64,
    is_over: AtomicBool,
}

impl Progress {
    fn step(&self, work: impl FnOnce()) {
        self.begun.fetch_add(1, SeqCst);
        work();
        self.done.fetch_add(1, SeqCst);
    }

    /// What came after, given what was done before and what was begun when it was attached.
    fn since(&self, before: u64, after: u64) -> Range {
        let whole = self.done.load(SeqCst);
        Range { least: whole - after, most: whole - before }
    }
}

/// A connection over which 10 bytes go there and 20 come back, again and again.
fn busy(listener: &TcpListener, to: SocketAddr, progress: &Arc<Progress>) -> JoinHandle<()> {
    let (client, server) = connect(listener, to);
    let progress = Arc::clone(progress);
    thread::spawn(move || {
        while !progress.is_over.load(SeqCst) {
            progress.step(|| {
                move_bytes(&client, &server, 10);
                move_bytes(&server, &client, 20);
            });
        }
        close(client, server);
    })
}

/// Connections that come and go, again and again: each sends 10 bytes and gets 20.
fn churning(listener: TcpListener, to: SocketAddr, progress: &Arc<Progress>) -> JoinHandle<()> {
    let progress = Arc::clone(progress);
    thread::spawn(move || {
        while !progress.is_over.load(SeqCst) {
            progress.step(|| {
                let (client, server) = connect(&listener, to);
                move_bytes(&client, &server, 10);
                move_bytes(&server, &client, 20);
                close(client, server);
            });
        }
    })
}

/// What the client's end counts of so many that came and went.
fn passed_by(count: u64) -> Totals {
    Totals {
        opened: count,
        closed: count,
        bytes_sent: 10 * count,
        bytes_received: 20 * count,
        ..Totals::default()
    }
}

/// Each end with how many bytes it sends and gets at a time.
fn both_ways((active, passive): (Totals, Totals)) -> [(Totals, u64, u64); 2] {
    [(active, 10, 20), (passive, 20, 10)]
}

/// How often something happened since a tracer attached, which took a while.
struct Range {
    least: u64,
    most: u64,
}

impl Range {
    /// By the control group nobody tells the end of connections from before, unless another tracer
    /// has asked for it: what they moved after the last reading is missing.
    fn of_before(self) -> Self {
        let is_told = attach() != Some(Attach::Cgroup);
        Self { least: if is_told { self.least } else { 0 }, ..self }
    }

    fn holds(&self, counted: u64, each: u64, what: &str) {
        let Self { least, most } = self;
        assert!(
            (least * each..=most * each).contains(&counted),
            "{what}: {counted}, not {least} to {most} times {each}"
        );
    }
}

#[test]
fn before_while_and_after_it_attaches() {
    let world = World::new();
    for round in 0..3 {
        world.host.enter(|| {
            let (idle, idle_at) = listen("127.0.0.1");
            let (lively, lively_at) = listen("127.0.0.2");
            let (passing, passing_at) = listen("127.0.0.3");
            let (fresh, fresh_at) = listen("127.0.0.4");
            let pairs: Vec<_> = (0..20).map(|_| connect(&idle, idle_at)).collect();
            pairs.iter().for_each(|(client, server)| move_bytes(client, server, 1_000));
            let (talk, churn) = (Arc::<Progress>::default(), Arc::<Progress>::default());
            let talking: Vec<_> = (0..4).map(|_| busy(&lively, lively_at, &talk)).collect();
            let coming = churning(passing, passing_at, &churn);
            thread::sleep(Duration::from_millis(20));

            let before = [&talk, &churn].map(|progress| progress.done.load(SeqCst));
            let mut traced = Traced::open();
            let after = [&talk, &churn].map(|progress| progress.begun.load(SeqCst));

            for (client, server) in &pairs {
                move_bytes(client, server, 10);
                move_bytes(server, client, 30);
            }
            let own = Arc::<Progress>::default();
            let later = churning(fresh, fresh_at, &own);
            for _ in 0..10 {
                thread::sleep(Duration::from_millis(20));
                traced.read();
                assert_eq!(traced.sum(Side::Active, |half| half.server == idle_at).up, 20);
                assert_eq!(traced.sum(Side::Passive, |half| half.server == lively_at).up, 4);
            }
            for progress in [&talk, &churn, &own] {
                progress.is_over.store(true, SeqCst);
            }
            talking.into_iter().chain([coming, later]).for_each(|all| all.join().expect("it ends"));
            pairs.into_iter().for_each(|(client, server)| close(client, server));
            traced.read();
            traced.assert_whole();

            let (active, passive) = traced.tcp(idle_at);
            let expected =
                Totals { closed: 20, bytes_sent: 200, bytes_received: 600, ..Totals::default() };
            assert_eq!((active, passive), (expected, mirrored(expected)), "round {round}");

            let ended = own.done.load(SeqCst);
            let (active, passive) = traced.tcp(fresh_at);
            let expected = passed_by(ended);
            assert_eq!((active, passive), (expected, mirrored(expected)), "round {round}");

            let talked = talk.since(before[0], after[0]).of_before();
            for (end, there, back) in both_ways(traced.tcp(lively_at)) {
                assert_eq!((end.opened, end.closed, end.resets), (0, 4, 0), "{traced:?}");
                talked.holds(end.bytes_sent, there, "sent");
                talked.holds(end.bytes_received, back, "received");
            }
            let passed = churn.since(before[1], after[1]);
            for (end, there, back) in both_ways(traced.tcp(passing_at)) {
                passed.holds(end.opened, 1, "opened");
                passed.holds(end.closed, 1, "closed");
                passed.holds(end.bytes_sent, there, "sent by passers-by");
                passed.holds(end.bytes_received, back, "received by passers-by");
            }
            let name = traced.processes(Side::Active, idle_at);
            assert!(!name.contains(&None), "found by its descriptor: {traced:?}");
        });
    }
}

/// Its SYN was sent before; that it came up, and all the rest, is seen.
#[test]
fn a_handshake_that_was_under_way() {
    let world = World::new();
    world.host.enter(|| {
        let (listener, address) = listen("127.0.0.1");
        rustix::net::listen(&listener, 0).expect("it listens already");
        let waiting = TcpStream::connect(address).expect("there is room for one");
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None);
        let socket = socket.expect("descriptors are free");
        let error = rustix::net::connect(&socket, &address).expect_err("there is no room");
        assert_eq!(error, rustix::io::Errno::INPROGRESS);

        let mut traced = Traced::open();
        let first = listener.accept().expect("it waits").0;
        // After a second the kernel asks again.
        let (server, _) = listener.accept().expect("it is asked again");
        let client = TcpStream::from(socket);
        client.set_nonblocking(false).expect("it is ours");
        move_bytes(&client, &server, 10);
        traced.read();
        assert_eq!(traced.sum(Side::Active, |half| half.server == address).up, 2, "{traced:?}");
        move_bytes(&server, &client, 20);
        close(client, server);
        close(waiting, first);
        traced.read();
        let (active, passive) = traced.tcp(address);
        let expected = Totals {
            opened: 1,
            closed: 2,
            bytes_sent: 10,
            bytes_received: 20,
            ..Totals::default()
        };
        let active = Totals { retransmits: 0, ..active };
        assert_eq!((active, passive), (expected, mirrored(expected)), "{traced:?}");
        assert!(!traced.processes(Side::Active, address).contains(&None), "{traced:?}");
        assert!(timeless(active).failed() == 0);
    });
}

/// Nothing but a descriptor tells whose they are: bound and connected before, and one says nothing.
#[test]
fn datagrams_between_sockets_of_before() {
    let world = World::new();
    world.host.enter(|| {
        let receiver = UdpSocket::bind("127.0.0.1:7433").expect("all is ours");
        let address = receiver.local_addr().expect("it is bound");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("all is ours");
        sender.connect(address).expect("it is there");
        let mut traced = Traced::open();
        for _ in 0..3 {
            sender.send(&[7; 10]).expect("it is there");
            receiver.recv(&mut [0; 20]).expect("it was sent");
        }
        traced.read();
        for (side, datagrams) in [(Side::Active, (3, 0)), (Side::Passive, (0, 3))] {
            let counted = traced.sum(side, |half| half.server == address).totals;
            let counted = (counted.datagrams_sent, counted.datagrams_received);
            assert_eq!(counted, datagrams, "{traced:?}");
            assert!(!traced.processes(side, address).contains(&None), "{traced:?}");
        }
    });
}
