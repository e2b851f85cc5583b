//! Sweeps past the kernel's IP: over a path that loses packets, amid unrelated traffic, and beside
//! others who use the same targets.

mod world;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use portolan_probe::{Evidence, Finding, Method, Pace, Plan, Session, Verdict};
use world::{
    Meanwhile, World, half_open, in_world, run, tcp_counter, until,
    ways::{Way, check_all, v4, v6},
};

/// A target of a kind, by its number.
type Numbered = fn(u16) -> SocketAddr;

const OPEN: (Verdict, Evidence) = (Verdict::Open, Evidence::SynAck);
const CLOSED: (Verdict, Evidence) = (Verdict::Closed, Evidence::Reset);
const SILENT: (Verdict, Evidence) = (Verdict::Filtered, Evidence::Silence);

const ADAPTIVE: Pace = Pace::Adaptive { per_second_max: 500_000.0 };

/// How many of each kind.
const EACH: u16 = 1_500;

/// Classic BPF, which needs no compiler: a random number of 32 bits (`SKF_AD_OFF +
/// SKF_AD_RANDOM` of linux/filter.h); up to a twentieth of all of them means `TC_ACT_SHOT`, which
/// is 2, others `TC_ACT_OK`, which is 0.
const LOSS: &str = "4,32 0 0 4294963256,37 1 0 214748364,6 0 0 2,6 0 0 0";

#[test]
fn a_path_that_loses_one_packet_in_twenty_each_way_loses_no_target() {
    in_world(|world| {
        let _server = lossy(&world);
        // Fewer than one run in ten thousand misses one with so many questions.
        let plan = Plan::new(Duration::from_secs(4), 7);
        let mut session = Way::PAST_IP.session_at(plan, ADAPTIVE).insistent();
        sweep(&mut session);
        let counts = session.counts();
        // 9.75 of 100 are lost, there or back.
        assert!((0.05..0.15).contains(&counts.loss()), "it shows: {counts:?}");
    });
}

/// The plan alone would miss one in ten.
#[test]
fn who_insists_asks_more_often_than_planned() {
    in_world(|world| {
        let _server = lossy(&world);
        let targets: Vec<_> = (1..=4_000).map(|it| SocketAddr::new(v4(77, it), 80)).collect();
        let plan = Plan::new(Duration::from_millis(500), 0);
        let missed = |session: &mut Session<Box<dyn Method + Send>>| {
            let findings = check_all(session, &targets);
            findings.iter().filter(|finding| said(finding) != OPEN).count()
        };
        let mut plain = Way::PAST_IP.session_at(plan, ADAPTIVE);
        let without = missed(&mut plain);
        assert!(without > 100, "missed {without}");
        let mut insistent = Way::PAST_IP.session_at(plan, ADAPTIVE).insistent();
        // Fewer than one in a hundred runs may miss one; that three are missed is no chance.
        let with = missed(&mut insistent);
        assert!(with <= 2, "missed {with}");
    });
}

#[test]
fn amid_unrelated_traffic() {
    in_world(|world| {
        world.lives();
        world.forwards();
        let server = world.listens(80);
        let served = world.run(move || serve(server));
        let noise = noise();
        let plan = Plan::new(Duration::from_secs(4), 3);
        let mut session = Way::PAST_IP.session_at(plan, ADAPTIVE).insistent();
        let before = noise.sent();
        sweep(&mut session);
        assert!(noise.sent() > before, "there was traffic meanwhile");
        assert_eq!(session.method().noise().forged, 0, "no one else's packet is taken for ours");
        drop(noise);
        served.stop();
    });
}

/// Others connect to the very targets that are swept, and talk: all of them succeed, and so does
/// the sweep.
#[test]
fn beside_others_who_use_the_same_targets() {
    in_world(|world| {
        world.lives();
        world.forwards();
        let server = world.listens(80);
        let served = world.run(move || serve(server));
        let targets: Vec<_> = (1..=4)
            .flat_map(|it| [SocketAddr::new(v4(77, it), 80), SocketAddr::new(v6(0xfd77, it), 80)])
            .collect();
        for way in Way::ALL {
            let others: Vec<_> = (0..2).map(|_| talk(targets.clone())).collect();
            until("they talk", || others.iter().all(|other| other.talks() > 0));
            let before: Vec<_> = others.iter().map(Talk::talks).collect();
            let mut session = way.session(Plan::new(Duration::from_secs(20), 2));
            let again: Vec<_> = (0..2_000).map(|at| targets[at % targets.len()]).collect();
            for finding in check_all(&mut session, &again) {
                assert_eq!(said(&finding), OPEN, "{way}: {finding:?}");
            }
            for (other, before) in others.into_iter().zip(before) {
                until("they go on", || other.talks() > before);
                other.thread.stop();
            }
        }
        assert_eq!(half_open(), 0);
        served.stop();
    });
}

