use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use portolan_flow::Flow;

use super::*;
use crate::{
    Direction, Memory, Sqlite,
    sample::{bundle, flow, listener, process, unit},
};

fn postgres() -> portolan_flow::End {
    unit("postgres", "postgresql.service", "127.0.0.1")
}

fn from(name: &str) -> Flow {
    flow(process(name, "127.0.0.1"), postgres(), 5432)
}

fn config() -> Config {
    Config { host: "db7".to_owned(), interval_ms: 1_000, ..Config::default() }
}

fn ingest(hub: &Hub, flows: Vec<Flow>, now_ms: u64) -> Delta {
    hub.ingest(bundle(flows, vec![listener(postgres(), 5432)]), now_ms, Vec::new(), "test")
}

/// A store that can be made to fail, and counts what it is given.
#[derive(Clone, Default)]
struct Moody {
    memory: Arc<Mutex<Memory>>,
    is_full: Arc<AtomicBool>,
    saves: Arc<AtomicUsize>,
}

impl Moody {
    fn edges(&self) -> u64 {
        self.rows().edges.len() as u64
    }

    fn rows(&self) -> Rows {
        lock(&self.memory).load(0, 1_000).expect("memory does not fail")
    }

    fn saves(&self) -> usize {
        self.saves.load(Ordering::SeqCst)
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.is_full.load(Ordering::SeqCst) {
            let detail = "disk full".to_owned();
            return Err(StoreError::ReadOnly { path: "/map.db".into(), detail });
        }
        Ok(())
    }
}

impl Store for Moody {
    fn load(&mut self, since_ms: u64, rows_max: usize) -> Result<Rows, StoreError> {
        lock(&self.memory).load(since_ms, rows_max)
    }

    fn save(&mut self, rows: &Rows) -> Result<(), StoreError> {
        self.saves.fetch_add(1, Ordering::SeqCst);
        self.check()?;
        lock(&self.memory).save(rows)
    }

    fn forget(&mut self, before_ms: u64, rows_max: usize) -> Result<u64, StoreError> {
        self.check()?;
        lock(&self.memory).forget(before_ms, rows_max)
    }
}

fn moody() -> (Hub, Moody) {
    let store = Moody::default();
    let hub = Hub::open(config(), Box::new(store.clone())).expect("memory does not fail");
    (hub, store)
}

#[test]
fn what_is_new_is_saved_at_once_and_times_every_ten_seconds() {
    let (hub, store) = moody();
    ingest(&hub, vec![from("a")], 1_000);
    assert_eq!((store.saves(), store.edges()), (1, 1));
    ingest(&hub, vec![from("a")], 2_000);
    assert_eq!(store.saves(), 1);
    ingest(&hub, vec![from("a"), from("b")], 3_000);
    assert_eq!((store.saves(), store.edges()), (2, 2));
    ingest(&hub, vec![from("a")], 10_999);
    assert_eq!(store.saves(), 2);
    ingest(&hub, vec![from("a")], 11_000);
    assert_eq!(store.saves(), 3);
    let last = |store: &Moody| lock(&store.memory).load(0, 9).expect("load").edges[0].last_seen_ms;
    assert_eq!(last(&store), 11_000);
    ingest(&hub, vec![from("a")], 12_000);
    hub.close().expect("memory does not fail");
    assert_eq!(last(&store), 12_000);
}

#[test]
fn listeners_are_saved_like_edges() {
    let (hub, store) = moody();
    let ingest = |ports: &[u16], now_ms: u64| {
        let listeners = ports.iter().map(|&port| listener(postgres(), port)).collect();
        hub.ingest(bundle(vec![], listeners), now_ms, Vec::new(), "test");
        let row = |row: &crate::Seen<_>| {
            let portolan_flow::Listener { port, .. } = row.what;
            (port, row.first_seen_ms, row.last_seen_ms)
        };
        let mut rows: Vec<_> = store.rows().listeners.iter().map(row).collect();
        rows.sort_unstable();
        rows
    };
    assert_eq!(ingest(&[1], 1_000), [(1, 1_000, 1_000)]);
    assert_eq!(ingest(&[1, 2], 2_000), [(1, 1_000, 1_000), (2, 2_000, 2_000)], "at once");
    ingest(&[1, 2], 3_000);
    assert_eq!(store.saves(), 2, "nothing is new");
    // One that has ended gets its last time, and is then left alone.
    assert_eq!(ingest(&[2], 4_000), [(1, 1_000, 1_000), (2, 2_000, 2_000)]);
    assert_eq!(ingest(&[2], 11_000), [(1, 1_000, 3_000), (2, 2_000, 11_000)]);
    assert!(hub.live().outdated().is_empty(), "what has not changed is not written again");
}

#[test]
fn a_store_that_fails_is_a_warning_and_is_tried_again() {
    let (hub, store) = moody();
    store.is_full.store(true, Ordering::SeqCst);
    ingest(&hub, vec![from("a")], 1_000);
    let delta = ingest(&hub, vec![from("a"), from("b")], 2_000);
    assert!(delta.warnings[0].contains("disk full"), "{delta:?}");
    assert!(delta.warnings[0].contains("/map.db"), "{delta:?}");
    assert_eq!(hub.graph(None).edges().len(), 2, "the map goes on");
    // Not at every reading.
    assert_eq!(store.saves(), 1);
    ingest(&hub, vec![from("a")], 11_000);
    assert_eq!((store.saves(), store.edges()), (2, 0));
    assert!(hub.flush().is_err());

    store.is_full.store(false, Ordering::SeqCst);
    ingest(&hub, vec![from("a")], 21_000);
    assert_eq!(store.edges(), 2, "nothing was lost");
    assert!(ingest(&hub, vec![from("a")], 22_000).warnings.is_empty());
}

