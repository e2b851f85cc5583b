use proptest::prelude::*;

use super::*;

fn split(text: &str) -> Vec<&str> {
    tokens(text).map(|token| token.text).collect()
}

#[test]
fn blanks_are_not_needed_around_signs() {
    let words = ["(", "sport", "=", ":22", ")", "or", "!", "dport", ">=", "[::1]:5"];
    assert_eq!(split("( sport = :22 ) or ! dport >= [::1]:5"), words);
    assert_eq!(split("(sport=:22)or!dport>=[::1]:5"), words);
    assert_eq!(
        split("a!=b==c<=d>=e&&f||g<h>i&j|k"),
        [
            "a", "!=", "b", "==", "c", "<=", "d", ">=", "e", "&&", "f", "||", "g", "<", "h", ">",
            "i", "&", "j", "|", "k"
        ]
    );
    assert_eq!(split("===!"), ["==", "=", "!"]);
    assert_eq!(split(" \t\n"), [""; 0]);
}

proptest! {
    #[test]
    fn nothing_but_blanks_is_left_out(text in "[a-z():=!<>&| \\t\\u{a0}é€-]{0,60}") {
        let mut at = 0;
        for token in tokens(&text) {
            prop_assert!(text[at..token.at].trim().is_empty());
            prop_assert_eq!(&text[token.at..token.end()], token.text);
            prop_assert!(!token.text.is_empty());
            at = token.end();
        }
        prop_assert!(text[at..].trim().is_empty());
    }
}
