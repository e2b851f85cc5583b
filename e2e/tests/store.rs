//! The history survives whatever ends the program.

use std::{
    collections::BTreeSet,
    net::{TcpListener, TcpStream},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use portolan_e2e::{Place, Random, Running, World, edges::records};
use rustix::process::Signal;
use serde_json::Value;

const SEED: u64 = 0x706f_7274;
const KILLS: usize = 20;
const KILLS_MAX: usize = 5 * KILLS;
/// The latest moment for a kill: several readings after the start.
const MOMENT_MS_MAX: u64 = 700;

/// Connections that come and go, each to a port of its own, until told to stop.
fn come_and_go(place: &Place, stop: &AtomicBool) {
    place.enter(|| {
        let mut open = std::collections::VecDeque::new();
        for port in 2000..30_000 {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let listener = TcpListener::bind(("127.0.0.1", port)).expect("a port");
            let client = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
            let server = listener.accept().expect("a connection");
            open.push_back((listener, client, server));
            if open.len() > 4 {
                open.pop_front();
            }
            thread::sleep(Duration::from_millis(60));
        }
    });
}

/// Tells the other thread to stop, also when this one panics.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Each port is one edge.
fn ports(records: &[Value]) -> BTreeSet<u64> {
    records.iter().filter_map(|record| record["server_port"].as_u64()).collect()
}

/// What was printed before the kill, without a line that it cut off.
fn printed(output: &str) -> BTreeSet<u64> {
    let whole = output.rfind('\n').map_or("", |end| &output[..end]);
    ports(&records(whole))
}

fn remembered(world: &World, store: &str) -> BTreeSet<u64> {
    let arguments = ["map", "--once", "--json", "--own-namespace", "--since", "1h", "--store"];
    let ran = world.host.run(world.portolan(&[&arguments[..], &[store]].concat()));
    assert_eq!(ran.code, Some(0), "the store after a kill: {ran}");
    assert!(!ran.stderr.contains("history"), "{ran}");
    ports(&records(&ran.stdout))
}

#[test]
fn a_kill_at_any_moment_loses_nothing_that_was_shown() {
    println!("seed {SEED:#x}");
    let world = World::new();
    world.host.no_time_wait();
    let store = world.file("history.sqlite");
    let store = store.to_str().unwrap_or_default();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        scope.spawn(|| come_and_go(&world.host, &stop));
        let mut random = Random::new(SEED);
        let (mut known, mut from_killed) = (BTreeSet::new(), BTreeSet::new());
        // A slow machine may need more, as its runs are killed before they have shown anything.
        for kill in 1..=KILLS_MAX {
            if kill > KILLS && from_killed.len() > KILLS {
                break;
            }
            let arguments =
                ["map", "--json", "--no-page", "--own-namespace", "--interval", "100ms"];
            let arguments = [&arguments[..], &["--store", store]].concat();
            let map = Running::start(&world.host, world.portolan(&arguments));
            let moment_ms = random.below(MOMENT_MS_MAX);
            thread::sleep(Duration::from_millis(moment_ms));
            map.signal(Signal::KILL);
            let ended = map.finish();
            assert_eq!((ended.code, ended.signal), (None, Some(9)), "{ended}");
            from_killed.extend(printed(&ended.stdout));
            known.extend(from_killed.iter().copied());
            let found = remembered(&world, store);
            let lost: Vec<_> = known.difference(&found).collect();
            assert!(lost.is_empty(), "kill {kill} after {moment_ms} ms lost {lost:?}");
            known.extend(found);
        }
        assert!(from_killed.len() > KILLS, "the killed runs recorded nothing: {from_killed:?}");
    });
}

#[test]
fn a_kill_while_another_one_records_disturbs_nobody() {
    let world = World::new();
    world.host.no_time_wait();
    let store = world.file("history.sqlite");
    let store = store.to_str().unwrap_or_default();
    let arguments = ["map", "--json", "--no-page", "--own-namespace", "--interval", "100ms"];
    let arguments = [&arguments[..], &["--store", store]].concat();
    let start = || Running::start(&world.host, world.portolan(&arguments));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        scope.spawn(|| come_and_go(&world.host, &stop));
        let mut steady = start();
        for _ in 0..3 {
            let mut victim = start();
            victim.wait_for("an edge", |map| (!printed(&map.stdout()).is_empty()).then_some(()));
            victim.signal(Signal::KILL);
            let seen = printed(&victim.finish().stdout);
            let before = printed(&steady.stdout()).len();
            steady.wait_for("the other one to go on", |map| {
                (printed(&map.stdout()).len() > before).then_some(())
            });
            assert!(seen.is_subset(&remembered(&world, store)));
        }
        steady.signal(Signal::TERM);
        let ended = steady.finish();
        assert_eq!(ended.code, Some(0), "{ended}");
        assert!(printed(&ended.stdout).is_subset(&remembered(&world, store)));
    });
}
