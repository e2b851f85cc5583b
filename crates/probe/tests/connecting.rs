//! The methods with the kernel's sockets against the real kernel, each test in a network namespace
//! of its own.

use std::{
    env, fs, io,
    net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream},
    os::fd::{AsRawFd, OwnedFd},
    process::Command,
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::{Duration, Instant},
};

use portolan_probe::{
    Answer, Asked, Connecting, Evidence, Id, Method, MethodName, Reason, Verdict,
};
use portolan_sys::{limits, netns};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, recv, sendto,
        socket_with, sockopt,
    },
    process::{Resource, Rlimit, getrlimit, setrlimit},
    thread::gettid,
};

const METHODS: [MethodName; 3] = [MethodName::Connect, MethodName::Linger, MethodName::Quiet];
const OPEN: (Verdict, Evidence) = (Verdict::Open, Evidence::SynAck);
const CLOSED: (Verdict, Evidence) = (Verdict::Closed, Evidence::Reset);

#[test]
fn open_and_closed_over_both_families() {
    in_namespace(|| {
        for address in ["127.0.0.1", "::1"] {
            let open = listener(address, 80);
            let shut = SocketAddr::new(open.ip(), 81);
            let mapped = SocketAddr::new("::ffff:127.0.0.1".parse().unwrap(), 80);
            for name in METHODS {
                let mut method = Connecting::new(name).unwrap();
                assert_eq!(at_once(&mut method, open.target), OPEN, "{name:?} {address}");
                assert_eq!(at_once(&mut method, shut), CLOSED, "{name:?} {address}");
                if address == "127.0.0.1" {
                    assert_eq!(at_once(&mut method, mapped), OPEN, "{name:?}, IPv4-mapped");
                }
                assert_eq!(sockets_open(), 1, "only the listener's");
            }
        }
    });
}

#[test]
fn answers_that_come_later_are_heard_of_through_the_descriptor() {
    in_namespace(|| {
        for name in METHODS {
            let (becomes_open, goes) = (Silent::new("127.0.0.1", 80), Silent::new("::1", 81));
            let mut method = Connecting::new(name).unwrap();
            assert_eq!(method.ask(Id(4), becomes_open.target, 0), Asked::Sent);
            assert_eq!(method.ask(Id(9), goes.target, 0), Asked::Sent);
            method.hear(&mut |_, answer| panic!("{answer:?}")).unwrap();
            // The kernel repeats the SYN after a second.
            becomes_open.make_room();
            drop(goes);
            let mut answers = answers(&mut method, 2);
            answers.sort_by_key(|(id, _)| id.0);
            let summary: Vec<_> =
                answers.iter().map(|(id, it)| (id.0, (it.verdict, it.evidence))).collect();
            assert_eq!(summary, [(4, OPEN), (9, CLOSED)], "{name:?}");
            assert_eq!(sockets_open(), Silent::SOCKETS, "closed when answered, not when forgotten");
            let accepted = becomes_open.accepted();
            assert_eq!(accepted, name != MethodName::Quiet, "{name:?}");
        }
    });
}

#[test]
fn segments_per_check_are_six_four_and_three() {
    for (name, segments) in METHODS.into_iter().zip([6, 4, 3]) {
        in_namespace(move || {
            const CHECKS: u64 = 200;
            let server = listener("127.0.0.1", 80);
            let mut method = Connecting::new(name).unwrap();
            let (before, passive) = (counter("OutSegs"), counter("PassiveOpens"));
            let mut accepted = 0;
            for _ in 0..CHECKS {
                assert_eq!(at_once(&mut method, server.target), OPEN);
                accepted += u64::from(server.accept().is_some());
            }
            let expected = CHECKS * segments;
            let deadline = Instant::now() + PATIENCE;
            while counter("OutSegs") - before < expected && Instant::now() < deadline {
                thread::yield_now();
            }
            let sent = counter("OutSegs") - before;
            if name == MethodName::Connect {
                // The server acknowledges the FIN along with its own, unless this thread had to
                // wait for a processor for 40 ms in between (TCP_DELACK_MIN).
                assert!((expected..=expected + CHECKS).contains(&sent), "{sent}");
            } else {
                assert_eq!(sent, expected, "{name:?}");
            }
            let seen = if name == MethodName::Quiet { 0 } else { CHECKS };
            assert_eq!(accepted, seen, "{name:?}");
            assert_eq!(counter("PassiveOpens") - passive, seen, "{name:?}");
        });
    }
}

