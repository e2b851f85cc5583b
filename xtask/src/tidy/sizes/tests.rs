use super::*;
use crate::fixture::{Fixture, places};

/// What the rule says about files of so many empty lines.
fn said(files: &[(&str, usize)]) -> Vec<String> {
    let texts: Vec<String> = files.iter().map(|(_, lines)| "\n".repeat(*lines)).collect();
    let files: Vec<(&str, &str)> =
        files.iter().zip(&texts).map(|((path, _), text)| (*path, text.as_str())).collect();
    places(check, &files)
}

#[test]
fn each_kind_of_file_has_its_limit() {
    for (path, limit) in [
        ("crates/a/src/b.rs", 400),
        ("web/src/b.ts", 400),
        ("crates/trace/bpf/b.h", 400),
        ("crates/trace/bpf/b.bpf.c", 150),
        ("crates/a/src/b/tests.rs", 1000),
        ("crates/a/tests/b.rs", 1000),
        ("crates/cli/src/main.rs", 60),
        ("README.md", 150),
        ("ARCHITECTURE.md", 200),
    ] {
        assert_eq!(said(&[(path, limit)]), [""; 0], "{path}");
        assert_eq!(said(&[(path, limit + 1)]), [format!("{path}:{}", limit + 1)]);
    }
}

#[test]
fn other_files_and_made_ones_have_none() {
    let files = [("docs/guide/map.md", 2000), ("Cargo.lock", 2000), ("web/dist/app.ts", 2000)];
    assert_eq!(said(&files), [""; 0]);
}

#[test]
fn a_reason_at_the_top_excuses() {
    let excused = format!("//! A table.\n// {REASON}it is one.\n{}", "\n".repeat(500));
    assert_eq!(places(check, &[("crates/a/src/b.rs", &excused)]), [""; 0]);
    let empty = format!("// {REASON}\n{}", "\n".repeat(500));
    assert_eq!(places(check, &[("crates/a/src/b.rs", &empty)]), ["crates/a/src/b.rs:401"]);
    let late = format!("{}// {REASON}it is one.\n", "\n".repeat(500));
    assert_eq!(places(check, &[("crates/a/src/b.rs", &late)]), ["crates/a/src/b.rs:401"]);
}

#[test]
fn a_line_has_a_hundred_columns() {
    let line = |columns: usize| format!("// {}\n", "ü".repeat(columns - 3));
    assert_eq!(places(check, &[("a.rs", &line(100))]), [""; 0]);
    let two = format!("\n{}", line(101));
    assert_eq!(places(check, &[("a.rs", &two), ("b.c", &two)]), ["a.rs:2", "b.c:2"]);
    assert_eq!(places(check, &[("a.md", &two)]), [""; 0]);
    let link = format!("// https://example.org/{}\n", "x".repeat(100));
    assert_eq!(places(check, &[("a.rs", &link)]), [""; 0]);
}

#[test]
fn a_function_has_seventy_lines() {
    let function = |lines: usize| {
        let body = "    work();\n".repeat(lines - 2);
        format!("/// Works.\n#[inline]\nfn work() {{\n{body}}}\n")
    };
    assert_eq!(places(check, &[("a.rs", &function(70))]), [""; 0]);
    assert_eq!(places(check, &[("a.rs", &function(71))]), ["a.rs:3"]);
    let method = format!("impl A {{\n{}}}\ntrait B {{\n{}}}\n", function(71), function(71));
    assert_eq!(places(check, &[("a.rs", &method)]), ["a.rs:4", "a.rs:79"]);
}

#[test]
fn the_summary_has_the_medians() {
    let three = "fn a() {\n    b();\n}\n";
    let fixture = Fixture::of(&[("a.rs", three), ("b.rs", "fn b() {}\n"), ("c.rs", three)]);
    assert_eq!(
        summary(&fixture.tree()),
        "tidy: Rust without tests: 3 files, median 3 lines, longest 3; \
         3 functions, median 3 lines, longest 3"
    );
}
