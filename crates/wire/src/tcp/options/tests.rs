use std::{vec, vec::Vec};

use etherparse::{TcpOptionElement, TcpOptions};
use proptest::prelude::*;

use super::*;
use crate::generators::{bytes, options};

fn all(bytes: &[u8]) -> Vec<Result<Option_<'_>, Malformed>> {
    Iter::new(bytes).collect()
}

fn blocks(numbers: &[(u32, u32)]) -> SackBlocks {
    let mut blocks = SackBlocks::default();
    for (left, right) in numbers {
        assert!(blocks.push(SackBlock { left: Seq(*left), right: Seq(*right) }));
    }
    blocks
}

#[test]
fn reads_every_kind() {
    let bytes = [
        &[1, 1, 2, 4, 5, 0xb4, 3, 3, 7, 4, 2][..],
        &[5, 10, 0, 0, 0, 1, 0, 0, 0, 2],
        &[8, 10, 0, 0, 0, 3, 0, 0, 0, 4],
        &[34, 2, 34, 6, 9, 9, 9, 9, 253, 3, 1],
        &[28, 4, 0x80, 5, 29, 7, 1, 2, 8, 8, 8, 19, 18],
        &[7; 16],
    ]
    .concat();
    let expected = [
        Option_::MaximumSegmentSize(1460),
        Option_::WindowScale(7),
        Option_::SackPermitted,
        Option_::Sack(blocks(&[(1, 2)])),
        Option_::Timestamps(Timestamps { value: 3, echo: 4 }),
        Option_::FastOpenCookie(&[]),
        Option_::FastOpenCookie(&[9; 4]),
        Option_::Unknown { kind: 253, data: &[1] },
        Option_::UserTimeout(0x8005),
        Option_::Authentication { key: 1, next_key: 2, code: &[8; 3] },
        Option_::Md5Signature(&[7; 16]),
    ];
    assert_eq!(all(&bytes), expected.map(Ok));
}

/// RFC 9293, section 3.2: nothing is read behind the end of the options.
#[test]
fn ends_at_the_end() {
    assert_eq!(all(&[]), []);
    assert_eq!(all(&[1, 1, 1, 1]), []);
    assert_eq!(all(&[4, 2, 0, 4, 2, 99]), [Ok(Option_::SackPermitted)]);
    // Fused: the end is final.
    let mut iter = Iter::new(&[0, 4, 2]);
    assert_eq!((iter.next(), iter.next()), (None, None));
}

/// RFC 9293, section 3.1, MUST-7: prepared for an illegal length.
#[test]
fn an_option_without_an_end_is_the_last_item() {
    let what = "TCP option";
    for (bytes, error) in [
        (&[4, 0, 4, 2][..], Malformed::OptionLength { kind: 4, found: 0 }),
        (&[253, 1, 4, 2], Malformed::OptionLength { kind: 253, found: 1 }),
        (&[2, 4, 5], Malformed::Truncated { what, needed: 4, found: 3 }),
        (&[2], Malformed::Truncated { what, needed: 2, found: 1 }),
    ] {
        assert_eq!(all(bytes), [Err(error)], "{bytes:?}");
        let behind = [&[3, 3, 9], bytes].concat();
        assert_eq!(all(&behind), [Ok(Option_::WindowScale(9)), Err(error)]);
        assert_eq!(Options::read(Iter::new(&behind)).window_scale, Some(9));
        assert!(!Options::read(Iter::new(&behind)).sack_permitted);
    }
}

/// As `tcp_parse_options` of Linux does.
#[test]
fn an_option_of_a_wrong_length_is_left_out() {
    for (bytes, kind, found) in [
        (&[4, 3, 0, 4, 2][..], 4, 3),
        (&[2, 3, 0, 4, 2], 2, 3),
        (&[3, 2, 4, 2], 3, 2),
        (&[8, 6, 0, 0, 0, 0, 4, 2], 8, 6),
        (&[5, 2, 4, 2], 5, 2),
        (&[5, 6, 0, 0, 0, 0, 4, 2], 5, 6),
        (&[19, 3, 0, 4, 2], 19, 3),
        (&[28, 3, 0, 4, 2], 28, 3),
        (&[29, 3, 0, 4, 2], 29, 3),
        (&[34, 7, 0, 0, 0, 0, 0, 4, 2], 34, 7),
        (&[34, 4, 0, 0, 4, 2], 34, 4),
    ] {
        let error = Malformed::OptionLength { kind, found };
        assert_eq!(all(bytes), [Err(error), Ok(Option_::SackPermitted)], "{bytes:?}");
        let options = Options { sack_permitted: true, ..Options::default() };
        assert_eq!(Options::read(Iter::new(bytes)), options);
    }
    // Five blocks would have 42 bytes.
    let five = [&[5, 42][..], &[0; 40]].concat();
    assert_eq!(all(&five), [Err(Malformed::OptionLength { kind: 5, found: 42 })]);
}