#[test]
fn the_last_acknowledgement_is_not_sent_late_either() {
    in_namespace(|| {
        let server = listener("127.0.0.1", 80);
        let mut method = Connecting::new(MethodName::Quiet).unwrap();
        let before = counter("OutSegs");
        assert_eq!(at_once(&mut method, server.target), OPEN);
        // Twice TCP_DELACK_MAX.
        thread::sleep(Duration::from_millis(400));
        assert_eq!(counter("OutSegs") - before, 3);
        assert!(server.accept().is_none());
    });
}

#[test]
fn routes_of_this_host_that_refuse() {
    in_namespace(|| {
        for route in ["unreachable 10.9.1.0/24", "prohibit 10.9.2.0/24", "blackhole 10.9.3.0/24"] {
            ip(&format!("route add {route}"));
        }
        for route in ["unreachable fd09:1::/64", "prohibit fd09:2::/64", "blackhole fd09:3::/64"] {
            ip(&format!("-6 route add {route}"));
        }
        let refused = |reason, errno: Errno| {
            (Verdict::Unreachable(reason), Evidence::Refusal(errno.raw_os_error()))
        };
        let unscoped = Errno::INVAL.raw_os_error();
        let cases = [
            ("10.9.1.1:80", refused(Reason::Host, Errno::HOSTUNREACH)),
            ("10.9.2.1:80", refused(Reason::Prohibited, Errno::ACCESS)),
            ("10.9.3.1:80", refused(Reason::Prohibited, Errno::INVAL)),
            ("10.9.4.1:80", refused(Reason::Network, Errno::NETUNREACH)),
            ("255.255.255.255:80", refused(Reason::Network, Errno::NETUNREACH)),
            ("127.255.255.255:80", refused(Reason::Network, Errno::NETUNREACH)),
            ("[fd09:1::1]:80", refused(Reason::Host, Errno::HOSTUNREACH)),
            ("[fd09:2::1]:80", refused(Reason::Prohibited, Errno::ACCESS)),
            ("[fd09:3::1]:80", refused(Reason::Prohibited, Errno::INVAL)),
            ("[fd09:4::1]:80", refused(Reason::Network, Errno::NETUNREACH)),
            ("[fe80::1]:80", (Verdict::Error(unscoped), Evidence::Refusal(unscoped))),
        ];
        for name in METHODS {
            let mut method = Connecting::new(name).unwrap();
            for (target, expected) in cases {
                let target = target.parse().unwrap();
                assert_eq!(at_once(&mut method, target), expected, "{name:?} {target}");
            }
            assert_eq!(sockets_open(), 0);
        }
    });
}

#[test]
fn a_router_that_refuses_is_told_from_the_host() {
    // A router each: it sends five messages in a row, then one a second (ip_error in
    // net/ipv4/route.c).
    for name in METHODS {
        in_namespace(move || behind_a_router(name));
    }
}

