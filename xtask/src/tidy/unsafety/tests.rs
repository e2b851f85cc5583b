use super::*;
use crate::fixture::places;

#[test]
fn an_edge_may_with_a_reason() {
    let explained = r"
// SAFETY: the pointer is ours.
unsafe impl Send for Ring {}

/// Reads.
///
/// # Safety
/// `at` must be readable.
#[inline]
pub unsafe fn read(at: *const u8) -> u8 {
    // SAFETY: the caller says so.
    unsafe { *at }
}

fn all(at: *const u8) -> u8 {
    // SAFETY: it is a byte of ours,
    // and nobody writes it.
    #[allow(clippy::let_and_return)]
    let first =
        unsafe { *at };
    first
}
";
    assert_eq!(places(check, &[("crates/sys/src/lib.rs", explained)]), [""; 0]);
}

#[test]
fn an_edge_may_not_without() {
    let bare = r"
unsafe impl Send for Ring {}
/// Reads.
pub unsafe fn read(at: *const u8) -> u8 {
    // SAFETY: too far away.

    unsafe { *at }
}
fn all(at: *const u8) {
    assert!(unsafe { *at } > 0);
    // Safe enough.
    let _ = unsafe { *at };
}
";
    let lines: Vec<String> =
        [2, 4, 7, 10, 12].iter().map(|line| format!("crates/sys/src/ring.rs:{line}")).collect();
    assert_eq!(places(check, &[("crates/sys/src/ring.rs", bare)]), lines);
}

#[test]
fn others_may_not_at_all() {
    let explained = "// SAFETY: none.\nfn a() { unsafe { b() } }\n";
    let found = places(
        check,
        &[
            ("crates/hub/src/a.rs", explained),
            ("xtask/src/a.rs", explained),
            ("sys/a.rs", explained),
        ],
    );
    assert_eq!(found, ["crates/hub/src/a.rs:2", "sys/a.rs:2", "xtask/src/a.rs:2"]);
}

#[test]
fn an_extern_block_and_an_unsafe_attribute_are_unsafe_too() {
    let text =
        "unsafe extern \"C\" {\n    fn getpid() -> i32;\n}\n#[unsafe(no_mangle)]\nfn a() {}\n";
    let found = places(check, &[("crates/cli/src/a.rs", text)]);
    assert_eq!(found, ["crates/cli/src/a.rs:1", "crates/cli/src/a.rs:4"]);
}

#[test]
fn the_word_in_a_text_or_a_comment_is_not_the_thing() {
    let text = "// unsafe\nfn a() -> &'static str { \"unsafe\" }\n";
    assert_eq!(places(check, &[("crates/cli/src/a.rs", text)]), [""; 0]);
}

#[test]
fn a_pure_crate_forbids_it() {
    let bare = ("crates/flow/src/lib.rs", "//! Who.\n");
    assert_eq!(places(check, &[bare]), ["crates/flow/src/lib.rs:1"]);
    let pure = ("crates/flow/src/lib.rs", "//! Who.\n#![forbid(unsafe_code)]\n");
    assert_eq!(places(check, &[pure]), [""; 0]);
    assert_eq!(places(check, &[("crates/hub/src/lib.rs", "//! Hub.\n")]), [""; 0]);
}
