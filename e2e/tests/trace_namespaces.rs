//! Many network namespaces; and what is left of a tracer when it is gone. Alone in its process,
//! whose descriptors are counted.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    net::{SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    process::{self, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use portolan_e2e::{
    World, program,
    traced::{Half, Side, Traced, close, connect, descriptors, move_bytes},
    wait_for,
};
use portolan_flow::Totals;
use portolan_sys::netns;
use portolan_trace::{Attach, MethodName, TraceOptions, Tracer};

/// One at a time: the other one's descriptors would be counted.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const NAMESPACES: usize = 200;

/// Namespaces with names; removed when this is dropped.
struct Namespaces(Vec<String>);

impl Namespaces {
    fn add(count: usize) -> Self {
        let name = |number| format!("ptl-e2e-{}-many-{number}", process::id());
        let all = Self((0..count).map(name).collect());
        assert!(all.for_each("add"), "cannot make namespaces");
        all
    }

    fn for_each(&self, verb: &str) -> bool {
        let mut ip = Command::new(program("ip", "iproute2"));
        ip.args(["-force", "-batch", "-"]).stdin(Stdio::piped());
        let Ok(mut running) = ip.spawn() else { return false };
        let lines = self.0.iter().map(|name| format!("netns {verb} {name}\n")).collect::<String>();
        let written =
            running.stdin.take().is_some_and(|mut to| to.write_all(lines.as_bytes()).is_ok());
        written & running.wait().is_ok_and(|status| status.success())
    }

    fn path(name: &str) -> PathBuf {
        PathBuf::from("/run/netns").join(name)
    }

    fn remove(&mut self) -> bool {
        let done = self.for_each("delete");
        self.0.clear();
        done
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            self.remove();
        }
    }
}

struct Inside {
    name: String,
    listener: TcpListener,
    before: (TcpStream, TcpStream),
}

/// The same address and port in each of them.
fn address() -> SocketAddr {
    "127.0.0.1:7430".parse().expect("valid")
}

fn populate(name: &str) -> Inside {
    let make = || {
        netns::loopback_up().expect("it is ours");
        let listener = TcpListener::bind(address()).expect("all is ours");
        let before = connect(&listener, address());
        move_bytes(&before.0, &before.1, 1_000);
        Inside { name: format!("netns:{name}"), listener, before }
    };
    netns::run_in(&Namespaces::path(name), make).expect("it was just made")
}

/// How many descriptors of this process are of network namespaces.
fn entered() -> usize {
    let all = fs::read_dir("/proc/self/fd").expect("/proc is mounted").flatten();
    let links = all.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("net:[")).count()
}

#[test]
fn two_hundred_namespaces() {
    let _alone = alone();
    let world = World::new();
    world.host.enter(|| {
        let mut namespaces = Namespaces::add(NAMESPACES);
        let inside: Vec<Inside> = namespaces.0.iter().map(|name| populate(name)).collect();
        let (before, namespaces_before) = (descriptors(), entered());
        let begun = Instant::now();
        let mut traced = Traced::open();
        let opening = begun.elapsed();
        assert_eq!(traced.tracer.hidden_namespaces(), 0);
        traced.namespaces = inside.iter().map(|one| one.name.clone()).collect();
        let open = descriptors();
        assert_eq!(entered(), namespaces_before, "none is kept");

        for (one, name) in inside.iter().zip(&namespaces.0) {
            let (client, server) = &one.before;
            move_bytes(client, server, 10);
            move_bytes(server, client, 30);
            let short = || {
                let (client, server) = connect(&one.listener, address());
                move_bytes(&client, &server, 100);
                close(client, server);
            };
            netns::run_in(&Namespaces::path(name), short).expect("it is there");
        }
        traced.read();
        let first = traced.took[0];
        traced.read();
        eprintln!(
            "{NAMESPACES} namespaces: open {opening:?}, first reading {first:?}, next {:?}",
            traced.took[1]
        );
        check_each(&traced, &inside);
        for _ in 0..5 {
            traced.read();
        }
        assert_eq!((descriptors(), entered()), (open, namespaces_before));

        drop(traced);
        assert_eq!(descriptors(), before);
        drop(inside);
        let names = namespaces.0.clone();
        assert!(namespaces.remove(), "they can be removed");
        assert!(!names.iter().any(|name| Namespaces::path(name).exists()));
    });
}