fn behind_a_router(name: MethodName) {
    let router = Router::new();
    for route in ["unreachable 10.9.1.0/24", "prohibit 10.9.2.0/24"] {
        router.ip(&format!("route add {route}"));
    }
    for route in ["unreachable fd09:1::/64", "prohibit fd09:2::/64"] {
        router.ip(&format!("-6 route add {route}"));
    }
    // There and back again until the hop limit is used up.
    router.ip("route add 10.9.4.0/24 via 10.7.0.1");
    router.ip("-6 route add fd09:4::/64 via fd07::1");
    ip("route add default via 10.7.0.2");
    ip("-6 route add default via fd07::2");
    forward();
    let icmp = |reason, kind, code| (Verdict::Unreachable(reason), Evidence::Icmp { kind, code });
    let cases = [
        ("10.9.1.1:80", icmp(Reason::Host, 3, 1)),
        ("10.9.2.1:80", icmp(Reason::Prohibited, 3, 13)),
        ("10.9.3.1:80", icmp(Reason::Network, 3, 0)),
        ("10.9.4.1:80", icmp(Reason::HopLimit, 11, 0)),
        ("[fd09:1::1]:80", icmp(Reason::Network, 1, 0)),
        ("[fd09:2::1]:80", icmp(Reason::Prohibited, 1, 1)),
        ("[fd09:3::1]:80", icmp(Reason::Network, 1, 0)),
        ("[fd09:4::1]:80", icmp(Reason::HopLimit, 3, 0)),
        ("10.7.0.2:80", CLOSED),
        ("[fd07::2]:80", CLOSED),
    ];
    let mut method = Connecting::new(name).unwrap();
    for (target, expected) in cases {
        let target = target.parse().unwrap();
        assert_eq!(check(&mut method, target), expected, "{name:?} {target}");
        // The message comes while connect(2) still runs: none has to come again.
        assert_eq!(counter("RetransSegs"), 0, "{name:?} {target}");
    }
    assert_eq!(sockets_open(), 0);
}

#[test]
fn a_neighbour_that_nobody_is() {
    in_namespace(|| {
        let _router = Router::new();
        fs::write("/proc/sys/net/ipv4/neigh/v0/retrans_time_ms", "20").unwrap();
        fs::write("/proc/sys/net/ipv6/neigh/v0/retrans_time_ms", "20").unwrap();
        let mut method = Connecting::new(MethodName::Quiet).unwrap();
        let nobody =
            |kind, code| (Verdict::Unreachable(Reason::Host), Evidence::Icmp { kind, code });
        // This host's kernel sends the message, to itself.
        assert_eq!(check(&mut method, "10.7.0.77:80".parse().unwrap()), nobody(3, 1));
        assert_eq!(check(&mut method, "[fd07::77]:80".parse().unwrap()), nobody(1, 3));
    });
}

#[test]
fn every_icmp_message_that_ends_a_handshake() {
    in_namespace(|| {
        let icmp =
            |reason, kind, code| (Verdict::Unreachable(reason), Evidence::Icmp { kind, code });
        let odd = |kind, code| {
            (Verdict::Error(Errno::PROTO.raw_os_error()), Evidence::Icmp { kind, code })
        };
        use Reason::{HopLimit, Host, Network, Port, Prohibited, Protocol};
        let v4 = [Network, Host, Protocol, Port, Port, Host, Network, Host]
            .into_iter()
            .chain([Network, Prohibited, Prohibited, Network, Host, Prohibited])
            .chain([Prohibited, Prohibited]);
        let v4 = (0..).zip(v4).filter(|(code, _)| *code != 4);
        let mut v4: Vec<_> = v4.map(|(code, reason)| icmp(reason, 3, code)).collect();
        v4.extend([icmp(HopLimit, 11, 0), odd(12, 0)]);
        let v6 = (0..).zip([Network, Prohibited, Network, Host, Port, Prohibited, Prohibited]);
        let mut v6: Vec<_> = v6.map(|(code, reason)| icmp(reason, 1, code)).collect();
        v6.extend([icmp(HopLimit, 3, 0), icmp(Protocol, 4, 1), odd(4, 0)]);
        for (address, cases) in [("127.0.0.1", v4), ("::1", v6)] {
            let silent = Silent::new(address, 80);
            let mut method = Connecting::new(MethodName::Quiet).unwrap();
            for expected in cases {
                let Evidence::Icmp { kind, code } = expected.1 else { unreachable!() };
                assert_eq!(method.ask(Id(0), silent.target, 0), Asked::Sent);
                silent.refuse(&silent.syn(), kind, code);
                let (_, answer) = answers(&mut method, 1)[0];
                assert_eq!((answer.verdict, answer.evidence), expected);
                assert_eq!(answer.attempt, Some(0));
            }
        }
    });
}

