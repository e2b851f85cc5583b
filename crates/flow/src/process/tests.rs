use proptest::{collection::vec, prelude::*};

use super::*;

#[test]
fn names_are_completed_where_the_kernel_cut_them() {
    for (what, comm, cmdline, name) in [
        ("a path", "systemd-resolve", "/usr/lib/systemd/systemd-resolved\0", "systemd-resolved"),
        ("no path", "systemd-resolve", "systemd-resolved\0--x\0", "systemd-resolved"),
        ("exactly 15", "exactly-15-char", "/bin/exactly-15-char\0-v\0", "exactly-15-char"),
        ("a title", "verylongservice", "verylongservice-x: worker 1\0", "verylongservice-x"),
        (
            "another program",
            "systemd-resolve",
            "/usr/bin/python3\0/x/systemd-resolved\0",
            "systemd-resolve",
        ),
        ("a renamed thread", "tokio-runtime-w", "/usr/bin/server\0", "tokio-runtime-w"),
        ("no arguments", "kworker/u8:3-ev", "", "kworker/u8:3-ev"),
        ("empty arguments", "kworker/u8:3-ev", "\0\0\0", "kworker/u8:3-ev"),
        ("a directory", "systemd-resolve", "/systemd-resolved/\0", "systemd-resolve"),
        (
            "blanks in the name",
            "Long Program Na",
            "/opt/a b/Long Program Name\0",
            "Long Program Na",
        ),
        (
            "cut inside a letter",
            "aaaaaaaaaaaaaa\u{e9}",
            "/bin/aaaaaaaaaaaaaa\u{e9}\u{e9}\0",
            "aaaaaaaaaaaaaa\u{e9}\u{e9}",
        ),
    ] {
        let comm = &comm.as_bytes()[..comm.len().min(COMM_BYTES)];
        assert_eq!(complete(comm, cmdline.as_bytes()), name, "{what}");
    }
}

#[test]
fn a_name_is_bounded() {
    let cmdline = "x".repeat(NAME_BYTES_MAX + 1);
    assert_eq!(complete(&[b'x'; COMM_BYTES], cmdline.as_bytes()), "x".repeat(COMM_BYTES));
    let cmdline = "x".repeat(NAME_BYTES_MAX);
    assert_eq!(complete(&[b'x'; COMM_BYTES], cmdline.as_bytes()), cmdline);
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let (comm, cmdline) = (b"fifteen-bytes-\xff", b"/bin/fifteen-bytes-\xff\xfe-on\0");
    assert_eq!(complete(comm, cmdline), "fifteen-bytes-\u{fffd}\u{fffd}-on");
}

#[test]
fn an_empty_name_is_said_to_be_none() {
    assert_eq!(named(b""), "(no name)");
    assert_eq!(named(b"a"), "a");
}

/// As [`Process::of`] has it.
fn complete(comm: &[u8], cmdline: &[u8]) -> String {
    completed(comm, cmdline).unwrap_or_else(|| String::from_utf8_lossy(comm).into_owned())
}

proptest! {
    #[test]
    fn any_bytes_are_read(comm in vec(any::<u8>(), 0..20), cmdline in vec(any::<u8>(), 0..300)) {
        let name = complete(&comm, &cmdline);
        prop_assert!(name.chars().count() <= NAME_BYTES_MAX);
    }

    #[test]
    fn a_name_begins_as_the_kernel_says(name in "[a-z\u{e9} /:]{15,40}", rest in "[ -~]{0,20}") {
        let comm = &name.as_bytes()[..COMM_BYTES];
        let whole = complete(comm, format!("/bin/{name}\0{rest}").as_bytes());
        prop_assert!(whole == String::from_utf8_lossy(comm) || whole.as_bytes().starts_with(comm));
    }
}
