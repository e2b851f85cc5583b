use std::time::Duration;

use super::*;

/// 1,000 ns three times and 5 ms once, as zlib and a decoder of V2 written for this read it.
const VECTOR: &str = "HISTFAAAADp4AQEvAND/HISTEwAAAAcAAAAAAAAAAwAAAAAAAAABAAADRjC4oAA/\
    8AAAAAAAAM8PBrXDAQJ4oAax";

#[test]
fn values_are_counted_where_hdrhistogram_counts_them() {
    assert_eq!(
        [0, 1, 2_047, 2_048, 2_049, 4_095, 4_096].map(index),
        [0, 1, 2_047, 2_048, 2_048, 3_071, 3_072]
    );
}

#[test]
fn numbers_are_short() {
    let bytes = |value| {
        let mut out = Vec::new();
        leb128(&mut out, value);
        out
    };
    assert_eq!(bytes(0), [0]);
    assert_eq!(bytes(-1), [1]);
    assert_eq!(bytes(1), [2]);
    assert_eq!(bytes(-64), [127]);
    assert_eq!(bytes(64), [0x80, 1]);
    assert_eq!(bytes(i64::MAX).len(), 9);
}

#[test]
fn the_small_formats_are_those_of_their_rfcs() {
    assert_eq!(
        ["f", "fo", "foo", "foob"].map(|it| base64(it.as_bytes())),
        ["Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
    );
    assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
}

#[test]
fn a_line_is_what_others_read() {
    let mut measured = Measured::default();
    for ns in [1_000, 1_000, 1_000, 5_000_000] {
        measured.request.record(Duration::from_nanos(ns));
    }
    let interval = Interval { begin_seconds: 1.5, seconds: 0.5, ..Interval::default() };
    let expected = format!("Tag=request,1.500,0.500,5.001,{VECTOR}\n");
    assert_eq!(lines(&interval, &measured), expected);
}