#[test]
fn an_icmp_message_that_refuses_nothing_is_no_answer() {
    in_namespace(|| {
        let silent = Silent::new("127.0.0.1", 80);
        let mut method = Connecting::new(MethodName::Linger).unwrap();
        assert_eq!(method.ask(Id(0), silent.target, 0), Asked::Sent);
        let syn = silent.syn();
        silent.refuse(&syn, 3, 4);
        method.hear(&mut |_, answer| panic!("{answer:?}")).unwrap();
        silent.refuse(&syn, 3, 13);
        assert_eq!(answers(&mut method, 1)[0].1.evidence, Evidence::Icmp { kind: 3, code: 13 });
    });
}

#[test]
fn an_ipv4_mapped_target_is_refused_by_icmp_of_ipv4() {
    in_namespace(|| {
        let silent = Silent::new("127.0.0.1", 80);
        let mut method = Connecting::new(MethodName::Quiet).unwrap();
        let mapped = SocketAddr::new("::ffff:127.0.0.1".parse().unwrap(), 80);
        assert_eq!(method.ask(Id(0), mapped, 0), Asked::Sent);
        silent.refuse(&silent.syn(), 3, 13);
        assert_eq!(answers(&mut method, 1)[0].1.evidence, Evidence::Icmp { kind: 3, code: 13 });
    });
}

#[test]
fn answers_to_several_questions_are_one() {
    in_namespace(|| {
        let silent = Silent::new("127.0.0.1", 80);
        let mut method = Connecting::new(MethodName::Quiet).unwrap();
        let syns: Vec<_> = (0..3)
            .map(|attempt| {
                assert_eq!(method.ask(Id(5), silent.target, attempt), Asked::Sent);
                silent.syn()
            })
            .collect();
        assert_eq!(sockets_open(), 3 + Silent::SOCKETS);
        for syn in &syns {
            silent.refuse(syn, 3, 13);
        }
        let mut heard = answers(&mut method, 1);
        method.hear(&mut |id, answer| heard.push((id, answer))).unwrap();
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert_eq!(sockets_open(), Silent::SOCKETS);
        // The place is used again at once, for something else.
        let other = listener("127.0.0.1", 1080);
        assert_eq!(at_once(&mut method, other.target), OPEN);
        assert_eq!(method.ask(Id(5), silent.target, 0), Asked::Sent);
        method.hear(&mut |_, answer| panic!("{answer:?}")).unwrap();
    });
}

#[test]
fn a_later_question_may_be_the_one_that_is_answered() {
    in_namespace(|| {
        let silent = Silent::new("127.0.0.1", 80);
        let mut method = Connecting::new(MethodName::Quiet).unwrap();
        assert_eq!(method.ask(Id(5), silent.target, 0), Asked::Sent);
        silent.make_room();
        // The first SYN was lost; the kernel would repeat it after a second.
        let asked = method.ask(Id(5), silent.target, 1);
        let answer = Answer { verdict: OPEN.0, evidence: OPEN.1, attempt: Some(1) };
        assert_eq!(asked, Asked::Answered(answer));
        assert_eq!(sockets_open(), Silent::SOCKETS, "the first question is over as well");
    });
}

#[test]
fn at_most_sixteen_questions_about_a_check() {
    in_namespace(|| {
        swallow();
        let mut method = Connecting::new(MethodName::Quiet).unwrap();
        for attempt in 0..=u8::MAX {
            assert_eq!(method.ask(Id(0), "10.8.0.9:80".parse().unwrap(), attempt), Asked::Sent);
        }
        assert_eq!(sockets_open(), 16);
        method.forget(Id(0));
        assert_eq!(sockets_open(), 0);
    });
}

