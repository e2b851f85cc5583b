use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[test]
fn a_port_comes_again_after_all_others() {
    let ports = SourcePorts::new(10..=13, &[12..=12], 0, 1);
    let mut cursor = ports.cursor(4);
    let handed: Vec<_> = (0..7).map(|_| ports.next(&mut cursor).unwrap()).collect();
    assert_eq!(handed, [11, 13, 10, 11, 13, 10, 11]);
}

#[test]
fn none_is_none() {
    let ports = SourcePorts::new(10..=13, &[0..=20], 0, 1);
    assert!(ports.is_empty());
    assert_eq!(ports.next(&mut ports.cursor(7)), None);
}

#[test]
fn what_is_reserved_is_read() {
    assert_eq!(parse_reserved("8080,9000-9010"), [8080..=8080, 9000..=9010]);
    assert_eq!(parse_reserved(""), []);
}

proptest! {
    #[test]
    fn workers_share_a_range_without_meeting(
        first in 1_u16..60_000, more in 0_u16..2_000, of in 1_usize..5, anywhere: u32,
    ) {
        let range = first..=first + more;
        let mut seen = BTreeSet::new();
        for nth in 0..of {
            let ports = SourcePorts::new(range.clone(), &[], nth, of);
            let mut cursor = ports.cursor(anywhere);
            for _ in 0..ports.len() {
                prop_assert!(seen.insert(ports.next(&mut cursor).unwrap()));
            }
        }
        prop_assert!(seen.into_iter().eq(range));
    }
}
