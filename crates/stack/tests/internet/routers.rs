//! Routers that advertise themselves.

use std::time::Duration;

use portolan_stack::{Dropped, UdpError};
use portolan_wire::{
    ethernet::Address,
    ndp::{self, Option_, Prefix, RouterAdvertisement},
};

use crate::world::*;

fn advertisement(lifetime_s: u16, prefix: Option<Prefix>) -> Vec<u8> {
    let said = RouterAdvertisement { lifetime_s, reachable_ms: 5_000, ..Default::default() };
    let mut options = vec![Option_::SourceLinkLayerAddress(PEER_MAC)];
    options.extend(prefix.map(Option_::Prefix));
    let all = "ff02::1".parse().unwrap();
    ndp_frame(ndp::Message::RouterAdvertisement(said), &options, GATEWAY_V6, all)
}

fn world() -> World {
    let mut settings = config();
    settings.routes.clear();
    settings.discover_routers = true;
    World::fresh(settings)
}

/// RFC 4861, section 6.3.7.
#[test]
fn routers_are_asked_for_three_times() {
    let mut world = world();
    let mut asked = 0;
    while let Some(at) = world.stack.poll_timeout() {
        world.now = at;
        world.stack.handle_timeout(at);
        for frame in world.drain() {
            if frame[12..14] == [0x86, 0xdd] && read_icmp_v6(&frame).kind().0 == 133 {
                asked += 1;
                let (link, packet) = read_v6(&frame);
                assert_eq!(link.destination(), Address([0x33, 0x33, 0, 0, 0, 2]));
                assert_eq!(packet.source(), LOCAL_V6);
            }
        }
    }
    assert_eq!(asked, 3);
}

/// RFC 4861, section 6.3.4.
#[test]
fn one_that_answers_is_used_for_its_lifetime() {
    let mut world = world();
    world.after(Duration::ZERO);
    world.drain();
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    let far = (FAR_V6, 9).into();
    let no_route = Err(UdpError::NoRoute(FAR_V6.into()));
    assert_eq!(world.stack.udp_send(port, far, b"", world.now), no_route);
    world.hear(&advertisement(60, None));
    assert_eq!(world.stack.udp_send(port, far, b"", world.now), Ok(()));
    let frames = world.drain();
    assert_eq!(read_v6(&frames[0]).0.destination(), PEER_MAC);
    world.after(Duration::from_secs(60));
    assert_eq!(world.stack.udp_send(port, far, b"", world.now), no_route);
    world.hear(&advertisement(60, None));
    assert_eq!(world.stack.udp_send(port, far, b"", world.now), Ok(()));
    world.hear(&advertisement(0, None));
    assert_eq!(world.stack.udp_send(port, far, b"", world.now), no_route);
}

/// RFC 4861, section 6.3.4.
#[test]
fn a_prefix_on_the_link_needs_no_router() {
    let mut world = world();
    world.after(Duration::ZERO);
    world.drain();
    let prefix = Prefix {
        prefix: "2001:db8:ffff::".parse().unwrap(),
        prefix_len: 64,
        on_link: true,
        autonomous: true,
        valid_lifetime_s: 100,
        preferred_lifetime_s: 100,
    };
    world.hear(&advertisement(0, Some(prefix)));
    let port = world.stack.udp_bind(None, 5_000).unwrap();
    world.stack.udp_send(port, (FAR_V6, 9).into(), b"", world.now).unwrap();
    let frames = world.drain();
    // It is asked for itself.
    assert_eq!(read_v6(&frames[0]).1.destination(), ndp::solicited_node(FAR_V6));
    assert_eq!(world.stack.addresses().count(), 3, "no address is made of it");
}

#[test]
fn who_does_not_ask_does_not_listen() {
    let mut world = World::new();
    world.drops(&advertisement(60, None), Dropped::NdpNotForUs);
}

/// RFC 4861, section 6.1.2.
#[test]
fn routers_that_nobody_can_be_are_dropped() {
    let mut world = world();
    let said = RouterAdvertisement { lifetime_s: 60, ..Default::default() };
    let all = "ff02::1".parse().unwrap();
    let frame = ndp_frame(ndp::Message::RouterAdvertisement(said), &[], PEER_V6, all);
    world.after(Duration::ZERO);
    world.drain();
    world.drops(&frame, Dropped::NdpMalformed);
}
