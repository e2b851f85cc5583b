//! Against the standard library's Display.

use std::net::{Ipv6Addr, SocketAddrV4, SocketAddrV6};

use proptest::prelude::*;

use super::*;

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    // What is there already stays.
    let mut out = b"before ".to_vec();
    write(&mut out);
    let text = String::from_utf8(out).expect("text");
    text.strip_prefix("before ").expect("it stays").to_owned()
}

#[test]
fn numbers_at_the_ends_of_their_lengths() {
    let mut numbers = vec![0, u64::from(u32::MAX), u64::MAX];
    for digits in 1..20 {
        numbers.extend([10_u64.pow(digits) - 1, 10_u64.pow(digits)]);
    }
    for value in numbers {
        assert_eq!(written(|out| number(value, out)), value.to_string());
        assert_eq!(written(|out| hexadecimal(value, out)), format!("{value:x}"));
    }
}

#[test]
fn every_octet_and_every_port() {
    for octet in 0..=255 {
        let v4 = Ipv4Addr::new(octet, 0, 255 - octet, octet);
        assert_eq!(written(|out| address(v4.into(), out)), v4.to_string());
    }
    for port in 0..=u16::MAX {
        let at = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::BROADCAST, port));
        assert_eq!(written(|out| end(&at, false, out)), at.to_string());
    }
}

#[test]
fn a_star_stands_for_no_port_where_it_may() {
    for (text, expected) in [
        ("0.0.0.0:0", "0.0.0.0:*"),
        ("10.0.0.1:7", "10.0.0.1:7"),
        ("[::]:0", "[::]:*"),
        ("[::1]:7", "[::1]:7"),
    ] {
        let at: SocketAddr = text.parse().expect("valid");
        assert_eq!(written(|out| end(&at, true, out)), expected);
        assert_eq!(written(|out| end(&at, false, out)), text);
    }
}

#[test]
fn what_is_wider_than_its_column_gets_one_blank() {
    let padded = |text: &str, width| {
        written(|out| {
            let start = out.len();
            out.extend_from_slice(text.as_bytes());
            pad(start, width, out);
        })
    };
    assert_eq!(padded("", 0), " ");
    assert_eq!(padded("ab", 4), "ab   ");
    assert_eq!(padded("abcd", 4), "abcd ");
    assert_eq!(padded("abcdef", 4), "abcdef ");
}

fn ends() -> impl Strategy<Value = SocketAddr> {
    let v4 = any::<(u32, u16)>()
        .prop_map(|(bits, port)| SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::from(bits), port)));
    let bits = prop_oneof![
        any::<u128>(),
        (0..1_u128 << 48).prop_map(|low| low | 0xffff << 32),
        (any::<u128>(), 0..128_u32).prop_map(|(bits, shift)| bits >> shift << shift),
    ];
    let v6 =
        (bits, any::<u16>(), prop_oneof![Just(0), any::<u32>()]).prop_map(|(bits, port, scope)| {
            SocketAddr::V6(SocketAddrV6::new(Ipv6Addr::from(bits), port, 0, scope))
        });
    prop_oneof![v4, v6]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn ends_are_what_display_writes(at in ends()) {
        let text = SocketAddr::new(at.ip(), at.port()).to_string();
        prop_assert_eq!(written(|out| end(&at, false, out)), text.clone(), "without a scope");
        prop_assert_eq!(written(|out| address(at.ip(), out)), at.ip().to_string());
        let with_port = written(|out| {
            host(at.ip(), out);
            out.push(b':');
            number(at.port(), out);
        });
        prop_assert_eq!(with_port, text.clone());
        prop_assert_eq!(written(|out| padded_end(&at, false, out)), format!("{text:21} "));
    }

    #[test]
    fn numbers_are_what_display_writes(value: u64, shift in 0..64_u32) {
        let value: u64 = value >> shift;
        prop_assert_eq!(written(|out| number(value, out)), value.to_string());
        prop_assert_eq!(written(|out| hexadecimal(value, out)), format!("{value:x}"));
    }
}
