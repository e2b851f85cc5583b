use std::net::{TcpListener, TcpStream};

use super::*;
use crate::scene::in_own_namespace;

#[test]
fn only_tcp_counts() {
    let v4 = "sockets: used 243\nTCP: inuse 12 orphan 0 tw 3 alloc 13 mem 1\nUDP: inuse 4 mem 2\n";
    assert_eq!(in_use(v4), Some(12));
    assert_eq!(in_use("TCP6: inuse 3\nUDP6: inuse 5\n"), Some(3));
    assert_eq!(in_use("UDP: inuse 5\n"), None);
    assert_eq!(in_use(""), None);
}

#[test]
fn the_kernel_counts_listeners_and_connections_but_not_those_that_wait() {
    in_own_namespace(|| {
        let count = Count::open(&Place::here()).expect("it exists");
        assert_eq!(count.sockets(), Some(0));
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let other = TcpListener::bind("[::1]:0").expect("bound");
        assert_eq!(count.sockets(), Some(2));
        let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        assert_eq!(count.sockets(), Some(4), "accepted or not");
        let accepted = listener.accept().expect("accepted");
        drop(client);
        drop(accepted);
        assert_eq!(count.sockets(), Some(2), "one is in TIME-WAIT");
        drop((listener, other));
    });
}

#[test]
fn a_count_that_never_agrees_is_not_asked_for_any_more() {
    in_own_namespace(|| {
        let mut count = Count::open(&Place::here()).expect("it exists");
        for agrees in [false, false, true, false, false] {
            count.judge(agrees);
            assert!(count.sockets().is_some());
        }
        count.judge(false);
        assert_eq!(count.sockets(), None);
    });
}
