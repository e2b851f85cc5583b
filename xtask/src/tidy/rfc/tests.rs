use super::*;
use crate::fixture::{Fixture, places};

const HEAD: &str = "# RFC 8985\n| section | what | state | test or reason |\n|---|---|---|---|\n";
const TEST: &str =
    "/// RFC 8985, section 7.2.\n#[test]\nfn probes() {}\n\n#[test]\nfn other() {}\n";
const PATH: &str = "crates/stack/src/tcp/tests.rs";

/// What is said about one row, with a test that cites RFC 8985, section 7.2.
fn messages(row: &str) -> Vec<String> {
    let document = format!("{HEAD}{row}\n");
    let files = [
        ("docs/rfc/8985.md", document.as_str()),
        (PATH, TEST),
        ("sim/a.script", "# RFC 8985: 6.1"),
    ];
    let found = check(&Fixture::of(&files).tree());
    let of_row = found.into_iter().filter(|one| one.path == "docs/rfc/8985.md");
    of_row.map(|one| one.message).collect()
}

#[test]
fn rows_that_are_right() {
    for row in [
        "| 7.2 | probes | implemented | `stack::tcp::tests::probes` |",
        "| 7.2 | probes | deviates | later than it says: why; `stack::tcp::tests::probes` |",
        "| 7.3 | more | not | nobody needs it |",
        "| 6.1 | a scenario | implemented | `sim/a.script` |",
        "",
    ] {
        assert_eq!(messages(row), [""; 0], "{row}");
    }
}

#[test]
fn rows_that_are_wrong() {
    for (row, message) in [
        ("| 7.2 | a | implemented | |", "7.2 has no test"),
        ("| 7.2 | a | implemented | it is |", "7.2 has no test"),
        ("| 7.2 | a | done | why |", "is no state"),
        ("| 7.2 | a | not | |", "open without a reason"),
        ("| 7.2 | a | deviates | `stack::tcp::tests::probes` |", "open without a reason"),
        (
            "| 7.2 | a | implemented | `stack::tcp::tests::none` |",
            "no test stack::tcp::tests::none",
        ),
        ("| 7.2 | a | implemented | `stack::tcp::tests::other` |", "does not cite RFC 8985, 7.2"),
        ("| 7 | a | implemented | `stack::tcp::tests::probes` |", "does not cite RFC 8985, 7"),
        ("| 7.3 | a | implemented | `stack::tcp::tests::probes` |", "does not cite RFC 8985, 7.3"),
        ("| 6.1 | a | implemented | `sim/b.script` |", "no test sim/b.script"),
    ] {
        let found = messages(row);
        assert!(found.len() == 1 && found[0].contains(message), "{row}: {found:?}");
    }
}

#[test]
fn a_citation_is_a_whole_word() {
    let text = "RFC 9293, MUST-12, section 3.10.7.4.";
    assert!(cites(text, "RFC 9293", "MUST-12") && cites(text, "RFC 9293", "3.10.7.4"));
    for (rfc, requirement) in [
        ("RFC 9293", "MUST-1"),
        ("RFC 9293", "3.10.7"),
        ("RFC 929", "3.10.7.4"),
        ("RFC 1", "10.7.4"),
    ] {
        assert!(!cites(text, rfc, requirement), "{rfc} {requirement}");
    }
}

#[test]
fn tests_have_the_names_of_their_files() {
    for (path, module) in [
        ("crates/stack/src/tcp/tests/late.rs", "stack::tcp::tests::late"),
        ("crates/stack/tests/internet/main.rs", "stack::tests::internet"),
        ("crates/stack/src/lib.rs", "stack"),
        ("sim/src/run/tests.rs", "sim::run::tests"),
    ] {
        assert_eq!(module_of(path), module);
    }
}

#[test]
fn every_requirement_of_rfc_9293_stands_there_once() {
    let row = |name: &str| format!("| {name} | a | not | because |\n");
    let mut rows =
        String::from("# RFC 9293\n| id | what | state | test or reason |\n|---|---|---|---|\n");
    for (kind, last) in REQUIREMENTS {
        (1..=last).for_each(|number| rows.push_str(&row(&format!("{kind}-{number}"))));
    }
    let places =
        |document: &str| places(check, &[(TCP, document), ("crates/stack/src/lib.rs", "")]);
    assert_eq!(places(&rows), [""; 0]);
    assert_eq!(places(&rows.replace(&row("MUST-7"), "")), ["docs/rfc/9293.md:1"]);
    assert_eq!(places(&format!("{rows}{}", row("MAY-3"))), ["docs/rfc/9293.md:123"]);
    assert_eq!(places(&format!("{rows}{}", row("MUST-70"))), ["docs/rfc/9293.md:123"]);
    assert_eq!(places("").len(), 119);
}
