//! What is wrong with the text of a filter, and where.

use std::fmt;

/// Of a long filter, only so many characters before and after the place are shown.
const SHOWN_BEFORE: usize = 60;
const SHOWN_AFTER: usize = 40;
const FOUND_CHARS_MAX: usize = 40;

/// A filter that could not be read. Its text is for people, over three lines: what was expected,
/// the filter, and a mark under the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    text: String,
    at: usize,
    expected: String,
    found: String,
}

impl FilterError {
    /// `at` is a byte of `text` at which a character begins, or its end.
    pub(super) fn new(text: &str, at: usize, expected: impl Into<String>, found: &str) -> Self {
        Self { text: text.to_owned(), at, expected: expected.into(), found: found.to_owned() }
    }

    /// Where, as a byte of the text.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// What would have been right there.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// What is there instead, as it was written; empty at the end.
    #[must_use]
    pub fn found(&self) -> &str {
        &self.found
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = self.text.split_at(self.at);
        let column = before.chars().count() + 1;
        write!(f, "filter: expected {} at column {column}, found ", printable(&self.expected))?;
        match self.found.as_str() {
            "" => f.write_str("the end")?,
            found => write!(f, "\"{}\"", printable(&beginning(found, FOUND_CHARS_MAX)))?,
        }
        let hidden = (column - 1).saturating_sub(SHOWN_BEFORE);
        let before: String = before.chars().skip(hidden).collect();
        let before = printable(&if hidden > 0 { format!("…{before}") } else { before });
        let after = printable(&beginning(after, SHOWN_AFTER));
        let blank = " ".repeat(before.chars().count());
        write!(f, "\n  {before}{after}\n  {blank}^")
    }
}

impl std::error::Error for FilterError {}

fn beginning(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What would steer a terminal, or be seen by nobody, is shown as an escape.
fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\'' | '\\' => shown.push(character),
            other => shown.extend(other.escape_debug()),
        }
    }
    shown
}
