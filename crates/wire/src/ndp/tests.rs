use std::{vec, vec::Vec};

use proptest::{collection::vec, prelude::*};
use smoltcp::{
    phy::ChecksumCapabilities,
    time::Duration,
    wire::{
        Icmpv6Packet, Icmpv6Repr, NdiscNeighborFlags, NdiscPrefixInfoFlags, NdiscPrefixInformation,
        NdiscRepr, NdiscRouterFlags, RawHardwareAddress,
    },
};

use super::*;
use crate::{Check, ethernet::Address, generators::bytes};

const LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const GLOBAL: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0x12, 0x3456);
const HARDWARE: Address = Address([2, 0, 0, 0, 0, 7]);

fn emit(repr: &Repr<'_>, source: Ipv6Addr, destination: Ipv6Addr) -> Vec<u8> {
    let mut message = vec![0xee; repr.header_len()];
    repr.emit(&mut message, source, destination).unwrap();
    message
}

fn parse(bytes: &[u8]) -> Result<Packet<'_>, Malformed> {
    Packet::parse(&icmpv6::Packet::parse(bytes).unwrap())
}

/// RFC 4861, section 4.3, and RFC 4291, section 2.7.1.
#[test]
fn a_solicitation_is_laid_out_as_the_figure_says() {
    assert_eq!(solicited_node(GLOBAL), "ff02::1:ff12:3456".parse::<Ipv6Addr>().unwrap());
    let message = Message::NeighborSolicitation { target: GLOBAL };
    let options = [Option_::SourceLinkLayerAddress(HARDWARE)];
    let repr = Repr { message, options: &options };
    let bytes = emit(&repr, LINK_LOCAL, solicited_node(GLOBAL));
    assert_eq!((bytes.len(), &bytes[..2]), (32, &[135, 0][..]));
    assert_eq!(
        (&bytes[8..24], &bytes[24..]),
        (&GLOBAL.octets()[..], &[1, 1, 2, 0, 0, 0, 0, 7][..])
    );
}

#[test]
fn refuses_what_is_no_such_message() {
    let error = |kind: u8, code: u8, length: usize| {
        let mut bytes = vec![0; length];
        (bytes[0], bytes[1]) = (kind, code);
        parse(&bytes).map(|_| ()).unwrap_err()
    };
    assert_eq!(error(128, 0, 8), Malformed::Value { what: "NDP type", found: 128 });
    assert_eq!(error(133, 1, 8), Malformed::Value { what: "NDP code", found: 1 });
    let truncated = |what, needed, found| Malformed::Truncated { what, needed, found };
    assert_eq!(error(134, 0, 15), truncated("router advertisement", 8, 7));
    assert_eq!(error(135, 0, 23), truncated("neighbor solicitation", 16, 15));
    assert_eq!(error(136, 0, 23), truncated("neighbor advertisement", 16, 15));
    assert_eq!(error(137, 0, 39), truncated("NDP redirect", 16, 15));
    assert_eq!(error(135, 0, 25), truncated("NDP option", 2, 1));
}

#[test]
fn refuses_what_has_no_room() {
    let message = Message::RouterSolicitation;
    let mut buffer = [0; 15];
    let repr = Repr { message, options: &[Option_::Mtu(1)] };
    let error = NoRoom::Buffer { what: "NDP message", needed: 16, found: 15 };
    assert_eq!(repr.emit(&mut buffer, GLOBAL, GLOBAL), Err(error));
    assert_eq!(buffer, [0; 15]);
    let repr = Repr { message, options: &[Option_::Unknown { kind: 9, data: &[0; 2039] }] };
    let what = "length of an NDP option";
    let error = NoRoom::Field { what, max: 2040, found: 2048 };
    assert_eq!(repr.emit(&mut [0; 3000], GLOBAL, GLOBAL), Err(error));
}

/// Whether a host may believe it: RFC 4861, sections 6.1, 7.1 and 8.1.
fn is_believed(repr: &Repr<'_>, source: Ipv6Addr, destination: Ipv6Addr, hop_limit: u8) -> bool {
    let message = emit(repr, source, destination);
    let header = ipv6::Repr {
        traffic_class: 0,
        flow_label: 0,
        next_header: ICMPV6,
        hop_limit,
        source,
        destination,
        payload_len: message.len(),
    };
    let mut packet = [&[0; ipv6::HEADER_BYTES][..], &message].concat();
    header.emit(&mut packet).unwrap();
    let carrier = ipv6::Packet::parse(&packet).unwrap();
    parse(carrier.payload()).unwrap().check_carrier(&carrier).is_ok()
}