/// A connection that others hold to the same target is not disturbed by checks of it.
#[test]
fn a_connection_that_stands_stays() {
    in_world(|world| {
        world.lives();
        let server = world.listens(80);
        let served = world.run(move || serve(server));
        let target = SocketAddr::new(v4(77, 1), 80);
        for way in Way::ALL {
            let mut held: Vec<_> = (0..100).map(|_| TcpStream::connect(target).unwrap()).collect();
            let before = tcp_counter("EstabResets");
            let mut session = way.session(Plan::new(Duration::from_secs(20), 2));
            for finding in check_all(&mut session, &[target; 1_000]) {
                assert_eq!(said(&finding), OPEN, "{way}: {finding:?}");
            }
            held.iter_mut().for_each(converse);
            if way.method == portolan_probe::MethodName::Syn {
                assert_eq!(tcp_counter("EstabResets"), before, "{way}");
            }
        }
        served.stop();
    });
}

/// Open, closed and silent ones in turn, over both families; each is found to be what it is.
#[track_caller]
fn sweep(session: &mut Session<Box<dyn Method + Send>>) {
    let kinds: [(Numbered, _); 6] = [
        (|number| SocketAddr::new(v4(77, number), 80), OPEN),
        (|number| SocketAddr::new(v4(82, number), 80), SILENT),
        (|number| SocketAddr::new(v4(77, number), 81), CLOSED),
        (|number| SocketAddr::new(v6(0xfd77, number), 80), OPEN),
        (|number| SocketAddr::new(v6(0xfd82, number), 80), SILENT),
        (|number| SocketAddr::new(v6(0xfd77, number), 81), CLOSED),
    ];
    let targets: Vec<_> =
        (1..=EACH).flat_map(|number| kinds.map(|(kind, _)| kind(number))).collect();
    // It fails when a target is said twice.
    let findings = check_all(session, &targets);
    for (at, (finding, target)) in findings.iter().zip(&targets).enumerate() {
        assert_eq!(finding.target, *target);
        assert_eq!(said(finding), kinds[at % kinds.len()].1, "{finding:?}");
    }
}

/// Every target of the far namespace, behind a path that loses packets.
fn lossy(world: &World) -> TcpListener {
    world.lives();
    world.forwards();
    world.run(|| {
        run("tc", "qdisc add dev far clsact");
        for way in ["ingress", "egress"] {
            let arguments = format!("filter add dev far {way} bpf da bytecode");
            let mut words: Vec<_> = arguments.split(' ').collect();
            words.push(LOSS);
            world::run_words("tc", &words);
        }
    });
    world.listens(80)
}

/// Accepts, says what it hears, and closes when the other side does.
fn serve(server: TcpListener) -> Meanwhile<()> {
    Meanwhile::start(move |stopped| {
        while !stopped.now() {
            match server.accept() {
                Ok((mut stream, _)) => drop(thread::spawn(move || {
                    let mut bytes = [0; 16];
                    while let Ok(len @ 1..) = stream.read(&mut bytes) {
                        let _ = stream.write_all(&bytes[..len]);
                    }
                })),
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        }
    })
}

fn converse(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(world::PATIENCE)).unwrap();
    stream.write_all(b"anybody there?").unwrap();
    let mut answer = [0; 14];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"anybody there?");
}

/// Somebody who connects to targets and talks to them.
struct Talk {
    count: Arc<AtomicU64>,
    thread: Meanwhile<()>,
}

impl Talk {
    fn talks(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }
}

fn talk(targets: Vec<SocketAddr>) -> Talk {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let thread = Meanwhile::start(move |stopped| {
        for target in targets.iter().cycle() {
            if stopped.now() {
                return;
            }
            converse(&mut TcpStream::connect(target).unwrap());
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    Talk { count, thread }
}

/// Datagrams to where nobody listens, with the errors that come back for them, and connections.
struct Noise {
    datagrams: Arc<AtomicU64>,
    _datagrams: Meanwhile<()>,
    others: Vec<Talk>,
}

impl Noise {
    fn sent(&self) -> u64 {
        let talks: u64 = self.others.iter().map(Talk::talks).sum();
        self.datagrams.load(Ordering::SeqCst) + talks
    }
}

fn noise() -> Noise {
    let datagrams = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&datagrams);
    let thread = Meanwhile::start(move |stopped| {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        for number in (0..=u16::MAX).cycle() {
            if number % 64 == 0 {
                if stopped.now() {
                    return;
                }
                thread::sleep(Duration::from_millis(1));
            }
            // Some reach a host, some a router that swallows them.
            let network = if number % 2 == 0 { 77 } else { 82 };
            if socket.send_to(b"noise", SocketAddr::new(v4(network, number), 80)).is_ok() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    let targets = vec![SocketAddr::new(v4(77, 9), 80), SocketAddr::new(v6(0xfd77, 9), 80)];
    Noise { datagrams, _datagrams: thread, others: vec![talk(targets)] }
}

fn said(finding: &Finding) -> (Verdict, Evidence) {
    (finding.verdict, finding.evidence)
}
