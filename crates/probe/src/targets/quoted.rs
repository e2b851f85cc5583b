//! Text from outside, as an error may show it.

/// Longer texts are cut here.
const CHARS_MAX: usize = 80;

/// In quotation marks, cut where it is long; what would steer a terminal, or be seen by nobody, is
/// shown as an escape.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown = String::from("\"");
    let mut characters = text.chars();
    for character in characters.by_ref().take(CHARS_MAX) {
        match character {
            '\'' => shown.push(character),
            other => shown.extend(other.escape_debug()),
        }
    }
    if characters.next().is_some() {
        shown.push('…');
    }
    shown.push('"');
    shown
}