#[test]
fn silence_is_silence_once_every_question_has_met_it() {
    in_namespace(|| {
        swallow();
        fs::write("/proc/sys/net/ipv4/tcp_syn_retries", "1").unwrap();
        let mut method = Connecting::new(MethodName::Quiet).unwrap();
        let target = "10.8.0.9:80".parse().unwrap();
        assert_eq!(method.ask(Id(0), target, 0), Asked::Sent);
        // So that the second is the last that the kernel gives up.
        thread::sleep(Duration::from_secs(1));
        assert_eq!(method.ask(Id(0), target, 1), Asked::Sent);
        let heard = answers(&mut method, 1);
        assert_eq!(heard[0].1.attempt, Some(1));
        let answer = (heard[0].1.verdict, heard[0].1.evidence);
        assert_eq!(answer, (Verdict::Filtered, Evidence::Silence));
        assert_eq!(sockets_open(), 0, "both timed out before it was said");
        method.hear(&mut |_, answer| panic!("{answer:?}")).unwrap();
    });
}

#[test]
fn a_thousand_forgotten_checks_leave_nothing() {
    in_namespace(|| {
        swallow();
        let _ = limits::raise_descriptors();
        for name in METHODS {
            let mut method = Connecting::new(name).unwrap();
            for round in 0..3 {
                for id in 0..1_000 {
                    let target = SocketAddr::new([10, 8, 1, (id % 250) as u8].into(), 80);
                    assert_eq!(method.ask(Id(id), target, 0), Asked::Sent, "round {round}");
                }
                assert_eq!(sockets_open(), 1_000);
                method.hear(&mut |_, answer| panic!("{answer:?}")).unwrap();
                (0..1_000).for_each(|id| method.forget(Id(id)));
                assert_eq!(sockets_open(), 0);
            }
        }
    });
}

#[test]
fn meeting_itself_is_no_open_port() {
    in_namespace(|| {
        fs::write("/proc/sys/net/ipv4/ip_local_port_range", "40000 40001").unwrap();
        for address in ["127.0.0.1", "::1"] {
            let target = SocketAddr::new(address.parse().unwrap(), 40_000);
            let itself =
                TcpStream::connect(target).expect("that it meets itself is what is tested");
            assert_eq!(itself.local_addr().unwrap(), target);
            reset(itself);
            // connect last: it leaves TIME-WAIT, and then the kernel takes the other port.
            for name in METHODS.into_iter().rev() {
                let mut method = Connecting::new(name).unwrap();
                for _ in 0..20 {
                    assert_eq!(check(&mut method, target), CLOSED, "{name:?} {target}");
                }
            }
        }
        // A listener in that range is open all the same.
        let server = listener("127.0.0.1", 40_001);
        let mut method = Connecting::new(MethodName::Quiet).unwrap();
        assert_eq!(at_once(&mut method, server.target), OPEN);
    });
}

#[test]
fn no_port_left_is_busy_while_others_will_give_theirs_back() {
    in_namespace(|| {
        swallow();
        fs::write("/proc/sys/net/ipv4/ip_local_port_range", "40000 40001").unwrap();
        let target = "10.8.0.9:80".parse().unwrap();
        let mut other = Connecting::new(MethodName::Quiet).unwrap();
        let mut method = Connecting::new(MethodName::Quiet).unwrap();
        assert_eq!(method.ask(Id(0), target, 0), Asked::Sent);
        assert_eq!(method.ask(Id(1), target, 0), Asked::Sent);
        assert_eq!(method.ask(Id(2), target, 0), Asked::Busy);
        let errno = Errno::ADDRNOTAVAIL.raw_os_error();
        let refused = (Verdict::Error(errno), Evidence::Refusal(errno));
        assert_eq!(at_once(&mut other, target), refused, "nothing of its own to wait for");
        method.forget(Id(1));
        assert_eq!(method.ask(Id(2), target, 0), Asked::Sent);
    });
}