#[test]
fn old_history_leaves_the_store() {
    let (hub, store) = moody();
    ingest(&hub, vec![from("a")], 1_000);
    let later = Limits::default().retention_ms + 20_000;
    ingest(&hub, vec![from("b")], later);
    assert_eq!(store.edges(), 1);
    assert_eq!(hub.graph(Some(0)).edges().len(), 1);
}

#[test]
fn history_is_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    let open = || {
        let store = Sqlite::open(&path).expect("open");
        Hub::open(config(), Box::new(store)).expect("load")
    };
    let hub = open();
    ingest(&hub, vec![from("psql")], 1_000);
    ingest(&hub, vec![from("psql")], 2_000);
    drop(hub); // without being closed: as if it had been killed
    let hub = open();
    let before = hub.graph(Some(0));
    assert_eq!((before.edges().len(), before.header().now_ms), (1, 0));
    ingest(&hub, vec![], 3_000);
    let graph = hub.graph(None);
    let walk = |graph: &Graph| {
        let selection = graph.select("postgresql").expect("it is known");
        graph.walk_reply(&graph.walk(&selection, Direction::Dependents, None))
    };
    assert_eq!(&*walk(&graph).steps[0].node, "process:psql");
    assert!(!graph.edges()[0].live());
}

#[test]
fn a_closed_store_is_one_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    let hub = Hub::open(config(), Box::new(Sqlite::open(&path).expect("open"))).expect("load");
    let other_handle = hub.clone();
    ingest(&hub, vec![from("psql")], 1_000);
    hub.close().expect("close");
    assert!(!path.with_file_name("map.db-wal").exists());
    let copy = dir.path().join("copy.db");
    std::fs::copy(&path, &copy).expect("copy");
    let rows = Sqlite::open(&copy).and_then(|mut store| store.load(0, 9)).expect("load");
    assert_eq!((rows.edges.len(), rows.listeners.len()), (1, 1));

    // A reading that was under way still changes the map.
    let late = ingest(&other_handle, vec![from("late")], 2_000);
    assert!(late.warnings.is_empty() && !late.edges.is_empty());
    ingest(&other_handle, vec![from("late")], 20_000);
    other_handle.flush().expect("nothing to do");
    other_handle.close().expect("nothing to do");
    let rows = Sqlite::open(&path).and_then(|mut store| store.load(0, 9)).expect("load");
    assert_eq!(rows.edges.len(), 1);
}

#[test]
fn history_goes_on_when_its_file_is_removed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    let open = || Hub::open(config(), Box::new(Sqlite::open(&path).expect("open"))).expect("load");
    let hub = open();
    ingest(&hub, vec![from("earlier")], 1_000);
    hub.close().expect("close");
    let hub = open();
    ingest(&hub, vec![from("now")], 2_000);
    std::fs::remove_file(&path).expect("remove");
    for at in 3..=12 {
        let delta = ingest(&hub, vec![from("now")], at * 1_000);
        assert!(delta.warnings.is_empty(), "{delta:?}");
    }
    let rows = || Sqlite::open(&path).and_then(|mut store| store.load(0, 9)).expect("load");
    assert_eq!((rows().edges.len(), rows().listeners.len()), (2, 1), "while it runs");

    // Also at the end, where nothing is new.
    std::fs::remove_file(&path).expect("remove");
    hub.close().expect("close");
    assert_eq!((rows().edges.len(), rows().listeners.len()), (2, 1));
}

#[test]
fn a_file_that_cannot_be_made_again_is_a_warning_and_an_error_at_the_end() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("state/map.db");
    let store = Sqlite::open(&path).expect("open");
    let hub = Hub::open(config(), Box::new(store)).expect("load");
    ingest(&hub, vec![from("psql")], 1_000);
    std::fs::remove_dir_all(dir.path().join("state")).expect("remove");
    std::fs::write(dir.path().join("state"), "in the way").expect("write");
    ingest(&hub, vec![from("psql")], 11_000);
    let delta = ingest(&hub, vec![from("psql")], 12_000);
    assert!(delta.warnings[0].contains("the history is not being saved"), "{delta:?}");
    let error = hub.close().expect_err("not saved");
    assert!(error.to_string().contains("state"), "{error}");
}

#[test]
fn the_graph_goes_back_a_day_unless_asked() {
    let (hub, _) = moody();
    ingest(&hub, vec![from("a")], 1_000);
    ingest(&hub, vec![from("b")], 1_001 + WINDOW_MS);
    assert_eq!(hub.graph(None).edges().len(), 1);
    assert_eq!(hub.graph(Some(1_000)).edges().len(), 2);
}

#[test]
fn many_ask_while_one_brings() {
    let (hub, _) = moody();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut revision = 0;
                while hub.graph(None).header().now_ms < 200_000 {
                    let graph = hub.graph(Some(0));
                    assert!(graph.header().revision >= revision);
                    revision = graph.header().revision;
                    // Each reading has one edge from p0 to pN, and never an end without a node.
                    let reply = graph.reply();
                    assert!(reply.edges.iter().filter(|edge| edge.live).count() <= 1);
                    assert!(reply.edges.iter().all(|edge| graph.node(&edge.client).is_some()));
                }
            });
        }
        for at in 1..=200 {
            ingest(&hub, vec![from(&format!("p{}", at % 7))], at * 1_000);
        }
    });
}

#[test]
fn a_closed_hub_has_no_events() {
    let (hub, _) = moody();
    assert!(hub.subscribe().is_some());
    hub.close().expect("memory does not fail");
    assert!(hub.subscribe().is_none());
    ingest(&hub, vec![from("a")], 1_000);
}
