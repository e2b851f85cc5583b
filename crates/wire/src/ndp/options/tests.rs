use std::{vec, vec::Vec};

use proptest::prelude::*;

use super::*;
use crate::generators::bytes;

fn all(bytes: &[u8]) -> Vec<Option_<'_>> {
    Iter::new(bytes).collect()
}

fn written(option: Option_<'_>) -> Vec<u8> {
    let mut bytes = vec![0xee; option.len()];
    option.emit(option.words().unwrap(), &mut bytes);
    bytes
}

/// RFC 4861, section 4.6, and RFC 8106, section 5.1.
#[test]
fn is_laid_out_as_the_figures_say() {
    let address = Address([2, 0, 0, 0, 0, 1]);
    assert_eq!(written(Option_::SourceLinkLayerAddress(address)), [1, 1, 2, 0, 0, 0, 0, 1]);
    assert_eq!(written(Option_::TargetLinkLayerAddress(address)), [2, 1, 2, 0, 0, 0, 0, 1]);
    assert_eq!(written(Option_::Mtu(1500)), [5, 1, 0, 0, 0, 0, 5, 220]);
    let redirected = written(Option_::RedirectedHeader(&[0x60, 9]));
    assert_eq!(redirected, [4, 2, 0, 0, 0, 0, 0, 0, 0x60, 9, 0, 0, 0, 0, 0, 0]);
    let prefix = Prefix {
        prefix: "2001:db8::".parse().unwrap(),
        prefix_len: 64,
        on_link: true,
        autonomous: true,
        valid_lifetime_s: 2,
        preferred_lifetime_s: 1,
    };
    let bytes = written(Option_::Prefix(prefix));
    assert_eq!(bytes[..16], [3, 4, 64, 0xc0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0]);
    assert_eq!(bytes[16..22], [0x20, 1, 0x0d, 0xb8, 0, 0]);
    let servers = &[[7; 16], [8; 16]];
    let bytes = written(Option_::RecursiveDns { lifetime_s: 5, servers });
    assert_eq!((bytes.len(), &bytes[..9]), (40, &[25, 5, 0, 0, 0, 0, 0, 5, 7][..]));
    assert_eq!(all(&bytes), [Option_::RecursiveDns { lifetime_s: 5, servers }]);
    assert!(!Option_::Mtu(0).is_empty());
}

#[test]
fn a_length_of_nothing_spoils_the_message() {
    let what = "NDP option length";
    let error = Malformed::Length { what, least: 8, found: 0 };
    assert_eq!(check(&[5, 1, 0, 0, 0, 0, 5, 220, 1, 0, 0, 0, 0, 0, 0, 0]), Err(error));
    let what = "NDP option";
    let error = Malformed::Truncated { what, needed: 16, found: 8 };
    assert_eq!(check(&[5, 2, 0, 0, 0, 0, 5, 220]), Err(error));
    assert_eq!(check(&[5]), Err(Malformed::Truncated { what, needed: 2, found: 1 }));
    assert_eq!(check(&[]), Ok(()));
}

/// An address on another kind of link, an MTU of 16 bytes, a list of no servers.
#[test]
fn a_length_that_the_kind_does_not_have_is_not_read() {
    for (kind, words) in [(1, 2), (2, 2), (3, 3), (5, 2), (25, 1), (25, 2), (200, 1)] {
        let mut bytes = vec![9; words * 8];
        (bytes[0], bytes[1]) = (kind, words as u8);
        assert_eq!(all(&bytes), [Option_::Unknown { kind, data: &bytes[2..] }]);
        assert_eq!(written(all(&bytes)[0]), bytes);
    }
}

proptest! {
    #[test]
    fn any_bytes_end(bytes in bytes(100)) {
        let _ = check(&bytes);
        prop_assert!(all(&bytes).len() <= bytes.len() / 8);
    }
}