#[test]
fn no_descriptor_left_is_busy_while_others_will_give_theirs_back() {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "--ignored", "--nocapture", "in_a_process_of_its_own"]);
    let ran = child.output().unwrap();
    let stdout = String::from_utf8_lossy(&ran.stdout);
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && stdout.contains("1 passed"), "{stdout}{stderr}");
}

#[test]
#[ignore = "lowers the limit of descriptors of its process: the test above runs it"]
fn in_a_process_of_its_own() {
    in_namespace(|| {
        swallow();
        let server = listener("127.0.0.1", 80);
        let silent = "10.8.0.9:80".parse().unwrap();
        limit_descriptors(100);
        let mut few = Connecting::new(MethodName::Quiet).unwrap();
        let room = 100 - 100 / 4 - descriptors().len();
        assert_eq!(few.capacity(), (room / 3).max(1), "each may take three sockets");
        for id in 0..room {
            assert_eq!(few.ask(Id(id as u32), silent, 0), Asked::Sent);
        }
        assert_eq!(few.ask(Id(99), silent, 0), Asked::Busy, "the rest is for the program");
        drop(few);

        limit_descriptors(1_000);
        let mut method = Connecting::new(MethodName::Quiet).unwrap();
        // None is free below the highest.
        let mut filling = Vec::new();
        let highest = loop {
            let file = fs::File::open("/dev/null").unwrap();
            let highest = descriptors().into_iter().max().unwrap();
            let is_highest = highest == file.as_raw_fd();
            filling.push(file);
            if is_highest {
                break highest as u64;
            }
        };
        limit_descriptors(highest + 1);
        let errno = Errno::MFILE.raw_os_error();
        let refused = (Verdict::Error(errno), Evidence::Refusal(errno));
        assert_eq!(at_once(&mut method, silent), refused, "nothing of its own to wait for");
        limit_descriptors(highest + 1 + 2);
        assert_eq!(method.ask(Id(0), silent, 0), Asked::Sent);
        assert_eq!(method.ask(Id(1), silent, 0), Asked::Sent);
        assert_eq!(method.ask(Id(2), silent, 0), Asked::Busy);
        method.forget(Id(0));
        assert_eq!(method.ask(Id(2), silent, 0), Asked::Sent);
        method.forget(Id(1));

        // Whatever the answer, its socket is closed: there is room for one only.
        let unreachable = "10.99.0.1:80".parse().unwrap();
        let closed = SocketAddr::new(server.ip(), 81);
        for _ in 0..10 {
            for target in [server.target, closed, unreachable] {
                assert!(matches!(method.ask(Id(0), target, 0), Asked::Answered(_)), "{target}");
            }
            assert_eq!(method.ask(Id(0), silent, 0), Asked::Sent);
            method.forget(Id(0));
        }
    });
}

/// How long something is waited for that has to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test on a thread of its own in a fresh network namespace.
fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let inside = || {
        netns::unshare_thread().expect("needs root, to make a network namespace");
        netns::loopback_up().unwrap();
        test();
    };
    if let Err(panic) = thread::spawn(inside).join() {
        std::panic::resume_unwind(panic);
    }
}

/// A question that is answered at once.
#[track_caller]
fn at_once(method: &mut Connecting, target: SocketAddr) -> (Verdict, Evidence) {
    match method.ask(Id(0), target, 0) {
        Asked::Answered(answer) => {
            assert_eq!(answer.attempt, Some(0));
            (answer.verdict, answer.evidence)
        }
        other => panic!("{target}: {other:?}"),
    }
}

/// A check that may take a while.
fn check(method: &mut Connecting, target: SocketAddr) -> (Verdict, Evidence) {
    let answer = match method.ask(Id(0), target, 0) {
        Asked::Answered(answer) => answer,
        Asked::Sent => answers(method, 1)[0].1,
        Asked::Busy => panic!("{target}: busy"),
    };
    method.forget(Id(0));
    (answer.verdict, answer.evidence)
}

