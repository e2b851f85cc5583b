use proptest::{collection::vec, prelude::*};

use super::*;

const TABLE: &str = include_str!("../../tests/data/proc-tcp6.txt");

/// The lines that come out when the bytes arrive in these pieces.
fn lines<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut lines = Lines::default();
    for piece in pieces {
        lines.feed(piece, &mut |line| found.push(line.to_vec()));
        assert!(lines.partial.len() <= LINE_BYTES_MAX);
    }
    lines.finish(&mut |line| found.push(line.to_vec()));
    found
}

/// Cuts `bytes` at the given places, in any order.
fn pieces<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.sort_unstable();
    let mut pieces = Vec::new();
    let mut start = 0;
    for cut in cuts.into_iter().chain([bytes.len()]) {
        pieces.push(&bytes[start..cut]);
        start = cut;
    }
    pieces
}

#[test]
fn a_read_may_end_at_any_byte() {
    let expected: Vec<Vec<u8>> = TABLE.lines().map(|line| line.as_bytes().to_vec()).collect();
    assert_eq!(lines([TABLE.as_bytes()]), expected);
    for cut in 0..=TABLE.len() {
        assert_eq!(lines(pieces(TABLE.as_bytes(), &[cut])), expected, "cut at {cut}");
    }
    assert_eq!(lines(TABLE.as_bytes().chunks(1)), expected);
}

#[test]
fn the_last_line_needs_no_line_feed() {
    assert_eq!(lines([&b"one\ntw"[..], b"o"]), [b"one".to_vec(), b"two".to_vec()]);
    assert_eq!(lines([&b"one\n"[..]]), [b"one".to_vec()]);
    assert_eq!(lines([&b""[..]]), Vec::<Vec<u8>>::new());
}

#[test]
fn an_overlong_line_is_cut_however_it_arrives() {
    let mut bytes = vec![b'x'; LINE_BYTES_MAX + 1000];
    bytes.extend(b"\nnext\n");
    for chunk in [1, 7, 4096, bytes.len()] {
        let lengths: Vec<usize> = lines(bytes.chunks(chunk)).iter().map(Vec::len).collect();
        assert_eq!(lengths, [LINE_BYTES_MAX, 4], "in pieces of {chunk}");
    }
}

#[test]
fn rows_that_were_not_asked_for_are_not_handed_over() {
    let query = Query {
        states: crate::States::NONE.with(crate::State::Listen),
        ..Query::all(Transport::Tcp)
    };
    let mut coverage = Coverage::default();
    let mut rows = Vec::new();
    for line in TABLE.lines().chain(["neither row nor heading"]) {
        take(line.as_bytes(), &query, &mut coverage, &mut |row| rows.push(row.clone()));
    }
    assert_eq!(coverage, Coverage { rows: 3, skipped: 1, torn: false });
    assert!(rows.iter().all(|row| row.state == crate::State::Listen));
    assert_eq!(rows.len(), 3);
}

#[test]
fn a_table_that_is_missing_is_an_error_with_its_name() {
    let procfs = Procfs::open(&Place::here()).expect("every host has /proc/net/tcp");
    let error = procfs.table("tcp5").expect_err("there is no such table").to_string();
    assert!(error.contains("/proc/thread-self/net/tcp5"), "{error}");
}

proptest! {
    #[test]
    fn pieces_make_no_difference(
        bytes in vec(prop_oneof![3 => any::<u8>(), 1 => Just(b'\n')], 0..600),
        cuts in vec(any::<usize>(), 0..12),
    ) {
        prop_assert_eq!(lines(pieces(&bytes, &cuts)), lines([&bytes[..]]));
    }
}