#[test]
fn rules_of_rfc_4861() {
    let none = Ipv6Addr::UNSPECIFIED;
    let all_nodes = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    let address = [Option_::SourceLinkLayerAddress(HARDWARE)];
    let with = |message| Repr { message, options: &address };
    let without = |message| Repr { message, options: &[] };

    let ask = Message::RouterSolicitation;
    assert!(is_believed(&with(ask), LINK_LOCAL, all_nodes, 255));
    assert!(!is_believed(&with(ask), LINK_LOCAL, all_nodes, 254), "it passed a router");
    assert!(
        !is_believed(&with(ask), none, all_nodes, 255)
            && is_believed(&without(ask), none, all_nodes, 255)
    );

    let tell = Message::RouterAdvertisement(RouterAdvertisement::default());
    assert!(is_believed(&with(tell), LINK_LOCAL, all_nodes, 255));
    assert!(!is_believed(&with(tell), GLOBAL, all_nodes, 255));

    let ask = |target| Message::NeighborSolicitation { target };
    assert!(is_believed(&with(ask(GLOBAL)), LINK_LOCAL, GLOBAL, 255));
    assert!(!is_believed(&with(ask(all_nodes)), LINK_LOCAL, GLOBAL, 255));
    assert!(is_believed(&without(ask(GLOBAL)), none, solicited_node(GLOBAL), 255));
    assert!(!is_believed(&without(ask(GLOBAL)), none, all_nodes, 255));
    assert!(!is_believed(&with(ask(GLOBAL)), none, solicited_node(GLOBAL), 255));

    let tell = |target, is_solicited| {
        let flags = (false, true);
        let (is_router, overrides) = flags;
        Message::NeighborAdvertisement(NeighborAdvertisement {
            target,
            is_router,
            is_solicited,
            overrides,
        })
    };
    assert!(is_believed(&without(tell(GLOBAL, true)), GLOBAL, LINK_LOCAL, 255));
    assert!(is_believed(&without(tell(GLOBAL, false)), GLOBAL, all_nodes, 255));
    assert!(!is_believed(&without(tell(GLOBAL, true)), GLOBAL, all_nodes, 255));
    assert!(!is_believed(&without(tell(all_nodes, true)), GLOBAL, LINK_LOCAL, 255));

    let go = |target, destination| Message::Redirect { target, destination };
    assert!(is_believed(&without(go(LINK_LOCAL, GLOBAL)), LINK_LOCAL, GLOBAL, 255));
    assert!(is_believed(&without(go(GLOBAL, GLOBAL)), LINK_LOCAL, GLOBAL, 255));
    assert!(!is_believed(&without(go(GLOBAL, LINK_LOCAL)), LINK_LOCAL, GLOBAL, 255));
    assert!(!is_believed(&without(go(LINK_LOCAL, GLOBAL)), GLOBAL, GLOBAL, 255));
    assert!(!is_believed(&without(go(LINK_LOCAL, all_nodes)), LINK_LOCAL, GLOBAL, 255));
}

fn message() -> impl Strategy<Value = Message> {
    let advertisement = any::<(u8, (bool, bool), u16, u32, u32)>().prop_map(
        |(hop_limit, (managed, other), lifetime_s, reachable_ms, retransmit_ms)| {
            Message::RouterAdvertisement(RouterAdvertisement {
                hop_limit,
                managed,
                other,
                lifetime_s,
                reachable_ms,
                retransmit_ms,
            })
        },
    );
    let neighbor = any::<(Ipv6Addr, bool, bool, bool)>().prop_map(
        |(target, is_router, is_solicited, overrides)| {
            Message::NeighborAdvertisement(NeighborAdvertisement {
                target,
                is_router,
                is_solicited,
                overrides,
            })
        },
    );
    prop_oneof![
        Just(Message::RouterSolicitation),
        advertisement,
        any::<Ipv6Addr>().prop_map(|target| Message::NeighborSolicitation { target }),
        neighbor,
        any::<(Ipv6Addr, Ipv6Addr)>()
            .prop_map(|(target, destination)| Message::Redirect { target, destination }),
    ]
}

fn prefix() -> impl Strategy<Value = Prefix> {
    any::<(Ipv6Addr, u8, (bool, bool), u32, u32)>().prop_map(
        |(prefix, prefix_len, (on_link, autonomous), valid_lifetime_s, preferred_lifetime_s)| {
            Prefix {
                prefix,
                prefix_len,
                on_link,
                autonomous,
                valid_lifetime_s,
                preferred_lifetime_s,
            }
        },
    )
}

const DATA: [u8; 46] = [0xab; 46];
const SERVERS: [[u8; 16]; 3] = [[1; 16], [2; 16], [3; 16]];