/// Waits on the descriptor until there are so many answers.
fn answers(method: &mut Connecting, count: usize) -> Vec<(Id, Answer)> {
    let mut answers = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    while answers.len() < count {
        let left = deadline.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "{} of {count} answers", answers.len());
        let left = Timespec::try_from(left).unwrap();
        poll(&mut [PollFd::new(&method.pollable().unwrap(), PollFlags::IN)], Some(&left)).unwrap();
        method.hear(&mut |id, answer| answers.push((id, answer))).unwrap();
    }
    answers
}

struct Server {
    target: SocketAddr,
    listener: TcpListener,
}

fn listener(address: &str, port: u16) -> Server {
    let target = SocketAddr::new(address.parse().unwrap(), port);
    let listener = TcpListener::bind(target).unwrap();
    listener.set_nonblocking(true).unwrap();
    Server { target, listener }
}

impl Server {
    fn ip(&self) -> IpAddr {
        self.target.ip()
    }

    fn accept(&self) -> Option<TcpStream> {
        match self.listener.accept() {
            Ok((stream, _)) => Some(stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(error) => panic!("{error}"),
        }
    }
}

/// A listener whose queue is full: it is silent, and the test answers for it.
struct Silent {
    target: SocketAddr,
    listener: TcpListener,
    /// What fills the queue.
    _queued: TcpStream,
    /// Gets a copy of every segment.
    segments: OwnedFd,
    icmp: OwnedFd,
}

impl Silent {
    fn new(address: &str, port: u16) -> Self {
        let target = SocketAddr::new(address.parse().unwrap(), port);
        let listener = TcpListener::bind(target).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let queued = TcpStream::connect(target).unwrap();
        let raw = |family, protocol| {
            socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, Some(protocol)).unwrap()
        };
        let (segments, icmp) = if target.is_ipv6() {
            let family = AddressFamily::INET6;
            (raw(family, ipproto::TCP), raw(family, ipproto::ICMPV6))
        } else {
            let family = AddressFamily::INET;
            (raw(family, ipproto::TCP), raw(family, ipproto::ICMP))
        };
        Self { target, listener, _queued: queued, segments, icmp }
    }

    /// The listener, and what fills its queue.
    const SOCKETS: usize = 2;

    /// Accepts what fills the queue.
    fn make_room(&self) {
        drop(self.listener.accept().unwrap());
    }

    /// Whether another connection came into the queue.
    fn accepted(&self) -> bool {
        self.listener.set_nonblocking(true).unwrap();
        self.listener.accept().is_ok()
    }

    /// The next SYN to it, with its IP header.
    fn syn(&self) -> Vec<u8> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let mut bytes = vec![0; 2048];
            match recv(&self.segments, &mut bytes, RecvFlags::DONTWAIT) {
                Ok((length, _)) => bytes.truncate(length),
                Err(Errno::AGAIN) => continue,
                Err(error) => panic!("{error}"),
            }
            let ip_header = if self.target.is_ipv6() {
                let mut header = [0_u8; 40];
                header[0] = 6 << 4;
                header[5] = bytes.len() as u8;
                header[6] = 6;
                header[7] = 64;
                header[8..24].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
                header[24..40].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
                bytes.splice(0..0, header);
                40
            } else {
                usize::from(bytes[0] & 0x0f) * 4
            };
            let segment = &bytes[ip_header..];
            let to = u16::from_be_bytes([segment[2], segment[3]]);
            if to == self.target.port() && segment[13] & 0x17 == 0x02 {
                return bytes;
            }
        }
        panic!("no SYN came");
    }

    /// Sends an ICMP error about a SYN.
    fn refuse(&self, syn: &[u8], kind: u8, code: u8) {
        let mut message = vec![kind, code, 0, 0, 0, 0, 0, 0];
        if (kind, code) == (3, 4) {
            message[6..8].copy_from_slice(&1400_u16.to_be_bytes());
        }
        message.extend(syn);
        if self.target.is_ipv4() {
            let sum: u32 = message
                .chunks(2)
                .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
                .sum();
            let sum = (sum & 0xffff) + (sum >> 16);
            let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
            message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        let to = SocketAddr::new(self.target.ip(), 0);
        sendto(&self.icmp, &message, SendFlags::empty(), &to).unwrap();
    }
}

