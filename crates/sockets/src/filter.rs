//! Filters in the language of ss(8): which sockets of a listing are wanted.
//!
//! A [`Filter`] is read once from text, and then used in two ways that agree: [`Filter::matches`]
//! looks at a row, and [`Filter::bytecode`] has the kernel look at its sockets before it tells of
//! them. docs/guide/filters.md is for those who write filters.

mod bytecode;
mod error;
mod evaluate;
mod expression;
mod names;
mod parse;
mod slice;
mod tokens;

use std::fmt;

pub use bytecode::{BYTECODE_BYTES_MAX, Bytecode};
pub use error::FilterError;
use expression::Expression;
pub use names::{HostNames, Names, WellKnown};
pub use parse::{DEPTH_MAX, TEXT_BYTES_MAX};

use crate::{Row, State, States};

/// Which sockets are wanted. Its text, by `Display`, reads as the same filter again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    states: Option<States>,
    expression: Option<Expression>,
    bytecode: Bytecode,
}

impl Filter {
    /// Reads a filter, with the names of [`WellKnown`]. An empty text is a filter that every socket
    /// matches.
    ///
    /// # Errors
    /// When the text is no filter, is longer than [`TEXT_BYTES_MAX`], or nests deeper than
    /// [`DEPTH_MAX`].
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        Self::parse_with(text, &WellKnown)
    }

    /// Reads a filter whose names are found by `names`.
    ///
    /// # Errors
    /// As for [`Filter::parse`].
    pub fn parse_with(text: &str, names: &dyn Names) -> Result<Self, FilterError> {
        let (states, expression) = parse::parse(text, names)?;
        Ok(Self::new(states, expression))
    }

    fn new(states: Option<States>, expression: Option<Expression>) -> Self {
        let bytecode = Bytecode::of(expression.as_ref());
        Self { states, expression, bytecode }
    }

    /// The states that are wanted; all where the filter names none.
    #[must_use]
    pub fn states(&self) -> States {
        self.states.unwrap_or(States::ALL)
    }

    /// Whether the filter names states, so that a default of the caller's does not apply.
    #[must_use]
    pub fn names_states(&self) -> bool {
        self.states.is_some()
    }

    /// Whether it asks for more than states: there is an expression, and not one that is true of
    /// every socket, such as `src *`.
    #[must_use]
    pub fn has_expression(&self) -> bool {
        !(self.bytecode.is_exact() && self.bytecode.bytes().is_empty())
    }

    /// Whether a socket is wanted: its state, and all else.
    #[must_use]
    pub fn matches(&self, row: &Row) -> bool {
        self.states().contains(row.state)
            && self.expression.as_ref().is_none_or(|expression| expression.matches(row))
    }

    /// The expression as code for the kernel. It does not cover the states, for which a request has
    /// a field of its own.
    #[must_use]
    pub fn bytecode(&self) -> &Bytecode {
        &self.bytecode
    }

    /// Whether it asks for the interface of a socket (`dev`), which not every method knows.
    #[must_use]
    pub fn asks_for_interface(&self) -> bool {
        self.expression.as_ref().is_some_and(Expression::asks_for_interface)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = match self.states {
            None => Vec::new(),
            Some(States::ALL) => vec!["state all".to_owned()],
            Some(States::NONE) => vec!["exclude all".to_owned()],
            Some(states) => State::ALL
                .into_iter()
                .filter(|state| states.contains(*state) && *state != State::NewSynReceived)
                .map(|state| format!("state {}", parse::state_name(state)))
                .collect(),
        };
        parts.extend(self.expression.as_ref().map(ToString::to_string));
        f.write_str(&parts.join(" "))
    }
}

#[cfg(test)]
mod tests;
