use alloc::vec;

use super::*;
use crate::outbox::{Envelope, Origin};

fn message(len: usize) -> Message {
    let envelope = Envelope::Link {
        hardware: portolan_wire::ethernet::Address::BROADCAST,
        ethertype: portolan_wire::ethernet::EtherType::ARP,
    };
    Message { envelope, bytes: vec![0; len], origin: Origin::Host }
}

fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

#[test]
fn the_newest_of_a_neighbour_are_kept() {
    let mut waiting = Waiting::default();
    for len in 1..=4 {
        assert!(waiting.push(address(1), message(len)).is_none());
    }
    let lost = waiting.push(address(1), message(5)).expect("it is one too many");
    assert_eq!(lost.bytes.len(), 1);
    for len in 2..=5 {
        assert_eq!(waiting.take(address(1)).map(|one| one.bytes.len()), Some(len));
    }
    assert!(waiting.take(address(1)).is_none());
    assert_eq!(waiting.bytes, 0);
}

#[test]
fn packets_and_bytes_are_bounded() {
    let mut waiting = Waiting::default();
    let lost = (0..100).filter(|last| waiting.push(address(*last), message(1)).is_some()).count();
    assert_eq!((lost, waiting.len()), (36, 64));
    let mut waiting = Waiting::default();
    let large = (0..100).filter(|last| waiting.push(address(*last), message(60_000)).is_some());
    assert_eq!(large.count(), 96);
    assert!(waiting.bytes <= BYTES_MAX);
    // A full queue loses the new one, and nothing else.
    assert_eq!(waiting.push(address(0), message(60_000)).map(|one| one.bytes.len()), Some(60_000));
    assert_eq!(waiting.len(), 4);
}
