use std::io::Read;
use std::os::{fd::OwnedFd, unix::net::UnixStream};

use super::{super::stream::Socket, *};

/// Writes what there is until the kernel takes no more.
fn write_all(output: &mut Output, socket: &OwnedFd, counters: &Counters) -> Sent {
    loop {
        match output.go_on(&mut Socket(socket), &[b'.'; 100], counters).unwrap() {
            Sent::TurnOver => {}
            sent => return sent,
        }
    }
}

#[test]
fn what_the_kernel_does_not_take_is_sent_later_and_in_order() {
    let (mine, mut theirs) = UnixStream::pair().unwrap();
    mine.set_nonblocking(true).unwrap();
    theirs.set_nonblocking(true).unwrap();
    let socket = OwnedFd::from(mine);
    let (counters, mut output) = (Counters::default(), Output::default());
    let bytes: Vec<u8> = (0..1 << 20).map(|nth| b'a' + (nth % 23) as u8).collect();
    output.owe(12_345);
    let sent = output.send(&mut Socket(&socket), &bytes, &[b'.'; 100], &counters).unwrap();
    assert_eq!(sent, Sent::Blocked);
    output.hold_input(b"later");
    assert!(!output.is_empty() && output.held() > 5);
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    while !matches!(write_all(&mut output, &socket, &counters), Sent::All) {
        while let Ok(count) = theirs.read(&mut buffer) {
            all.extend_from_slice(&buffer[..count]);
        }
    }
    while let Ok(count) = theirs.read(&mut buffer) {
        all.extend_from_slice(&buffer[..count]);
    }
    assert_eq!(output.take_input().as_deref(), Some(&b"later"[..]));
    assert!(output.is_empty());
    assert_eq!(all.len(), bytes.len() + 12_345);
    assert_eq!(&all[..bytes.len()], &bytes[..]);
    assert!(all[bytes.len()..].iter().all(|&byte| byte == b'.'));
    assert_eq!(counters.read().bytes_sent, all.len() as u64);
}