/// A second namespace at the other end of a link: 10.7.0.1 and fd07::1 here, 2 there. It forwards.
struct Router {
    work: Sender<Box<dyn FnOnce() + Send>>,
    done: Receiver<()>,
}

impl Router {
    fn new() -> Self {
        let (work, todo) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
        let (ended, done) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            netns::unshare_thread().unwrap();
            netns::loopback_up().unwrap();
            tell.send(gettid()).unwrap();
            for work in todo {
                work();
                let _ = ended.send(());
            }
        });
        let thread = told.recv().unwrap().as_raw_nonzero();
        let router = Self { work, done };
        ip(&format!("link add v0 type veth peer name v1 netns {thread}"));
        ip("addr add 10.7.0.1/24 dev v0");
        ip("-6 addr add fd07::1/64 dev v0 nodad");
        ip("link set v0 up");
        router.ip("addr add 10.7.0.2/24 dev v1");
        router.ip("-6 addr add fd07::2/64 dev v1 nodad");
        router.ip("link set v1 up");
        router.run(forward);
        router
    }

    fn run(&self, work: impl FnOnce() + Send + 'static) {
        self.work.send(Box::new(work)).unwrap();
        self.done.recv().expect("what the router was told to do failed");
    }

    fn ip(&self, arguments: &str) {
        let arguments = arguments.to_owned();
        self.run(move || ip(&arguments));
    }
}

/// Lets the namespace of this thread forward, and send as many ICMP messages as it has to.
fn forward() {
    for (name, value) in [
        ("net/ipv4/ip_forward", "1"),
        ("net/ipv6/conf/all/forwarding", "1"),
        ("net/ipv4/icmp_ratelimit", "0"),
        ("net/ipv6/icmp/ratelimit", "0"),
        // Its own packets come back in the loop.
        ("net/ipv4/conf/all/accept_local", "1"),
        ("net/ipv4/conf/all/rp_filter", "0"),
        ("net/ipv4/conf/all/send_redirects", "0"),
        ("net/ipv4/conf/v0/send_redirects", "0"),
        ("net/ipv4/conf/v1/send_redirects", "0"),
    ] {
        let _ = fs::write(format!("/proc/sys/{name}"), value);
    }
}

/// A network where everything is lost: 10.8.0.0/16.
fn swallow() {
    ip("link add d0 type veth peer name d1");
    ip("addr add 10.8.0.1/16 dev d0");
    // Its frames are addressed to nobody.
    ip("link set d0 arp off");
    ip("link set d0 up");
    ip("link set d1 up");
}

fn ip(arguments: &str) {
    let ran = Command::new("ip").args(arguments.split(' ')).output().expect("needs iproute2");
    assert!(ran.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&ran.stderr));
}

fn limit_descriptors(limit: u64) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(limit), maximum }).unwrap();
}

/// The descriptors of this process.
fn descriptors() -> Vec<i32> {
    let names = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let names: Vec<_> = names.collect();
    // Without the one that read them.
    let open = names.into_iter().filter(|path| path.symlink_metadata().is_ok());
    open.map(|path| path.file_name().unwrap().to_str().unwrap().parse().unwrap()).collect()
}

/// How many sockets of TCP in the namespace of this thread are held by a descriptor: those that
/// are not have no inode.
fn sockets_open() -> usize {
    let lines = ["tcp", "tcp6"].map(|name| {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap();
        text.lines().skip(1).filter(|line| line.split_whitespace().nth(9) != Some("0")).count()
    });
    lines.iter().sum()
}

/// Closes a connection without leaving TIME-WAIT.
fn reset(stream: TcpStream) {
    sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
}

/// A counter of TCP of the namespace of this thread.
fn counter(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let mut pairs = names.split(' ').zip(values.split(' '));
    pairs.find(|(one, _)| *one == name).unwrap().1.parse().unwrap()
}
