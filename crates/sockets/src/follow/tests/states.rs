//! One socket in each state that is hard to follow.

use std::{
    io::Read,
    net::Shutdown,
    os::fd::{AsFd, OwnedFd},
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use super::*;

fn here() -> Vec<Place> {
    vec![Place::here()]
}

fn socket() -> OwnedFd {
    rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )
    .expect("socket")
}

fn states(follow: &Follow) -> Vec<State> {
    let mut states: Vec<State> = follow.rows().map(|(_, row)| row.state).collect();
    states.sort_unstable();
    states
}

/// A listener without room, so that who calls stays in SYN-SENT.
fn full_listener() -> (OwnedFd, TcpStream, SocketAddr) {
    let listener = socket();
    rustix::net::listen(&listener, 0).expect("listening");
    let local = rustix::net::getsockname(&listener).expect("bound");
    let port = SocketAddr::try_from(local).expect("an address").port();
    let called = SocketAddr::from(([127, 0, 0, 1], port));
    (listener, TcpStream::connect(called).expect("connected"), called)
}

#[test]
fn ports_are_known_though_they_are_given_after_the_event() {
    in_own_namespace(|| {
        let mut follow = follow_here();
        let (_listener, _first, called) = full_listener();
        let second = socket();
        let refused = rustix::net::connect(&second, &called);
        assert_eq!(refused, Err(rustix::io::Errno::INPROGRESS));
        assert_equal(&mut follow, &here(), "opening");
        let established = State::Established;
        let expected = [established, established, State::SynSent, State::Listen];
        assert_eq!(states(&follow), expected);
        assert!(follow.rows().all(|(_, row)| row.local.port() != 0));
        drop(second);
        assert_equal(&mut follow, &here(), "given up");
        assert_eq!(follow.len(), 3);
    });
}

#[test]
fn a_half_open_connection_is_counted_by_its_listener() {
    in_own_namespace(|| {
        let mut follow = follow_here();
        let mut listener = Program::perl(
            "socket(L, PF_INET, SOCK_STREAM, 6); setsockopt(L, 6, 9, pack('i', 60)) or die; \
             bind(L, sockaddr_in(4444, INADDR_LOOPBACK)) or die; listen(L, 5); print qq(ok\\n)",
        );
        assert_eq!(listener.line(), "ok");
        assert_equal(&mut follow, &here(), "listening");
        let client = TcpStream::connect("127.0.0.1:4444").expect("connected");
        assert_equal(&mut follow, &here(), "half-open");
        assert_eq!(states(&follow), [State::Established, State::SynReceived, State::Listen]);
        drop(listener);
        // The half-open one outlives its listener for a moment.
        assert_equal(&mut follow, &here(), "the listener is gone");
        drop(client);
        assert_equal(&mut follow, &here(), "both are gone");
    });
}

#[test]
fn what_is_closed_half_by_half_loses_its_holder() {
    in_own_namespace(|| {
        let mut follow = follow_here();
        let listener = TcpListener::bind("[::]:0").expect("bound");
        let port = listener.local_addr().expect("bound").port();
        for called in ["127.0.0.1", "::1"] {
            let mut client = TcpStream::connect((called, port)).expect("connected");
            let (server, _) = listener.accept().expect("accepted");
            client.shutdown(Shutdown::Write).expect("connected");
            assert_equal(&mut follow, &here(), "FIN-WAIT-2 and CLOSE-WAIT");
            server.shutdown(Shutdown::Write).expect("connected");
            assert_equal(&mut follow, &here(), "TIME-WAIT");
            assert_eq!(client.read(&mut [0]).expect("the end"), 0);
            drop((client, server));
            assert_equal(&mut follow, &here(), "gone");
        }
    });
}

#[test]
fn one_closed_in_fin_wait_2_is_followed_to_its_end() {
    in_own_namespace(|| {
        let mut follow = follow_here();
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (server, _) = listener.accept().expect("accepted");
        drop(client);
        // The other end's kernel may take a while to acknowledge.
        eventually("its end is acknowledged", || {
            follow.refresh().expect("refreshed");
            !states(&follow).contains(&State::FinWait1)
        });
        // The kernel keeps a small structure in its place.
        assert_equal(&mut follow, &here(), "FIN-WAIT-2 without a holder");
        assert_eq!(states(&follow), [State::FinWait2, State::CloseWait, State::Listen]);
        drop(server);
        assert_equal(&mut follow, &here(), "TIME-WAIT");
        assert_eq!(states(&follow), [State::TimeWait, State::Listen]);
        drop(listener);
        // Found by a walk, too.
        assert_equal(&mut follow_here(), &here(), "opened later");
    });
}

#[test]
fn a_socket_can_be_used_again() {
    in_own_namespace(|| {
        let mut follow = follow_here();
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let called = listener.local_addr().expect("bound");
        let client = TcpStream::connect(called).expect("connected");
        let (server, _) = listener.accept().expect("accepted");
        assert_equal(&mut follow, &here(), "connected");
        rustix::net::connect_unspec(client.as_fd()).expect("disconnected");
        assert_equal(&mut follow, &here(), "disconnected");
        rustix::net::connect(client.as_fd(), &called).expect("connected again");
        assert_equal(&mut follow, &here(), "connected again");
        drop(server);
        drop(client);
        assert_equal(&mut follow, &here(), "closed");
    });
}

#[test]
fn a_reset_ends_both_ends() {
    in_own_namespace(|| {
        let mut follow = follow_here();
        let listener = TcpListener::bind("[::1]:0").expect("bound");
        let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (server, _) = listener.accept().expect("accepted");
        assert_equal(&mut follow, &here(), "connected");
        sockopt::set_socket_linger(&client, Some(Duration::ZERO)).expect("set");
        drop(client);
        assert_equal(&mut follow, &here(), "reset");
        assert_eq!(states(&follow), [State::Listen]);
        drop(server);
    });
}
