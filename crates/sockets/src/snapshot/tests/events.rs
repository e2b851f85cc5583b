//! What is particular to following the kernel's events.

use super::{super::Listing, *};
use crate::FollowOptions;

/// A snapshot whose queue holds a page of events.
fn forgetful() -> Snapshot {
    let mut snapshot = open(EVENTS, true);
    let Listing::Events(events) = &mut snapshot.listing else { unreachable!("it is asked for") };
    let options = FollowOptions { queue_bytes: 4096, ..FollowOptions::default() };
    events.follow =
        crate::Follow::open(vec![crate::Place::here()], options).expect("it was open before");
    snapshot
}

#[test]
fn lost_events_are_said_for_a_while_in_the_same_words() {
    in_own_namespace(|| {
        let mut snapshot = forgetful();
        let _server = server(120);
        assert_eq!(read(&mut snapshot).warnings, Vec::<String>::new());
        let clients = client(60);
        drop(clients);
        let reading = read(&mut snapshot);
        let said = reading.warnings.clone();
        assert!(said.iter().any(|text| text.contains("events did not come")), "{said:?}");
        for _ in 0..3 {
            assert_eq!(read(&mut snapshot).warnings, said, "all was read again a moment ago");
        }
        let _again = client(60);
        assert_eq!(read(&mut snapshot).warnings, said, "and now once more");
    });
}

#[test]
fn a_quiet_reading_is_the_one_before() {
    in_own_namespace(|| {
        let (client_of_five, server) = both(5);
        let mut snapshot = open(EVENTS, true);
        let first = read(&mut snapshot);
        let when = |snapshot: &Snapshot| snapshot.last.as_ref().map(|(at, _)| *at);
        let at = when(&snapshot);
        let second = read(&mut snapshot);
        assert_eq!((when(&snapshot), &second.bundle), (at, &first.bundle));
        assert_eq!(second.coverage.rows, 11);
        drop(client_of_five);
        let third = read(&mut snapshot);
        assert_ne!(when(&snapshot), at);
        assert_ne!(third.bundle, first.bundle);
        drop(server);
    });
}

#[test]
fn who_does_not_read_again_lists() {
    in_own_namespace(|| {
        let snapshot = Snapshot::open(SnapshotOptions::default()).expect("it lists");
        assert!(snapshot.choice().is_some() && snapshot.unfollowed().is_none());
        assert!(open(EVENTS, true).describe().contains("events"));
    });
}
