//! Where there are more events than room.

use super::*;

#[test]
fn a_lost_event_is_told_and_healed() {
    in_own_namespace(|| {
        let options = FollowOptions { queue_bytes: 4096, ..FollowOptions::default() };
        let here = vec![Place::here()];
        let mut follow = Follow::open(here.clone(), options).expect("root can trace");
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let called = listener.local_addr().expect("bound");
        let mut held = Vec::new();
        for round in 0..20 {
            for _ in 0..60 {
                let client = TcpStream::connect(called).expect("connected");
                held.push((client, listener.accept().expect("accepted").0));
            }
            held.drain(..30);
            let refresh = follow.refresh().expect("refreshed");
            let reason = refresh.rewalked.expect("it says so");
            assert!(reason.ends_with("events were lost"), "{reason}");
            assert_equal(&mut follow, &here, &format!("round {round}"));
        }
    });
}

#[test]
fn a_full_table_counts_what_it_leaves_out() {
    in_own_namespace(|| {
        let options = FollowOptions { sockets_max: 10, ..FollowOptions::default() };
        let mut follow = Follow::open(vec![Place::here()], options).expect("root can trace");
        let listeners: Vec<TcpListener> =
            (0..25).map(|_| TcpListener::bind("127.0.0.1:0").expect("bound")).collect();
        let refresh = follow.refresh().expect("refreshed");
        assert_eq!((follow.len(), refresh.left_out), (10, 15));
        drop(listeners);
        follow.refresh().expect("refreshed");
        assert!(follow.is_empty());
    });
}

#[test]
fn a_million_events_take_no_more_room_than_the_queue() {
    in_own_namespace(|| {
        let here = vec![Place::here()];
        let mut follow = follow_here();
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        // Each call is refused: two events.
        let closed = TcpListener::bind("127.0.0.1:0").expect("bound").local_addr().expect("bound");
        for _ in 0..100_000 {
            TcpStream::connect(closed).expect_err("nobody listens");
        }
        let refresh = follow.refresh().expect("refreshed");
        assert!(refresh.rewalked.is_some());
        assert_equal(&mut follow, &here, "after it");
        assert_eq!(follow.len(), 1);
        drop(listener);
    });
}

#[test]
fn it_needs_no_privilege_once_it_is_open() {
    let name = "follow::tests::loss::it_needs_no_privilege_once_it_is_open";
    if !crate::scene::require_root() {
        return;
    }
    crate::scene::run_alone(name, || {
        in_own_namespace(|| {
            let options = FollowOptions { queue_bytes: 4096, ..FollowOptions::default() };
            let here = vec![Place::here()];
            let mut follow = Follow::open(here.clone(), options).expect("root can trace");
            portolan_sys::capabilities::retain(portolan_sys::capabilities::CapabilitySet::empty())
                .expect("they can be given up");
            let error = Follow::open(here.clone(), options).err().expect("refused");
            assert!(matches!(error, Error::Bpf { .. }), "{error}");
            let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
            let called = listener.local_addr().expect("bound");
            let held: Vec<TcpStream> =
                (0..100).map(|_| TcpStream::connect(called).expect("connected")).collect();
            let refresh = follow.refresh().expect("refreshed");
            assert!(refresh.rewalked.is_some(), "a walk is possible too: {refresh:?}");
            drop(held);
            assert_equal(&mut follow, &here, "without capabilities");
        });
    });
}
