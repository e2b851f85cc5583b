//! Multicast listener discovery: routers and switches hear which groups this host is in.

use std::{net::Ipv6Addr, time::Duration};

use portolan_stack::{Delivered, Dropped, DuplicateDetection, Noted};
use portolan_wire::{
    ethernet, icmpv6, ipv6,
    ipv6::extension::{Extension, options::ROUTER_ALERT_MULTICAST_LISTENER},
    mld::{self, Extended, Message, Query, RecordKind},
    ndp::solicited_node,
    protocol,
};

use crate::world::*;

const ROUTER: Ipv6Addr = GATEWAY_V6;
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const EXTENDED: Extended<'static> =
    Extended { suppresses: false, robustness: 2, interval_code: 125, sources: &[] };

fn query(group: Ipv6Addr, extended: Option<Extended<'static>>) -> Message<'static> {
    Message::Query(Query { extended, response_code: 1_000, group })
}

/// A frame with a message, and these hop-by-hop options.
fn mld_frame(
    message: Message<'_>,
    (source, destination): (Ipv6Addr, Ipv6Addr),
    hop_limit: u8,
    options: &[u8],
) -> Vec<u8> {
    let repr = mld::Repr { message, records: &[] };
    let extension = Extension::HopByHop(options);
    let chain = ipv6::extension::Repr { next_header: protocol::ICMPV6, extension };
    let mut bytes = vec![0; chain.header_len() + repr.header_len()];
    chain.emit(&mut bytes).unwrap();
    repr.emit(&mut bytes[chain.header_len()..], source, destination).unwrap();
    let header = ipv6::Repr { hop_limit, ..v6_header(source, destination) };
    v6_frame(header, protocol::HOP_BY_HOP, &bytes)
}

fn asked(message: Message<'_>, destination: Ipv6Addr) -> Vec<u8> {
    mld_frame(message, (ROUTER, destination), 1, &ROUTER_ALERT_MULTICAST_LISTENER)
}

/// What a report that left says: its addresses, what kind of records, and the groups.
fn read(frame: &[u8]) -> (Ipv6Addr, Ipv6Addr, Option<RecordKind>, Vec<Ipv6Addr>) {
    let (link, packet) = read_v6(frame);
    assert_eq!(link.destination(), ethernet::Address::of_multicast_v6(packet.destination()));
    let message = read_icmp_v6(frame);
    let packet_mld = mld::Packet::parse(&message).unwrap();
    packet_mld.check_carrier(&packet).unwrap();
    let (source, destination) = (packet.source(), packet.destination());
    match packet_mld.message() {
        Message::ReportV1(group) => (source, destination, None, vec![group]),
        Message::Report => {
            let kind = packet_mld.records().next().map(|record| record.kind);
            assert!(packet_mld.records().all(|record| record.sources.is_empty()));
            let groups = packet_mld.records().map(|record| record.group).collect();
            (source, destination, kind, groups)
        }
        other => panic!("{other:?}"),
    }
}

/// The solicited nodes of both addresses are one group, as their last three bytes are the same.
fn groups() -> Vec<Ipv6Addr> {
    assert_eq!(solicited_node(V6), solicited_node(LOCAL_V6));
    vec![solicited_node(V6)]
}

fn news(from: Ipv6Addr) -> (Ipv6Addr, Ipv6Addr, Option<RecordKind>, Vec<Ipv6Addr>) {
    (from, mld::ALL_ROUTERS, Some(RecordKind::CHANGE_TO_EXCLUDE_MODE), groups())
}

/// RFC 3810, section 6.1; RFC 4861, section 7.2.1.
#[test]
fn the_groups_of_the_addresses_are_told_at_the_start() {
    let mut world = World::fresh(config());
    world.after(Duration::ZERO);
    world.drain();
    assert_eq!(world.reports.iter().map(|frame| read(frame)).collect::<Vec<_>>(), [news(LOCAL_V6)]);
    world.after(Duration::from_secs(1));
    world.drain();
    assert_eq!(world.reports.len(), 2, "what may be lost is told twice");
    assert_eq!(world.counters().noted(Noted::MldReport), 2);
    let mut settings = config();
    settings.addresses.remove(1);
    settings.routes.remove(1);
    let silent = World::with(settings);
    assert_eq!(silent.reports.len(), 0, "without IPv6");
    let silent = World::with(portolan_stack::Config { speaks: false, ..config() });
    assert_eq!(silent.reports.len(), 0, "another stack of the host tells");
}

/// RFC 4862, section 5.4.2; RFC 3590, section 4: a switch that has not heard of the group would
/// not let the answer of a rival through.
#[test]
fn the_group_is_told_before_it_is_asked_for_duplicates() {
    let mut settings = config();
    settings.duplicates = DuplicateDetection::Full;
    let mut world = World::fresh(settings);
    world.after(Duration::ZERO);
    let mut buffer = vec![0; 1_514];
    let departure = world.stack.poll_transmit(world.now, &mut buffer).unwrap();
    assert_eq!(read(&buffer[..departure.len]), news(Ipv6Addr::UNSPECIFIED));
    world.drain();
    for _ in 0..8 {
        world.after(Duration::from_millis(500));
        world.drain();
    }
    let from: Vec<_> = world.reports.iter().map(|frame| read(frame).0).collect();
    assert_eq!(from, [Ipv6Addr::UNSPECIFIED, LOCAL_V6, LOCAL_V6]);
}

/// RFC 3810, sections 6.2 and 8.2.1.
#[test]
fn queries_are_answered() {
    let group = solicited_node(V6);
    for (destination, message) in [
        (ALL_NODES, query(Ipv6Addr::UNSPECIFIED, Some(EXTENDED))),
        (group, query(group, Some(EXTENDED))),
        (ALL_NODES, query(Ipv6Addr::UNSPECIFIED, None)),
        (group, query(group, None)),
    ] {
        let mut world = World::acquainted();
        world.reports.clear();
        world.hear(&asked(message, destination));
        assert_eq!(world.delivered(Delivered::Mld), 1, "{:?}", world.reasons());
        world.after(Duration::from_millis(1_000));
        world.drain();
        let reports: Vec<_> = world.reports.iter().map(|frame| read(frame)).collect();
        let Message::Query(Query { extended, .. }) = message else { panic!("{message:?}") };
        let expected = match extended {
            Some(_) => {
                let kind = Some(RecordKind::MODE_IS_EXCLUDE);
                (LOCAL_V6, mld::ALL_ROUTERS, kind, groups())
            }
            None => (LOCAL_V6, group, None, groups()),
        };
        assert_eq!(reports, [expected]);
        assert_eq!(world.stack.poll_timeout(), None);
    }
}

/// RFC 3810, section 6.2.
#[test]
fn what_no_router_of_this_link_asks_is_dropped() {
    let alert = ROUTER_ALERT_MULTICAST_LISTENER;
    let mut world = World::acquainted();
    let ask = query(Ipv6Addr::UNSPECIFIED, Some(EXTENDED));
    for (source, hop_limit, options) in [
        (PEER_V6, 1, alert),
        (ROUTER, 2, alert),
        (ROUTER, 1, [5, 2, 0, 1]),
        (ROUTER, 1, [1, 2, 0, 0]),
    ] {
        let frame = mld_frame(ask, (source, ALL_NODES), hop_limit, &options);
        world.drops(&frame, Dropped::MldMalformed);
    }
    let mut damaged = asked(ask, ALL_NODES);
    *damaged.last_mut().unwrap() ^= 1;
    world.drops(&damaged, Dropped::IcmpChecksum);
    world.drops(&asked(Message::Report, ALL_NODES), Dropped::MldNotForUs);
    world.drops(&asked(Message::Done(ALL_NODES), ALL_NODES), Dropped::MldNotForUs);
    let none = Ipv6Addr::UNSPECIFIED;
    world.drops(&mld_frame(ask, (none, ALL_NODES), 1, &alert), Dropped::IpSource);
    assert_eq!(world.stack.poll_timeout(), None, "nothing is to be answered");
    assert_eq!(icmpv6::Kind::MULTICAST_LISTENER_REPORT_V2.0, 143);
}
