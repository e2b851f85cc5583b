use std::{vec, vec::Vec};

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::generators::bytes;

fn padded(extension: Extension<'_>) -> (usize, Vec<u8>) {
    let repr = Repr { next_header: 6, extension };
    let mut buffer = vec![0xee; repr.header_len()];
    repr.emit(&mut buffer).unwrap();
    (repr.header_len(), buffer)
}

/// RFC 8200, sections 4.3 to 4.6; RFC 4302, section 2.
#[test]
fn is_laid_out_as_the_figures_say() {
    let alert = options::ROUTER_ALERT_MULTICAST_LISTENER;
    assert_eq!(padded(Extension::HopByHop(&alert)).1, [6, 0, 5, 2, 0, 0, 1, 0]);
    assert_eq!(padded(Extension::DestinationOptions(&[])).1, [6, 0, 1, 4, 0, 0, 0, 0]);
    assert_eq!(padded(Extension::DestinationOptions(&[9, 3, 1, 1, 1])).1, [6, 0, 9, 3, 1, 1, 1, 0]);
    let routing = Routing { kind: 2, segments_left: 1, data: &[7; 20] };
    assert_eq!(padded(Extension::Routing(routing)).1[..6], [6, 2, 2, 1, 7, 7]);
    let fragment = Fragment { offset: 1480, more_fragments: true, identification: 0x01020304 };
    assert_eq!(padded(Extension::Fragment(fragment)).1, [6, 0, 5, 201, 1, 2, 3, 4]);
    let (length, bytes) = padded(Extension::Authentication(&[3; 22]));
    assert_eq!((length, bytes[1]), (24, 4));
}

#[test]
fn refuses_what_has_no_room() {
    let mut buffer = [0; 3000];
    let emit = |extension, buffer: &mut [u8]| Repr { next_header: 6, extension }.emit(buffer);
    let fragment =
        |offset| Extension::Fragment(Fragment { offset, more_fragments: false, identification: 0 });
    let what = "IPv6 fragment offset, a multiple of 8,";
    let error = NoRoom::Field { what, max: 65_528, found: 9 };
    assert_eq!(emit(fragment(9), &mut buffer), Err(error));
    let error = NoRoom::Buffer { what: WHAT, needed: 8, found: 7 };
    assert_eq!(emit(fragment(8), &mut buffer[..7]), Err(error));
    let what = "words of an IPv6 extension header";
    let error = NoRoom::Field { what, max: 256, found: 257 };
    assert_eq!(emit(Extension::HopByHop(&[0; 2047]), &mut buffer), Err(error));
    assert_eq!(buffer, [0; 3000]);
    assert_eq!(emit(Extension::HopByHop(&[0; 2046]), &mut buffer), Ok(()));
}

#[test]
fn an_authentication_header_has_twelve_bytes() {
    let what = "authentication header length";
    let error = Malformed::Length { what, least: 12, found: 8 };
    assert_eq!(Repr::parse(protocol::AUTHENTICATION, &[0; 20]), Err(error));
}

proptest! {
    #[test]
    fn what_is_written_is_read(next_header: u8, words in 0..=255usize, which in 0..5u8,
                               numbers: (u8, u8, u32, bool), offset in 0..0x2000u16,
                               payload in bytes(9), seed in vec(any::<u8>(), 2046)) {
        let (kind, segments_left, identification, more_fragments) = numbers;
        let body = &seed[..words * 8 + 6];
        let extension = match which {
            0 => Extension::HopByHop(body),
            1 => Extension::DestinationOptions(body),
            2 => Extension::Routing(Routing { kind, segments_left, data: &body[2..] }),
            3 => Extension::Fragment(Fragment {
                offset: offset * 8, more_fragments, identification,
            }),
            // It counts words of 4 bytes, and has 12 bytes at least.
            _ => Extension::Authentication(&seed[..(words / 2).max(1) * 8 + 6]),
        };
        let repr = Repr { next_header, extension };
        let mut written = vec![0xee; repr.header_len()];
        repr.emit(&mut written).unwrap();
        written.extend_from_slice(&payload);
        let again = Repr::parse(repr.protocol(), &written).unwrap();
        prop_assert_eq!(again, Some((repr, &payload[..])));
    }

    #[test]
    fn any_bytes_are_read(bytes in bytes(60), protocol: u8) {
        for protocol in [0, 43, 44, 51, 60, protocol] {
            let Ok(Some((repr, rest))) = Repr::parse(protocol, &bytes) else { continue };
            prop_assert_eq!(repr.protocol(), protocol);
            prop_assert!(bytes.ends_with(rest) && rest.len() + 8 <= bytes.len());
        }
    }
}