fn check_each(traced: &Traced, inside: &[Inside]) {
    let rows = traced.halves.len();
    assert_eq!(rows, 2 * NAMESPACES, "one at each end");
    for one in inside {
        let is_here = |half: &Half| half.namespace == one.name && half.server == address();
        let expected = Totals {
            opened: 1,
            closed: 1,
            bytes_sent: 110,
            bytes_received: 30,
            ..Totals::default()
        };
        for (side, (sent, received)) in [(Side::Active, (110, 30)), (Side::Passive, (30, 110))] {
            let sum = traced.sum(side, is_here);
            let expected = Totals { bytes_sent: sent, bytes_received: received, ..expected };
            assert_eq!(portolan_e2e::traced::timeless(sum.totals), expected, "{}", one.name);
            assert_eq!(sum.up, 1, "{}", one.name);
        }
        assert_eq!(
            traced
                .listeners
                .iter()
                .filter(|it| {
                    it.end.namespace.as_ref().is_some_and(|namespace| namespace.name() == one.name)
                })
                .count(),
            1,
            "{}",
            one.name
        );
    }
    assert!(traced.halves.keys().all(|half| half.process.is_some() && !half.guessed));
}

/// The ids of the BPF programs that this process holds, itself or by a link.
fn programs() -> BTreeSet<u32> {
    let all = fs::read_dir("/proc/self/fdinfo").expect("/proc is mounted").flatten();
    let texts = all.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let id = |text: String| {
        let line = text.lines().find_map(|line| line.strip_prefix("prog_id:"))?;
        line.trim().parse().ok()
    };
    texts.filter_map(id).collect()
}

/// Which of the programs are there (BPF_PROG_GET_FD_BY_ID of bpf(2)).
const WHICH: &str = r#"
import ctypes, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 321, "aarch64": 280}[platform.machine()]
for id in sys.argv[1:]:
    attributes = (ctypes.c_uint32 * 32)(int(id))
    if libc.syscall(number, 13, attributes, ctypes.sizeof(attributes)) >= 0:
        print(id)
    else:
        assert ctypes.get_errno() == 2, ctypes.get_errno()
"#;

fn still_there(world: &World, programs: &BTreeSet<u32>) -> usize {
    let mut command = Command::new(program("python3", "python3"));
    command.arg("-c").arg(WHICH).args(programs.iter().map(u32::to_string));
    world.host.succeed(command).stdout.lines().count()
}

#[test]
fn a_tracer_that_is_dropped_leaves_nothing_attached() {
    let _alone = alone();
    let world = World::new();
    let before = programs();
    for attach in Attach::ALL {
        for method in MethodName::ALL {
            let options = TraceOptions { attach: Some(attach), method, ..Default::default() };
            let descriptors_before = descriptors();
            let tracer = match Tracer::open(options) {
                Ok(tracer) => tracer,
                // A kernel that is locked down has one way only.
                Err(error) if attach != Attach::TpBtf => {
                    eprintln!("not by {attach}: {error}");
                    break;
                }
                Err(error) => panic!("{attach} {method}: {error}"),
            };
            let held: BTreeSet<u32> = programs().difference(&before).copied().collect();
            assert_eq!(still_there(&world, &held), held.len(), "{attach} {method}");
            assert!(held.len() >= 6, "{held:?}");
            drop(tracer);
            assert_eq!(descriptors(), descriptors_before, "{attach} {method}");
            let begun = Instant::now();
            wait_for("the programs to go", || (still_there(&world, &held) == 0).then_some(()));
            assert!(begun.elapsed() < Duration::from_secs(60));
        }
    }
}
