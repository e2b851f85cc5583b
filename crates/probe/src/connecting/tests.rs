use std::net::{Ipv4Addr, TcpListener};

use super::*;

#[test]
fn room_is_what_the_limit_leaves() {
    assert_eq!(room(Some(1024), 10), 950);
    assert_eq!(room(Some(64), 10), 38, "a quarter is left where there are few");
    assert_eq!(room(Some(8), 10), 1, "one at a time, and the system call's error if even that");
    assert_eq!(room(Some(1 << 20), 10), SOCKETS);
    assert_eq!(room(None, 10), SOCKETS);
    assert_eq!(room(Some(u64::MAX), usize::MAX), 1);
}

#[test]
fn the_raw_method_is_not_for_kernel_sockets() {
    let refused = Connecting::new(MethodName::Syn).err().map(|error| error.kind());
    assert_eq!(refused, Some(io::ErrorKind::InvalidInput));
    for name in [MethodName::Connect, MethodName::Linger, MethodName::Quiet] {
        assert_eq!(Connecting::new(name).unwrap().name(), name);
    }
}

/// A connection that is over, under a key as if it had been under way.
fn ready(method: &mut Connecting, id: Id, attempt: u8, target: &TcpListener) -> Key {
    let fd = method.open(&target.local_addr().unwrap()).unwrap();
    let _ = net::connect(&fd, &target.local_addr().unwrap());
    method.under_way.insert(Socket { fd, id, attempt, may_meet_itself: false })
}

#[test]
fn events_fetched_before_their_check_was_over_are_not_taken_for_the_next_one() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut method = Connecting::new(MethodName::Quiet).unwrap();
    let first = ready(&mut method, Id(0), 0, &listener);
    let second = ready(&mut method, Id(0), 1, &listener);
    let heard = method.heard(first, EventFlags::OUT);
    assert_eq!(heard.map(|(id, answer)| (id, answer.attempt)), Some((Id(0), Some(0))));
    assert_eq!(method.heard(second, EventFlags::OUT), None, "the first answer ended the check");
    let next = ready(&mut method, Id(0), 0, &listener);
    assert_eq!(method.heard(second, EventFlags::OUT), None, "its slot is in use again");
    assert_eq!(method.heard(first, EventFlags::OUT), None, "its slot is in use again");
    assert!(method.heard(next, EventFlags::OUT).is_some());
    assert_eq!(method.under_way.len(), 0);
}

#[test]
fn it_can_move_to_another_thread() {
    fn is_send<T: Send>(_: &T) {}
    is_send(&Connecting::new(MethodName::Quiet).unwrap());
}