fn option() -> impl Strategy<Value = Option_<'static>> {
    prop_oneof![
        any::<[u8; 6]>().prop_map(|address| Option_::SourceLinkLayerAddress(Address(address))),
        any::<[u8; 6]>().prop_map(|address| Option_::TargetLinkLayerAddress(Address(address))),
        prefix().prop_map(Option_::Prefix),
        (0..=5usize).prop_map(|words| Option_::RedirectedHeader(&DATA[..words * 8])),
        any::<u32>().prop_map(Option_::Mtu),
        (any::<u32>(), 1..=3usize).prop_map(|(lifetime_s, count)| {
            Option_::RecursiveDns { lifetime_s, servers: &SERVERS[..count] }
        }),
        (26..=255u8, 0..=5usize)
            .prop_map(|(kind, words)| Option_::Unknown { kind, data: &DATA[..words * 8 + 6] }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(message in message(), options in vec(option(), 0..5),
                               source: Ipv6Addr, destination: Ipv6Addr) {
        let repr = Repr { message, options: &options };
        let bytes = emit(&repr, source, destination);
        let carried = icmpv6::Packet::parse(&bytes).unwrap();
        prop_assert_eq!(carried.check(source, destination), Check::Right);
        let again = Packet::parse(&carried).unwrap();
        prop_assert_eq!(again.message(), message);
        prop_assert_eq!(again.options().collect::<Vec<_>>(), options);
    }

    /// Lifetimes and flags too, but not the reserved bits.
    #[test]
    fn smoltcp_reads_what_is_written(message in message(), hardware: Option<[u8; 6]>,
                                     prefix in prefix(), mtu: u32) {
        let options: Vec<_> = match message {
            Message::RouterAdvertisement(_) => {
                let address = hardware.map(|a| Option_::SourceLinkLayerAddress(Address(a)));
                address.into_iter().chain([Option_::Prefix(prefix), Option_::Mtu(mtu)]).collect()
            }
            Message::RouterSolicitation | Message::NeighborSolicitation { .. } =>
                hardware.map(|a| Option_::SourceLinkLayerAddress(Address(a))).into_iter().collect(),
            _ => {
                let address = hardware.map(|a| Option_::TargetLinkLayerAddress(Address(a)));
                address.into_iter().collect()
            }
        };
        let bytes = emit(&Repr { message, options: &options }, LINK_LOCAL, GLOBAL);
        let lladdr = hardware.map(|address| RawHardwareAddress::from_bytes(&address));
        let expected = match message {
            Message::RouterSolicitation => NdiscRepr::RouterSolicit { lladdr },
            Message::RouterAdvertisement(said) => {
                let mut flags = NdiscRouterFlags::empty();
                flags.set(NdiscRouterFlags::MANAGED, said.managed);
                flags.set(NdiscRouterFlags::OTHER, said.other);
                let mut about = NdiscPrefixInfoFlags::empty();
                about.set(NdiscPrefixInfoFlags::ON_LINK, prefix.on_link);
                about.set(NdiscPrefixInfoFlags::ADDRCONF, prefix.autonomous);
                NdiscRepr::RouterAdvert {
                    hop_limit: said.hop_limit,
                    flags,
                    router_lifetime: Duration::from_secs(said.lifetime_s.into()),
                    reachable_time: Duration::from_millis(said.reachable_ms.into()),
                    retrans_time: Duration::from_millis(said.retransmit_ms.into()),
                    lladdr,
                    mtu: Some(mtu),
                    prefix_info: Some(NdiscPrefixInformation {
                        prefix_len: prefix.prefix_len,
                        flags: about,
                        valid_lifetime: Duration::from_secs(prefix.valid_lifetime_s.into()),
                        preferred_lifetime: Duration::from_secs(prefix.preferred_lifetime_s.into()),
                        prefix: prefix.prefix,
                    }),
                }
            }
            Message::NeighborSolicitation { target } =>
                NdiscRepr::NeighborSolicit { target_addr: target, lladdr },
            Message::NeighborAdvertisement(said) => {
                let mut flags = NdiscNeighborFlags::empty();
                flags.set(NdiscNeighborFlags::ROUTER, said.is_router);
                flags.set(NdiscNeighborFlags::SOLICITED, said.is_solicited);
                flags.set(NdiscNeighborFlags::OVERRIDE, said.overrides);
                NdiscRepr::NeighborAdvert { flags, target_addr: said.target, lladdr }
            }
            Message::Redirect { target, destination } => NdiscRepr::Redirect {
                target_addr: target,
                dest_addr: destination,
                lladdr,
                redirected_hdr: None,
            },
        };
        let packet = Icmpv6Packet::new_checked(&bytes[..]).unwrap();
        let checksums = ChecksumCapabilities::default();
        let theirs = Icmpv6Repr::parse(&LINK_LOCAL, &GLOBAL, &packet, &checksums).unwrap();
        prop_assert_eq!(theirs, Icmpv6Repr::Ndisc(expected));
        // And the other way round: smoltcp writes the same bytes.
        let mut written = vec![0; theirs.buffer_len()];
        let mut packet = Icmpv6Packet::new_unchecked(&mut written[..]);
        theirs.emit(&LINK_LOCAL, &GLOBAL, &mut packet, &checksums);
        let again = parse(&written).unwrap();
        prop_assert_eq!(again.message(), message);
        prop_assert_eq!(again.options().count(), options.len());
        prop_assert!(options.iter().all(|option| again.options().any(|found| found == *option)));
    }

    #[test]
    fn any_bytes_are_read(mut bytes in bytes(100), kind in 133..=137u8) {
        prop_assume!(bytes.len() >= 8);
        (bytes[0], bytes[1]) = (kind, 0);
        if let Ok(packet) = parse(&bytes) {
            prop_assert!(packet.options().map(|option| option.len()).sum::<usize>() <= bytes.len());
        }
    }
}
