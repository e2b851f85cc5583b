use super::*;
use crate::State;

/// An event over IPv4, and where a socket over IPv6 lies in the same.
fn v4(bucket: u32, state: u8) -> Vec<u8> {
    let mut bytes = vec![0; V4_BYTES];
    bytes[..8].copy_from_slice(&0xffff_8880_0000_1000_u64.to_ne_bytes());
    bytes[8..12].copy_from_slice(&4_026_531_840_u32.to_ne_bytes());
    bytes[12..16].copy_from_slice(&bucket.to_ne_bytes());
    (bytes[16], bytes[17]) = (AF_INET, state);
    bytes[20..22].copy_from_slice(&4444_u16.to_ne_bytes());
    bytes[48..56].copy_from_slice(&7_u64.to_ne_bytes());
    bytes[56..64].copy_from_slice(&[127, 0, 0, 1, 127, 0, 0, 2]);
    bytes
}

#[test]
fn events_follow_each_other() {
    let bytes = [v4(AT_SOCKET, 1), v4(12, 7)].concat();
    let mut events = Vec::new();
    assert_eq!(decode(&bytes, &mut |event| events.push(event)), 0);
    let [opened, closed] = &events[..] else { panic!("{events:?}") };
    assert_eq!(opened.place, Where::Socket(0xffff_8880_0000_1000));
    assert_eq!(closed.place, Where::Chain(0xffff_8880_0000_1000, 12));
    assert_eq!((opened.netns, opened.row.cookie), (4_026_531_840, 7));
    assert_eq!((opened.row.state, closed.row.state), (State::Established, State::Close));
    assert_eq!(opened.row.local, "127.0.0.1:4444".parse().expect("valid"));
}

#[test]
fn what_is_cut_short_is_counted() {
    let bytes = v4(AT_SOCKET, 1);
    for length in 0..bytes.len() {
        assert_eq!(decode(&bytes[..length], &mut |event| panic!("{event:?}")), length);
    }
    assert_eq!(decode(&v4(AT_SOCKET, 99), &mut |event| panic!("{event:?}")), V4_BYTES);
}

#[test]
fn addresses_of_the_kernel_are_not_shown() {
    assert_eq!(format!("{:?} {:?}", Where::Socket(1), Where::Chain(1, 2)), "Socket Chain");
}
