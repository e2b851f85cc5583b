//! Filters as a whole: written and read again, run by the kernel, and against ss(8).

pub(super) mod generate;
mod kernel;
mod sockets;
mod ss;

use proptest::prelude::*;

use super::*;
use generate::{filters, row, rows};

#[test]
fn what_a_filter_says_of_itself() {
    let filter = Filter::parse("").expect("valid");
    assert_eq!((filter.states(), filter.names_states()), (States::ALL, false));
    assert!(filter.bytecode().bytes().is_empty() && filter.bytecode().is_exact());
    assert!(!filter.asks_for_interface());
    let filter = Filter::parse("state all not ( sport = :1 or dev 3 )").expect("valid");
    assert_eq!((filter.states(), filter.names_states()), (States::ALL, true));
    assert!(filter.asks_for_interface());
    for (text, expected) in [
        ("state all", false),
        ("src any", false),
        ("dport = :*", false),
        ("src * or dst 10.0.0.1", false),
        ("dst 10.0.0.1", true),
        ("src inet:*", true),
        ("uid = 0", true),
        ("not src any", true),
    ] {
        assert_eq!(Filter::parse(text).expect(text).has_expression(), expected, "{text}");
    }
    let filter = Filter::parse("exclude all uid = 0").expect("valid");
    assert_eq!((filter.states(), filter.names_states()), (States::NONE, true));
    assert!(!filter.bytecode().is_exact());
}

#[test]
fn the_state_counts() {
    let filter = Filter::parse("state listening sport = :80").expect("valid");
    let listening = Row { state: State::Listen, ..row("127.0.0.1:80", "0.0.0.0:0") };
    assert!(filter.matches(&listening));
    assert!(!filter.matches(&Row { state: State::Close, ..listening }));
    for state in ["syn-recv", "bucket", "SYN-RECV"] {
        let filter = Filter::parse(&format!("state {state}")).expect("valid");
        let half_open =
            Row { state: State::NewSynReceived, ..row("127.0.0.1:80", "127.0.0.1:4000") };
        assert!(filter.matches(&half_open), "{state}");
        assert!(!filter.matches(&Row { state: State::Listen, ..half_open }), "{state}");
    }
}

/// Words and signs of filters in any order.
fn nearly_filters() -> impl Strategy<Value = String> {
    let words = [
        "state",
        "exclude",
        "all",
        "listening",
        "src",
        "dst",
        "sport",
        "dport",
        "dev",
        "uid",
        "and",
        "or",
        "not",
        "!",
        "(",
        ")",
        "=",
        "!=",
        ">=",
        "<",
        ":22",
        "https",
        "1",
        "10/8",
        "any",
        ":*",
        "inet:",
        "inet6:",
        "::1",
        "[::1]:5",
        "[::/0]",
        "[",
        "]",
        "/",
        ":",
        "*",
        "lo",
        "\u{1b}",
        "é",
        "65536",
    ];
    let word = proptest::sample::select(words.to_vec());
    let glue = proptest::sample::select(vec![" ", " ", "", "\t"]);
    proptest::collection::vec((word, glue), 0..24)
        .prop_map(|parts| parts.into_iter().flat_map(|(word, glue)| [word, glue]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_text_of_a_filter_reads_as_that_filter(filter in filters()) {
        prop_assert_eq!(Filter::parse(&filter.to_string()), Ok(filter.clone()), "{}", filter);
    }

    #[test]
    fn any_text_is_a_filter_or_an_error_in_three_lines(
        text in prop_oneof![".{0,80}", "(?s).{0,20}", nearly_filters()]
    ) {
        match Filter::parse(&text) {
            Ok(filter) => prop_assert_eq!(Filter::parse(&filter.to_string()), Ok(filter)),
            Err(error) => {
                let shown = error.to_string();
                prop_assert!(text.is_char_boundary(error.position()));
                prop_assert!(text[error.position()..].starts_with(error.found()));
                prop_assert_eq!(shown.lines().count(), 3, "{}", shown);
                prop_assert!(!shown.replace('\n', "").contains(char::is_control), "{}", shown);
            }
        }
    }

    #[test]
    fn what_matches_depends_on_the_meaning_only(filter in filters(), row in rows()) {
        let again = Filter::parse(&filter.to_string()).expect("valid");
        prop_assert_eq!(filter.matches(&row), again.matches(&row));
        let Some(expression) = filter.expression.clone() else { return Ok(()) };
        let not = Expression::Not(Box::new(expression.clone()));
        prop_assert_ne!(not.matches(&row), expression.matches(&row));
    }
}
