//! In the steady state, packets cost no memory.

use portolan_stack::{Checksum, Delivered};
use portolan_wire::protocol;

use crate::{pair::Pair, world::*};

#[test]
fn a_thousand_pings_allocate_nothing() {
    let mut world = World::acquainted();
    let v4 = v4_frame(v4_header(PEER_V4, V4), protocol::ICMPV4, &ping_v4(&[1; 1_000]));
    let v6 = v6_frame(v6_header(PEER_V6, V6), protocol::ICMPV6, &ping_v6(PEER_V6, V6, &[2; 500]));
    let mut buffer = vec![0; 1_514];
    let mut ping = |frame: &[u8]| {
        let World { stack, now, .. } = &mut world;
        stack.handle_frame(frame, Checksum::Unknown, *now, &mut |_, _| 0);
        assert!(stack.poll_transmit(*now, &mut buffer).is_some());
        assert!(stack.poll_transmit(*now, &mut buffer).is_none());
    };
    for _ in 0..10 {
        ping(&v4);
        ping(&v6);
    }
    let allocated = allocation_counter::measure(|| {
        for _ in 0..500 {
            ping(&v4);
            ping(&v6);
        }
    });
    assert_eq!(allocated.count_total, 0);
    assert_eq!(world.delivered(Delivered::Echo), 1_020);
}

#[test]
fn a_thousand_round_trips_of_tcp_allocate_nothing() {
    for remote in [(PEER_V4, 80).into(), (PEER_V6, 80).into()] {
        let mut pair = Pair::new(|config| config.tcp.nodelay = true);
        let (one, other) = pair.connect(remote);
        let mut buffer = [0; 64];
        let mut round_trip = || {
            let now = pair.now;
            pair.here.tcp().write(one, &[1; 4], now).unwrap();
            pair.run();
            assert_eq!(pair.there.tcp().read(other, &mut buffer, now), Ok(4));
            pair.there.tcp().write(other, &[2; 64], now).unwrap();
            pair.run();
            assert_eq!(pair.here.tcp().read(one, &mut buffer, now), Ok(64));
            while pair.here.poll_event().is_some() || pair.there.poll_event().is_some() {}
            pair.now += std::time::Duration::from_micros(100);
        };
        for _ in 0..200 {
            round_trip();
        }
        let allocated = allocation_counter::measure(|| {
            for _ in 0..1_000 {
                round_trip();
            }
        });
        assert_eq!(allocated.count_total, 0, "{remote}");
    }
}
