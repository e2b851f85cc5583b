use std::{vec, vec::Vec};

use proptest::prelude::*;
use smoltcp::wire::Ipv6OptionsIterator;

use super::*;
use crate::generators::bytes;

fn all(bytes: &[u8]) -> Vec<Result<Option_<'_>, Malformed>> {
    Iter::new(bytes).collect()
}

/// RFC 2711, section 2.1, with padding of both kinds around it.
#[test]
fn reads_between_padding() {
    let bytes = [0, 1, 0, 1, 2, 9, 9, 5, 2, 0, 0, 0xc2, 0];
    let alert = Option_ { offset: 9, kind: Kind(5), data: &[0, 0] };
    let unknown = Option_ { offset: 13, kind: Kind(0xc2), data: &[] };
    assert_eq!(all(&bytes), [Ok(alert), Ok(unknown)]);
    assert_eq!((alert.router_alert(), unknown.router_alert()), (Some(0), None));
    assert_eq!(Option_ { data: &[0], ..alert }.router_alert(), None);
    assert!(all(&ROUTER_ALERT_MULTICAST_LISTENER)[0].unwrap().router_alert() == Some(0));
}

#[test]
fn kinds_say_what_to_do() {
    let actions = [0x1e, 0x40, 0x80, 0xc2].map(|kind| Kind(kind).unrecognized());
    use Unrecognized::*;
    assert_eq!(actions, [Skip, Discard, Report, ReportUnlessMulticast]);
}

#[test]
fn an_error_is_the_last_item() {
    let what = "IPv6 option";
    assert_eq!(all(&[0, 5]), [Err(Malformed::Truncated { what, needed: 2, found: 1 })]);
    let cut = Err(Malformed::Truncated { what, needed: 5, found: 4 });
    let alert = Ok(Option_ { offset: 2, kind: Kind(5), data: &[0, 0] });
    assert_eq!(all(&[5, 2, 0, 0, 1, 3, 0, 0]), [alert, cut]);
}

proptest! {
    /// Padding is as RFC 8200 has it: smoltcp reads it, to the end.
    #[test]
    fn padding_is_read(kind in 2..=255u8, data in bytes(20), padding in 0..=7usize) {
        let option = [&[kind, data.len() as u8][..], &data].concat();
        let mut written = vec![0xee; option.len() + padding];
        emit_padded(&option, &mut written);
        let data = &data[..];
        prop_assert_eq!(all(&written), [Ok(Option_ { offset: 2, kind: Kind(kind), data })]);
        let whole: usize = Ipv6OptionsIterator::new(&written)
            .map(|option| option.map_or(99, |option| option.buffer_len())).sum();
        // smoltcp does not read these kinds as what they are, if their data is not.
        prop_assume!(!matches!(kind, 5 | 0x63 | 0x6d));
        prop_assert_eq!(whole, written.len());
    }

    #[test]
    fn any_bytes_end(bytes in bytes(100)) {
        let options = all(&bytes);
        prop_assert!(options.len() <= bytes.len());
        for option in options.iter().flatten() {
            prop_assert_eq!(bytes[option.offset - 2], option.kind.0);
        }
    }
}
