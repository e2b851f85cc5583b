use super::*;
use crate::trace::sample::config;

/// A reading of the sockets needs no privilege.
#[test]
fn a_snapshot_works_everywhere() {
    let wanted = config("--method snapshot --own-namespace").wanted;
    let (mut watch, notes) = open(&wanted).expect("sockets can be listed");
    assert_eq!(notes, Vec::<String>::new());
    let observed = watch.read().expect("sockets can be listed");
    assert!(observed.flows.iter().all(|flow| flow.traffic.is_none()));
    assert_eq!((observed.overflow, observed.losses), (Totals::default(), Vec::new()));
    assert_eq!((watch.method(), watch.attach()), ("snapshot", None));
    assert!(watch.describe().starts_with("snapshot ("), "{}", watch.describe());
    assert!(!watch.needs_relief());
}

/// Whatever this host allows, there is a method, and the reason for a lesser one.
#[test]
fn the_best_is_found_or_the_reason_is_told() {
    let (mut watch, notes) = open(&config("--edges-max 16").wanted).expect("there is a method");
    watch.relieve().expect("it works");
    watch.read().expect("it works");
    match watch.method() {
        "bundle" => {
            assert!(watch.describe().starts_with("bundle ("), "{}", watch.describe());
            assert!(watch.attach().is_some());
        }
        method => {
            assert_eq!(method, "snapshot");
            assert!(notes.iter().any(|note| note.starts_with("not traced, but polled")));
        }
    }
}
