use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::random::{Keys, Random};

fn identifications(seed: u8) -> Identifications {
    Identifications::new(Keyed::new(&mut Random::new(&Keys::new([seed; 32]), 0)))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_make_up_the_whole(total in 0..70_000_usize, mtu in 68..9_000_u16, is_v6: bool) {
        let (mut offset, mut count) = (0, 0);
        loop {
            let piece = piece(total, offset, mtu, is_v6);
            let headers = if is_v6 { 48 } else { 20 };
            prop_assert_eq!(piece.offset, offset);
            prop_assert!(piece.len + headers <= usize::from(mtu));
            prop_assert!(!piece.more || piece.len.is_multiple_of(8));
            prop_assert!(!piece.more || piece.len > 0);
            offset += piece.len;
            count += 1;
            if !piece.more {
                break;
            }
        }
        prop_assert_eq!(offset, total);
        prop_assert!(count <= total / 8 + 1);
    }
}

/// RFC 6864, section 4.
#[test]
fn identifications_do_not_come_again_soon() {
    let mut identifications = identifications(1);
    let (source, destination) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
    let seen: BTreeSet<u16> =
        (0..65_536).map(|_| identifications.next(source, destination) as u16).collect();
    assert_eq!(seen.len(), 65_536);
}

#[test]
fn each_pair_of_addresses_begins_elsewhere() {
    let mut one = identifications(1);
    let source = IpAddr::from([192, 0, 2, 1]);
    let first: BTreeSet<u32> =
        (0..200).map(|last| one.next(source, IpAddr::from([192, 0, 2, last]))).collect();
    assert_eq!(first.len(), 200);
    let spread = first.last().unwrap() - first.first().unwrap();
    assert!(spread > 1 << 30, "{spread}");
    let other = identifications(2).next(source, IpAddr::from([192, 0, 2, 0]));
    assert!(!first.contains(&other));
}
