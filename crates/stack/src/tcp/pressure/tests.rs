use std::{boxed::Box, net::IpAddr, vec::Vec};

use portolan_wire::Seq;

use super::*;
use crate::{
    random::Keys,
    tcp::{Config, reassembly::Reassembly},
};

const HERE: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(192, 0, 2, 1));
const THERE: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(192, 0, 2, 2));

/// A connection with a gap.
fn hold(tcp: &mut Tcp, port: u16) -> ConnectionId {
    let (local, remote) = ((HERE, port).into(), (THERE, 80).into());
    let id = tcp.connect_from(local, remote, 1_500, Instant::ZERO).unwrap();
    let mut reassembly = Box::new(Reassembly::new());
    reassembly.insert(Seq(10), Seq(20));
    tcp.connections.get_mut(id.index).unwrap().receiver.reassembly = Some(reassembly);
    tcp.remember_holder(id);
    id
}

/// However many have held early data once, the queue is not much longer than those who do, and
/// each of these is in it once.
#[test]
fn the_queue_of_holders_does_not_grow_with_those_who_have_gone() {
    let mut tcp = Tcp::new(Config::default(), &Keys::new([1; 32]), Instant::ZERO);
    let stay: Vec<ConnectionId> = (0..100).map(|number| hold(&mut tcp, 1_000 + number)).collect();
    for number in 0..50_000_u32 {
        let id = hold(&mut tcp, 2_000 + (number % 50_000) as u16);
        tcp.abort(id, Instant::ZERO).unwrap();
        while tcp.poll_transmit(Instant::ZERO, &mut [0; 100]).is_some() {}
        assert!(tcp.holders.len() <= 2 * stay.len() + 4, "{} after {number}", tcp.holders.len());
    }
    for id in stay {
        assert_eq!(tcp.holders.iter().filter(|one| **one == id).count(), 1);
    }
}
