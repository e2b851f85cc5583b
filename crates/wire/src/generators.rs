//! Values for the tests, and frames that Linux 6 sent over its loopback interface.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::vec::Vec;

use proptest::{collection::vec, option, prelude::*};

use crate::{
    Seq,
    ethernet::Address,
    tcp::{FastOpenCookie, Flags, Options, Repr, SackBlock, SackBlocks, Timestamps},
};

/// A SYN over IPv4, of which the device would have completed the checksum.
pub const SYN_V4: &str = "\
    00000000000000000000000008004500003c4abe40004006f1fb7f0000017f0000018880b8137bbae94e00000000a0\
    02ffd7fe3000000204ffd70402080a2ff0794c000000000103030a";

/// A SYN over IPv6, the same.
pub const SYN_V6: &str = "\
    00000000000000000000000086dd600f2ae90028064000000000000000000000000000000001000000000000000000\
    00000000000001e8ecb813b1f5bcf100000000a002ffc4003000000204ffc40402080aed739a51000000000103030a";

/// A datagram to a port on which nobody listens is answered, over IPv4.
pub const UNREACHABLE_V4: &str = "\
    000000000000000000000000080045c0003a44130000400137ee7f0000017f00000103034ff5000000004500001e8f\
    6040004011ad6c7f0000017f0000018e61b814000afe1d6869";

/// The same over IPv6.
pub const UNREACHABLE_V6: &str = "\
    00000000000000000000000086dd600905ea003a3a4000000000000000000000000000000001000000000000000000\
    0000000000000101043dc60000000060009692000a1140000000000000000000000000000000010000000000000000\
    0000000000000001983bb814000a001d6869";

pub fn hex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2));
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal digits"))
        .collect()
}

pub fn bytes(length_max: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..=length_max)
}

/// Two addresses of one family.
pub fn addresses() -> impl Strategy<Value = (IpAddr, IpAddr)> {
    prop_oneof![
        any::<(Ipv4Addr, Ipv4Addr)>().prop_map(|(a, b)| (IpAddr::V4(a), IpAddr::V4(b))),
        any::<(Ipv6Addr, Ipv6Addr)>().prop_map(|(a, b)| (IpAddr::V6(a), IpAddr::V6(b))),
    ]
}

pub fn hardware_address() -> impl Strategy<Value = Address> {
    any::<[u8; 6]>().prop_map(Address)
}

/// Options that fit into a header.
pub fn options() -> impl Strategy<Value = Options> {
    let timestamps = any::<(u32, u32)>().prop_map(|(value, echo)| Timestamps { value, echo });
    let numbers = any::<(Option<u16>, bool)>();
    let cookie = prop_oneof![Just(0..0usize), (2..=8usize).prop_map(|pairs| 0..pairs * 2)];
    let fast_open = (cookie, any::<[u8; 16]>())
        .prop_map(|(length, bytes)| FastOpenCookie::new(&bytes[length]).expect("a right length"));
    let fast_open = option::weighted(0.2, fast_open);
    let blocks = vec(any::<(u32, u32)>(), 0..=4);
    (numbers, option::of(0..=14u8), option::of(timestamps), fast_open, blocks)
        .prop_map(|((mss, sack_permitted), window_scale, timestamps, fast_open, blocks)| {
            let mut sack = SackBlocks::default();
            for (left, right) in blocks {
                assert!(sack.push(SackBlock { left: Seq(left), right: Seq(right) }));
            }
            Options { mss, window_scale, sack_permitted, timestamps, fast_open, sack }
        })
        .prop_filter("40 bytes at most", |options| options.len() <= 40)
}

pub fn segment() -> impl Strategy<Value = Repr> {
    (any::<(u16, u16, u32, u32)>(), any::<(u8, u16, u16)>(), options()).prop_map(
        |(
            (source_port, destination_port, sequence, acknowledgment),
            (flags, window, urgent),
            o,
        )| {
            Repr {
                source_port,
                destination_port,
                sequence: Seq(sequence),
                acknowledgment: Seq(acknowledgment),
                flags: Flags(flags),
                window,
                urgent_pointer: urgent,
                options: o,
            }
        },
    )
}