/// RFC 7413, section 4.1.1.
#[test]
fn cookies_have_lengths() {
    let cookie = FastOpenCookie::new(&[7; 6]).unwrap();
    assert_eq!((cookie.as_slice(), FastOpenCookie::default().as_slice()), (&[7; 6][..], &[][..]));
    for length in [1, 2, 3, 5, 15, 17, 18] {
        assert_eq!(FastOpenCookie::new(&[0; 18][..length]), None, "{length}");
    }
    let mut bytes = [0xee; 8];
    let options = Options { fast_open: Some(cookie), ..Options::default() };
    options.emit(&mut bytes).unwrap();
    assert_eq!(bytes, [34, 8, 7, 7, 7, 7, 7, 7]);
    let asks = Options { fast_open: Some(FastOpenCookie::default()), ..Options::default() };
    let mut bytes = [0xee; 8];
    asks.emit(&mut bytes).unwrap();
    assert_eq!((asks.len(), bytes), (4, [34, 2, 1, 1, 0xee, 0xee, 0xee, 0xee]));
}

#[test]
fn blocks_are_four_at_most() {
    let mut blocks = blocks(&[(1, 2), (3, 4), (5, 6), (7, 8)]);
    assert!(!blocks.push(SackBlock::default()));
    assert_eq!(blocks.as_slice().len(), 4);
    assert_ne!(blocks, SackBlocks::default());
}

/// As `tcp_options_write` of Linux writes them.
#[test]
fn is_laid_out_as_linux_does() {
    let written = |options: Options| {
        let mut bytes = vec![0xee; options.len()];
        options.emit(&mut bytes).unwrap();
        bytes
    };
    let none = Options::default();
    assert!(none.is_empty() && written(none).is_empty());
    let syn = Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..none };
    assert_eq!(written(syn), [2, 4, 5, 0xb4, 1, 1, 4, 2, 1, 3, 3, 7]);
    let timestamps = Some(Timestamps { value: 1, echo: 2 });
    let syn = Options { timestamps, ..syn };
    assert_eq!(written(syn), [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 3, 3, 7]);
    let ack = Options { timestamps, sack: blocks(&[(3, 4), (5, 6)]), ..none };
    assert_eq!(
        written(ack),
        [
            [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 18],
            [0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6],
        ]
        .concat()
    );
}

proptest! {
    #[test]
    fn etherparse_reads_what_is_written(options in options()) {
        let mut bytes = vec![0xee; options.len() + 4];
        options.emit(&mut bytes).unwrap();
        prop_assert_eq!(bytes.split_off(options.len()), [0xee; 4]);
        prop_assert_eq!(Options::read(Iter::new(&bytes)), options);
        let theirs = TcpOptions::try_from_slice(&bytes).unwrap();
        let mut again = Options::default();
        for element in theirs.elements_iter() {
            use TcpOptionElement::*;
            let element = match element {
                // etherparse does not know the cookie, nor how to go on.
                Err(error) => {
                    prop_assert_eq!(error, etherparse::TcpOptionReadError::UnknownId(FAST_OPEN));
                    prop_assert!(options.fast_open.is_some());
                    again = Options { fast_open: options.fast_open, sack: options.sack, ..again };
                    break;
                }
                Ok(element) => element,
            };
            match element {
                Noop => {}
                MaximumSegmentSize(mss) => again.mss = Some(mss),
                WindowScale(shift) => again.window_scale = Some(shift),
                SelectiveAcknowledgementPermitted => again.sack_permitted = true,
                SelectiveAcknowledgement(first, rest) => {
                    let rest = rest.into_iter().flatten();
                    again.sack = blocks(&[first].into_iter().chain(rest).collect::<Vec<_>>());
                }
                Timestamp(value, echo) => again.timestamps = Some(Timestamps { value, echo }),
            }
        }
        prop_assert_eq!(again, options);
    }

    #[test]
    fn any_bytes_end(bytes in bytes(40)) {
        let options = all(&bytes);
        prop_assert!(options.len() <= bytes.len());
    }

    #[test]
    fn what_was_read_can_be_written(bytes in prop::collection::vec(0..11u8, 0..=40)) {
        let options = Options::read(Iter::new(&bytes));
        let mut written = [0; 60];
        if options.emit(&mut written).is_ok() {
            prop_assert_eq!(Options::read(Iter::new(&written[..options.len()])), options);
        } else {
            prop_assert!(options.len() > OPTIONS_BYTES_MAX);
        }
    }
}
