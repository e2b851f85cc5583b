use super::*;
use crate::fixture::places;

const ROOT: &str = "crates/flow/src/lib.rs";

#[test]
fn files_that_exist_may_be_named() {
    let text = "//! Who.\n//!\n//! Read in this order: `record.rs`, `store/`,\n\
                //! `bpf/a.bpf.c`.\n//!\n//! Not `b.rs`.\n";
    let found = places(
        check,
        &[
            (ROOT, text),
            ("crates/flow/src/record.rs", ""),
            ("crates/flow/src/store/sqlite.rs", ""),
            ("crates/flow/bpf/a.bpf.c", ""),
        ],
    );
    assert_eq!(found, [""; 0]);
}

#[test]
fn files_that_do_not_exist_may_not() {
    let text = "//! Who.\n//!\n//! Read in this order: `record.rs`,\n//! `end.rs`.\n";
    let found = places(check, &[(ROOT, text), ("crates/flow/src/record.rs", "")]);
    assert_eq!(found, [format!("{ROOT}:4")]);
}

#[test]
fn a_library_without_an_order_or_without_an_opening_is_a_violation() {
    for text in ["", "fn a() {}\n", "//! Who.\n", "//! Read in this order: all.\n"] {
        assert_eq!(places(check, &[(ROOT, text)]), [format!("{ROOT}:1")], "{text}");
    }
    assert_eq!(places(check, &[("xtask/src/lib.rs", ""), ("crates/a/src/b/lib.rs", "")]), [""; 0]);
}
