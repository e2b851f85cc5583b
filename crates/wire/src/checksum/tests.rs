use core::net::{Ipv4Addr, Ipv6Addr};
use std::{vec, vec::Vec};

use proptest::prelude::*;

use super::*;
use crate::generators::{addresses, bytes};

/// The sum as RFC 1071, section 1 describes it, and in no way fast.
fn naive(bytes: &[u8]) -> u16 {
    let mut sum: u64 = 0;
    for pair in bytes.chunks(2) {
        sum += u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn sum_of(bytes: &[u8]) -> Sum {
    let mut sum = Sum::default();
    sum.add(bytes);
    sum
}

/// RFC 1071, section 3.
#[test]
fn example_of_rfc_1071() {
    let sum = sum_of(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
    assert_eq!((sum.folded(), sum.finish()), (0xddf2, 0x220d));
}

/// RFC 1624, section 4: equation 3 gives 0 where equation 2 of RFC 1141 gave 0xffff.
#[test]
fn example_of_rfc_1624() {
    assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
}

#[test]
fn sums_of_nothing_but_ones_and_nothing() {
    assert_eq!(sum_of(&[]).folded(), 0);
    for length in [2, 4, 64, BLOCK_BYTES, 3 * BLOCK_BYTES + 2] {
        assert_eq!(sum_of(&vec![0xff; length]).folded(), 0xffff);
    }
    // An odd block before an even one.
    let long: Vec<u8> = (0..2 * BLOCK_BYTES + 1).map(|at| (at % 251) as u8).collect();
    let mut sum = Sum::default();
    sum.add(&long[..BLOCK_BYTES - 1]);
    sum.add(&long[BLOCK_BYTES - 1..]);
    assert_eq!(sum.folded(), naive(&long));
}

#[test]
fn fold_carries_to_the_end() {
    assert_eq!(fold(u64::MAX), 0xffff);
    assert_eq!(fold(0xffff_ffff_0000_0001), 1);
    assert_eq!(fold(0x0001_ffff_fffe_ffff), 0xffff);
    assert_eq!(fold(0), 0);
}

proptest! {
    #[test]
    fn is_the_naive_sum(bytes in bytes(2000)) {
        prop_assert_eq!(sum_of(&bytes).folded(), naive(&bytes));
    }

    #[test]
    fn parts_do_not_matter(bytes in bytes(300), cuts in any::<[prop::sample::Index; 3]>()) {
        let mut cuts = cuts.map(|cut| cut.index(bytes.len() + 1));
        cuts.sort_unstable();
        let [a, b, c] = cuts;
        let mut sum = Sum::default();
        for part in [&bytes[..a], &bytes[a..b], &bytes[b..c], &bytes[c..]] {
            sum.add(part);
        }
        prop_assert_eq!(sum.folded(), naive(&bytes));
    }

    #[test]
    fn a_word_is_two_bytes(before in bytes(5), word: u16, after in bytes(5)) {
        let mut sum = sum_of(&before);
        sum.add_u16(word);
        sum.add(&after);
        let whole = [&before[..], &word.to_be_bytes(), &after].concat();
        prop_assert_eq!(sum.folded(), naive(&whole));
    }

    #[test]
    fn incremental_is_full(mut words in prop::collection::vec(any::<u16>(), 2..40),
                           at: prop::sample::Index, new: u16) {
        let checksum = |words: &[u16]| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            !naive(&bytes)
        };
        let (before, at) = (checksum(&words), at.index(words.len()));
        let old = core::mem::replace(&mut words[at], new);
        prop_assume!(words.iter().any(|word| *word != 0));
        prop_assert_eq!(update(before, old, new), checksum(&words));
    }

    #[test]
    fn incremental_32_bits_is_twice_16(checksum: u16, old: [u16; 2], new: [u16; 2]) {
        let join = |[high, low]: [u16; 2]| u32::from(high) << 16 | u32::from(low);
        let twice = update(update(checksum, old[0], new[0]), old[1], new[1]);
        prop_assert_eq!(update_u32(checksum, join(old), join(new)), twice);
    }

    #[test]
    fn pseudo_header_is_its_bytes((source, destination) in addresses(), protocol: u8, length: u16) {
        let mut sum = Sum::default();
        sum.pseudo_header(source, destination, protocol, length.into());
        let [high, low] = length.to_be_bytes();
        let figure = match (source, destination) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                [&a.octets()[..], &b.octets(), &[0, protocol, high, low]].concat()
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                [&a.octets()[..], &b.octets(), &[0, 0, high, low, 0, 0, 0, protocol]].concat()
            }
            _ => unreachable!("one family"),
        };
        prop_assert_eq!(sum.folded(), naive(&figure));
    }
}

#[test]
fn check_tells_partial_from_wrong() {
    let (source, destination) = (Ipv4Addr::LOCALHOST.into(), Ipv4Addr::new(127, 0, 0, 2).into());
    let mut packet = [1, 2, 0, 0, 5];
    let check = |packet: &[u8], field: u16| Check::of(packet, field, 6, source, destination);
    let right = full(&packet, 6, source, destination);
    packet[2..4].copy_from_slice(&right.to_be_bytes());
    assert_eq!(check(&packet, right), Check::Right);
    let partial = pseudo_sum(&packet, 6, source, destination).folded();
    packet[2..4].copy_from_slice(&partial.to_be_bytes());
    assert_eq!(check(&packet, partial), Check::Partial);
    packet[4] += 1;
    assert_eq!(check(&packet, partial), Check::Partial);
    packet[3] ^= 1;
    assert_eq!(check(&packet, partial ^ 1), Check::Wrong);
    // The complement is not what Linux leaves there.
    packet[2..4].copy_from_slice(&(!partial).to_be_bytes());
    assert_eq!(check(&packet, !partial), Check::Wrong);
}

#[test]
fn families_differ() {
    let mut sum = Sum::default();
    sum.pseudo_header(Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into(), 6, 40);
    assert_eq!(sum.folded(), 0x0030);
}
