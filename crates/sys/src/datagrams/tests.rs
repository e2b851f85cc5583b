use std::net::{Ipv4Addr, UdpSocket};

use super::*;

fn pair(address: &str) -> (UdpSocket, UdpSocket) {
    (UdpSocket::bind((address, 0)).unwrap(), UdpSocket::bind((address, 0)).unwrap())
}

fn put<const BYTES: usize>(outbox: &mut Outbox<BYTES>, to: SocketAddr, bytes: &[u8]) {
    outbox.push(&Destination::Ip(to), |buffer| {
        buffer[..bytes.len()].copy_from_slice(bytes);
        bytes.len()
    });
}

/// What is there; loopback delivers before the sender goes on.
fn take<const BYTES: usize>(inbox: &mut Inbox<BYTES>, socket: &UdpSocket) -> Vec<(Vec<u8>, bool)> {
    let mut all = Vec::new();
    let received = inbox.receive(socket, |it| all.push((it.bytes.to_vec(), it.is_cut)));
    match received {
        Ok(count) => assert_eq!(count, all.len()),
        Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EAGAIN)),
    }
    all
}

#[test]
fn datagrams_arrive_in_order_from_whom_they_came() {
    for address in ["127.0.0.1", "::1"] {
        let (from, to) = pair(address);
        let (source, target) = (from.local_addr().unwrap(), to.local_addr().unwrap());
        let mut outbox = Outbox::<16>::default();
        assert!(outbox.is_empty());
        for number in 0..10_u8 {
            // Of every length, none too.
            put(&mut outbox, target, &vec![number; number.into()]);
        }
        assert_eq!((outbox.len(), outbox.is_empty(), outbox.is_full()), (10, false, false));
        assert_eq!(outbox.send(&from).unwrap(), 10);
        assert!(outbox.is_empty());
        let mut inbox = Inbox::<16>::default();
        let mut next = 0;
        let count = inbox.receive(&to, |it| {
            assert_eq!((it.source, it.is_cut), (Some(source), false));
            assert_eq!(it.bytes, vec![next; next.into()]);
            next += 1;
        });
        assert_eq!((count.unwrap(), next), (10, 10));
    }
}

#[test]
fn what_does_not_fit_is_cut_and_says_so() {
    let (from, to) = pair("127.0.0.1");
    let target = to.local_addr().unwrap();
    for bytes in ["long enough", "8 bytes!", "short"] {
        from.send_to(bytes.as_bytes(), target).unwrap();
    }
    let taken = take(&mut Inbox::<8>::default(), &to);
    let expected =
        [(b"long eno".to_vec(), true), (b"8 bytes!".to_vec(), false), (b"short".to_vec(), false)];
    assert_eq!(taken, expected);
}

#[test]
fn a_length_beyond_the_buffer_is_the_buffer() {
    let (from, to) = pair("127.0.0.1");
    let mut outbox = Outbox::<4>::default();
    outbox.push(&Destination::Ip(to.local_addr().unwrap()), |buffer| {
        buffer.fill(7);
        usize::MAX
    });
    outbox.send(&from).unwrap();
    assert_eq!(take(&mut Inbox::<16>::default(), &to), [(vec![7; 4], false)]);
}

#[test]
fn more_than_one_call_takes() {
    let (from, to) = pair("127.0.0.1");
    let (target, mut outbox) = (to.local_addr().unwrap(), Outbox::<4>::default());
    for round in 0..2_u8 {
        for number in 0..BATCH {
            assert!(!outbox.is_full());
            put(&mut outbox, target, &[round, u8::try_from(number).unwrap()]);
        }
        assert!(outbox.is_full());
        assert_eq!(outbox.send(&from).unwrap(), BATCH);
    }
    put(&mut outbox, target, &[2, 0]);
    assert_eq!(outbox.send(&from).unwrap(), 1);
    let mut inbox = Inbox::<4>::default();
    for (round, count) in [(0, BATCH), (1, BATCH), (2, 1), (3, 0)] {
        let taken = take(&mut inbox, &to);
        let expected: Vec<_> =
            (0..count).map(|number| (vec![round, u8::try_from(number).unwrap()], false)).collect();
        assert_eq!(taken, expected);
    }
}

#[test]
#[should_panic(expected = "an outbox is sent before it overflows")]
fn an_outbox_that_is_full_takes_no_more() {
    let mut outbox = Outbox::<4>::default();
    let target = (Ipv4Addr::LOCALHOST, 9).into();
    (0..=BATCH).for_each(|_| put(&mut outbox, target, b"it"));
}

#[test]
fn nothing_there_is_eagain_and_nothing_to_send_is_nothing_sent() {
    let (from, _to) = pair("127.0.0.1");
    let error = Inbox::<4>::default().receive(&from, |_| panic!("nothing came")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EAGAIN));
    assert_eq!(Outbox::<4>::default().send(&from).unwrap(), 0);
    // No descriptor is asked where nothing waits.
    let file = std::fs::File::open("/dev/null").unwrap();
    assert_eq!(Outbox::<4>::default().send(&file).unwrap(), 0);
}

#[test]
fn what_the_kernel_refuses_is_an_error_when_it_is_the_first() {
    let (from, to) = pair("127.0.0.1");
    let (good, bad) = (to.local_addr().unwrap(), "255.255.255.255:9".parse().unwrap());
    let mut outbox = Outbox::<4>::default();
    for (target, bytes) in [(good, b"1"), (good, b"2"), (bad, b"3"), (bad, b"4"), (good, b"5")] {
        put(&mut outbox, target, bytes);
    }
    assert_eq!(outbox.send(&from).unwrap(), 2, "as far as it takes them");
    for left in [3, 2] {
        assert_eq!(outbox.len(), left);
        // A broadcast without SO_BROADCAST.
        assert_eq!(outbox.send(&from).unwrap_err().raw_os_error(), Some(libc::EACCES));
        assert_eq!(outbox.len(), left, "it still waits");
        outbox.drop_first();
    }
    assert_eq!(outbox.send(&from).unwrap(), 1);
    let taken = take(&mut Inbox::<4>::default(), &to);
    assert_eq!(taken.concat_bytes(), b"125");
    outbox.drop_first();
    assert!(outbox.is_empty(), "none to drop is no error");
}

trait ConcatBytes {
    fn concat_bytes(&self) -> Vec<u8>;
}

impl ConcatBytes for Vec<(Vec<u8>, bool)> {
    fn concat_bytes(&self) -> Vec<u8> {
        self.iter().flat_map(|(bytes, _)| bytes.clone()).collect()
    }
}

#[test]
fn the_pending_error_of_a_socket_is_told() {
    let (from, to) = pair("127.0.0.1");
    from.connect(to.local_addr().unwrap()).unwrap();
    drop(to);
    from.send(b"is anybody there?").unwrap();
    let error = Inbox::<4>::default().receive(&from, |_| panic!("nothing came")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ECONNREFUSED));
}
