//! Splits the text of a filter: signs stand for themselves, everything else up to a blank or a
//! sign is a word. Unlike ss(8), blanks around signs are not needed.

/// A word or sign, and the byte at which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// As it was written.
    pub text: &'a str,
    /// The byte.
    pub at: usize,
}

impl Token<'_> {
    /// The byte after it.
    #[must_use]
    pub fn end(&self) -> usize {
        self.at + self.text.len()
    }
}

const SIGNS_OF_TWO: [&str; 6] = ["!=", "==", "<=", ">=", "&&", "||"];

fn is_sign(character: char) -> bool {
    "()!=<>&|".contains(character)
}

/// The words and signs of a text.
pub fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text[at..].trim_start();
        let first = rest.chars().next()?;
        at = text.len() - rest.len();
        let length = if SIGNS_OF_TWO.iter().any(|sign| rest.starts_with(sign)) {
            2
        } else if is_sign(first) {
            1
        } else {
            rest.find(|c: char| c.is_whitespace() || is_sign(c)).unwrap_or(rest.len())
        };
        let token = Token { text: &rest[..length], at };
        at += length;
        Some(token)
    })
}

#[cfg(test)]
mod tests;
