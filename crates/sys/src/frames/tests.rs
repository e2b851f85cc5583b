use std::os::unix::net::UnixDatagram;

use super::*;

fn frame(bytes: &[u8]) -> Frame {
    Frame { bytes: bytes.into(), len: bytes.len(), is_cut: false }
}

#[test]
fn batches_arrive_in_order_and_whole() {
    let (one, other) = UnixDatagram::pair().unwrap();
    let frames: Vec<Frame> = (0..BATCH + 1).map(|n| frame(&vec![7; n + 1])).collect();
    let first = send(&one, &frames).unwrap();
    // The kernel may have room for fewer.
    assert!((1..=BATCH).contains(&first), "{first}");
    let mut room = vec![Frame::with_capacity(100); BATCH + 1];
    let mut lengths = Vec::new();
    while let Ok(got) = receive(&other, &mut room) {
        assert!((1..=BATCH).contains(&got), "{got}");
        lengths.extend(room[..got].iter().map(|frame| frame.len));
        assert!(room[..got].iter().all(|frame| frame.bytes[..frame.len].iter().all(|&b| b == 7)));
    }
    assert_eq!(lengths, (1..=first).collect::<Vec<_>>());
}

#[test]
fn what_is_longer_than_its_buffer_is_said_to_be_cut() {
    let (one, other) = UnixDatagram::pair().unwrap();
    assert_eq!(send(&one, &[frame(&[1; 5]), frame(&[2; 4])]).unwrap(), 2);
    let mut room = vec![Frame::with_capacity(4); 8];
    assert_eq!(receive(&other, &mut room).unwrap(), 2);
    assert_eq!((room[0].len, room[0].is_cut), (4, true));
    assert_eq!((room[1].len, room[1].is_cut), (4, false));
}

#[test]
fn nothing_to_receive_and_nothing_to_send_do_not_wait() {
    let (one, other) = UnixDatagram::pair().unwrap();
    let mut room = vec![Frame::with_capacity(4); 2];
    let error = receive(&one, &mut room).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    assert_eq!(send(&other, &[]).unwrap(), 0);
}
