//! Two hosts for a test: network namespaces of its own, near and far, joined by a link.
//!
//! They end with their threads, whatever becomes of the test, and the link with them.

#![allow(dead_code, reason = "each file of tests uses a part of it")]

pub mod forge;
pub mod ways;

use std::{
    fs, io,
    net::{SocketAddr, TcpListener},
    process::Command,
    sync::mpsc::{self, Receiver, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use portolan_sys::netns;
use rustix::thread::gettid;

/// How long something is waited for that has to come.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The hardware address of the near end of the link.
pub const NEAR_MAC: [u8; 6] = [2, 0, 0, 0, 0x78, 1];

/// Runs a test on a thread of its own in a fresh network namespace that has loopback alone.
pub fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let inside = || {
        enter_fresh();
        test();
    };
    if let Err(panic) = thread::spawn(inside).join() {
        std::panic::resume_unwind(panic);
    }
}

/// Runs a test in the near namespace.
pub fn in_world(test: impl FnOnce(World) + Send + 'static) {
    in_namespace(|| test(World::new()));
}

fn enter_fresh() {
    netns::unshare_thread().expect("needs root, to make a network namespace");
    netns::loopback_up().unwrap();
    for (name, value) in [
        // As many errors as there is reason for, and connections that nobody accepts.
        ("ipv4/icmp_ratelimit", "0"),
        ("ipv4/icmp_ratemask", "0"),
        ("ipv6/icmp/ratelimit", "0"),
        ("ipv6/icmp/ratemask", "255"),
        ("core/somaxconn", "65535"),
        ("ipv4/tcp_max_syn_backlog", "65535"),
    ] {
        set(name, value);
    }
}

/// Sets a parameter of the network of this thread's namespace.
#[track_caller]
pub fn set(name: &str, value: &str) {
    if let Err(error) = fs::write(format!("/proc/sys/net/{name}"), value) {
        panic!("{name}: {error}");
    }
}

/// The far namespace, at the other end of a link: near is 10.78.0.1 and fd78::1, far is 2.
///
/// From near there is a way to 10.77.0.0/16, 10.81.0.0/16, 10.82.0.0/16 and, of IPv6, fd77::/64,
/// fd81::/16, fd82::/64, all by way of far, of which the hardware address is known; to nothing
/// else.
pub struct World {
    far: Sender<Box<dyn FnOnce() + Send>>,
    thread: Option<JoinHandle<()>>,
}

impl World {
    fn new() -> Self {
        let (far, work) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
        let (tell, told) = mpsc::channel();
        let thread = thread::spawn(move || {
            enter_fresh();
            tell.send(gettid().as_raw_nonzero()).unwrap();
            work.into_iter().for_each(|work| work());
        });
        let number = told.recv().expect("the far namespace is there");
        let world = Self { far, thread: Some(thread) };
        ip(&[
            &format!("link add near type veth peer name far netns {number}"),
            "link set near address 02:00:00:00:78:01",
            "address add 10.78.0.1/24 dev near",
            "address add fd78::1/64 dev near nodad",
            "link set near up",
        ]);
        world.run(|| {
            ip(&[
                "link set far address 02:00:00:00:78:02",
                "address add 10.78.0.2/24 dev far",
                "address add fd78::2/64 dev far nodad",
                "link set far up",
                "neighbour replace 10.78.0.1 lladdr 02:00:00:00:78:01 dev far nud permanent",
                "neighbour replace fd78::1 lladdr 02:00:00:00:78:01 dev far nud permanent",
            ]);
        });
        ip(&[
            "neighbour replace 10.78.0.2 lladdr 02:00:00:00:78:02 dev near nud permanent",
            "neighbour replace fd78::2 lladdr 02:00:00:00:78:02 dev near nud permanent",
            "route add 10.77.0.0/16 via 10.78.0.2",
            "route add 10.81.0.0/16 via 10.78.0.2",
            "route add 10.82.0.0/16 via 10.78.0.2",
            "route add fd77::/64 via fd78::2",
            "route add fd81::/16 via fd78::2",
            "route add fd82::/64 via fd78::2",
        ]);
        world
    }

    /// Does something in the far namespace; what it starts there stays there.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (tell, told) = mpsc::channel();
        let work = move || drop(tell.send(work()));
        self.far.send(Box::new(work)).expect("far is there");
        told.recv().expect("what far was told to do failed")
    }

    /// 10.77.0.0/16 and fd77::/64 are addresses of far, all of them.
    pub fn lives(&self) {
        self.run(|| {
            ip(&["route add local 10.77.0.0/16 dev lo", "route add local fd77::/64 dev lo"])
        });
    }

    /// Far forwards, and refuses or swallows:
    ///
    /// | network | what becomes of packets |
    /// |---|---|
    /// | 10.81.1.0/24, fd81:1::/64 | there is no such host |
    /// | 10.81.2.0/24, fd81:2::/64 | forbidden |
    /// | 10.81.3.0/24, fd81:3::/64 | there is no route |
    /// | 10.81.4.0/24, fd81:4::/64 | they go round until the hop limit is used up |
    /// | 10.82.0.0/16, fd82::/64 | nothing comes back |
    pub fn forwards(&self) {
        for name in ["all", "near"] {
            set(&format!("ipv4/conf/{name}/send_redirects"), "0");
        }
        set("ipv4/ip_forward", "1");
        set("ipv6/conf/all/forwarding", "1");
        // Its own packets come back in the loop.
        set("ipv4/conf/all/accept_local", "1");
        self.run(|| {
            for name in ["all", "far"] {
                set(&format!("ipv4/conf/{name}/send_redirects"), "0");
            }
            set("ipv4/ip_forward", "1");
            set("ipv6/conf/all/forwarding", "1");
            ip(&[
                "route add unreachable 10.81.1.0/24",
                "route add prohibit 10.81.2.0/24",
                "route add 10.81.4.0/24 via 10.78.0.1",
                "route add blackhole 10.82.0.0/16",
                "route add unreachable fd81:1::/64",
                "route add prohibit fd81:2::/64",
                "route add fd81:4::/64 via fd78::1",
                "route add blackhole fd82::/64",
            ]);
        });
    }

    /// Listens in the far namespace on a port of every address, and accepts nothing.
    pub fn listens(&self, port: u16) -> TcpListener {
        self.run(move || listener(SocketAddr::new("::".parse().unwrap(), port)))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Far ends before near does, so that no packet is under way to nowhere.
        let (far, _) = mpsc::channel();
        self.far = far;
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

/// A listener that does not wait, with a queue that no test fills.
pub fn listener(address: SocketAddr) -> TcpListener {
    let listener = TcpListener::bind(address).unwrap();
    rustix::net::listen(&listener, 65_535).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

/// Whether a connection waits to be accepted; takes it if so.
pub fn accepts(listener: &TcpListener) -> bool {
    match listener.accept() {
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
        Err(error) => panic!("{error}"),
    }
}

/// Runs commands of `ip` in the namespace of this thread; an address or route says its family.
#[track_caller]
pub fn ip(commands: &[&str]) {
    commands.iter().for_each(|command| run("ip", command));
}

/// Runs a program in the namespace of this thread.
#[track_caller]
pub fn run(program: &str, arguments: &str) {
    run_words(program, &arguments.split_whitespace().collect::<Vec<_>>());
}

/// The same for arguments with spaces in them.
#[track_caller]
pub fn run_words(program: &str, arguments: &[&str]) {
    let ran = Command::new(program).args(arguments).output();
    let ran = ran.unwrap_or_else(|error| panic!("needs {program} of iproute2: {error}"));
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{program} {arguments:?}: {said}");
}

/// Waits until something is so.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Packets that a device of this thread's namespace has sent.
pub fn packets_sent(device: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let counters = text.lines().find_map(|line| {
        let (name, counters) = line.split_once(':')?;
        (name.trim() == device).then_some(counters)
    });
    // After eight numbers of what was received come bytes and packets sent.
    counters.unwrap().split_whitespace().nth(9).unwrap().parse().unwrap()
}

/// A counter of TCP of this thread's namespace, both families together.
pub fn tcp_counter(name: &str) -> u64 {
    let file = |name| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap();
    let (snmp, netstat) = (file("snmp"), file("netstat"));
    let lines: Vec<_> = snmp.lines().chain(netstat.lines()).collect();
    // A line of names, and one of values.
    let mut pairs = lines
        .chunks(2)
        .filter(|pair| pair[0].starts_with("Tcp"))
        .flat_map(|pair| pair[0].split(' ').zip(pair[1].split(' ')));
    pairs.find(|(one, _)| *one == name).unwrap().1.parse().unwrap()
}

/// How many connections of this thread's namespace wait for an answer to their SYN.
pub fn half_open() -> usize {
    let count = |name| {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap();
        text.lines().filter(|line| line.split_whitespace().nth(3) == Some("02")).count()
    };
    count("tcp") + count("tcp6")
}

/// Does something on a thread again and again until it is told to end, or dropped.
pub struct Meanwhile<T> {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Meanwhile<T> {
    /// Starts it in the namespace of this thread; `work` returns when what it is given is closed.
    pub fn start(work: impl FnOnce(Stopped) -> T + Send + 'static) -> Self {
        let (stop, stopped) = mpsc::channel();
        let thread = Some(thread::spawn(|| work(Stopped(stopped))));
        Self { stop: Some(stop), thread }
    }

    /// Ends it; what it has to say.
    pub fn stop(mut self) -> T {
        self.stop = None;
        match self.thread.take().expect("it is ended once").join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl<T> Drop for Meanwhile<T> {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Tells whether it is time to end.
pub struct Stopped(Receiver<()>);

impl Stopped {
    pub fn now(&self) -> bool {
        matches!(self.0.try_recv(), Err(mpsc::TryRecvError::Disconnected))
    }
}
