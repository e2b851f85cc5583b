use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::generators::bytes;

fn all(bytes: &[u8]) -> Vec<Result<Option_<'_>, Malformed>> {
    Iter::new(bytes).collect()
}

/// RFC 791, section 3.1, and RFC 2113, section 2.1.
#[test]
fn reads_every_kind() {
    let bytes = [
        &[1, 7, 7, 4, 0, 0, 0, 0][..],
        &[131, 3, 4, 137, 7, 8, 10, 0, 0, 1],
        &[68, 4, 5, 0, 148, 4, 0, 0, 130, 3, 9],
    ]
    .concat();
    let expected = [
        Option_::RecordRoute(Route { pointer: 4, addresses: &[[0; 4]] }),
        Option_::LooseSourceRoute(Route { pointer: 4, addresses: &[] }),
        Option_::StrictSourceRoute(Route { pointer: 8, addresses: &[[10, 0, 0, 1]] }),
        Option_::Timestamp(&[5, 0]),
        Option_::RouterAlert(0),
        Option_::Unknown { kind: 130, data: &[9] },
    ];
    assert_eq!(all(&bytes), expected.map(Ok));
}

#[test]
fn ends_at_the_end() {
    assert_eq!(all(&[1, 1, 0, 7]), []);
    let mut iter = Iter::new(&[0, 148, 4, 0]);
    assert_eq!((iter.next(), iter.next()), (None, None));
}

#[test]
fn what_has_a_wrong_length_is_left_out() {
    let next = Ok(Option_::RouterAlert(7));
    for bad in [&[7, 2][..], &[7, 3, 3], &[131, 6, 4, 0, 0, 0], &[68, 3, 5], &[148, 3, 0]] {
        let bytes = [bad, &[148, 4, 0, 7]].concat();
        let found = u16::from_be_bytes([bad[0], bad[1]]);
        let what = "IPv4 option kind and length";
        assert_eq!(all(&bytes), [Err(Malformed::Value { what, found }), next]);
    }
    let what = "IPv4 option length";
    for length in [0, 1] {
        let error = Malformed::Length { what, least: 2, found: length };
        assert_eq!(all(&[7, length as u8, 148, 4, 0, 7]), [Err(error)]);
    }
    let what = "IPv4 option";
    assert_eq!(all(&[7, 9, 4]), [Err(Malformed::Truncated { what, needed: 9, found: 3 })]);
    assert_eq!(all(&[7]), [Err(Malformed::Truncated { what, needed: 2, found: 1 })]);
}

proptest! {
    #[test]
    fn any_bytes_end(bytes in bytes(40)) {
        prop_assert!(all(&bytes).len() <= bytes.len());
    }
}
