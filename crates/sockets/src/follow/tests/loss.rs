//! Where there are more events than room.

use rustix::net::sockopt;

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

/// Events that the kernel neither delivers nor counts, of whatever kind.
#[test]
fn an_event_that_nobody_counted_is_noticed_at_the_next_quiet_moment() {
    in_own_namespace(|| {
        let here = vec![Place::here()];
        let mut follow = follow_here();
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let called = listener.local_addr().expect("bound");
        let pair = || {
            let client = TcpStream::connect(called).expect("connected");
            (client, listener.accept().expect("accepted").0)
        };
        let _others: Vec<_> = (0..100).map(|_| pair()).collect();
        assert_equal(&mut follow, &here, "nothing is lost yet");
        for lost in [State::SynSent, State::Established, State::Close, State::Listen] {
            let mut left = 1;
            follow.loses = Box::new(move |event| {
                let is_lost = event.row.state == lost && left > 0;
                left -= i32::from(is_lost);
                is_lost
            });
            let (client, server) = pair();
            let other = TcpListener::bind("127.0.0.1:0").expect("bound");
            follow.refresh().expect("refreshed");
            assert_equal(&mut follow, &here, &format!("{lost:?} is lost, at birth"));
            sockopt::set_socket_linger(&client, Some(Duration::ZERO)).expect("set");
            drop((client, server, other));
            follow.refresh().expect("refreshed");
            assert_equal(&mut follow, &here, &format!("{lost:?} is lost, at the end"));
            assert!(follow.refresh().expect("refreshed").rewalked.is_none(), "it is healed");
        }
    });
}

#[test]
fn a_birth_without_any_event_is_found_and_said() {
    in_own_namespace(|| {
        let mut follow = follow_here();
        follow.loses = Box::new(|_| true);
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let reason = follow.refresh().expect("refreshed").rewalked;
        assert_eq!(reason.as_deref(), Some("sockets opened or closed without an event"));
        assert_equal(&mut follow, &[Place::here()], "found");
        assert!(follow.refresh().expect("refreshed").rewalked.is_none(), "once");
        drop(listener);
        assert!(follow.refresh().expect("refreshed").rewalked.is_some());
        assert!(follow.is_empty());
    });
}
