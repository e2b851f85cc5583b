//! Reads the text of a filter. By recursive descent: `or` binds least, then `and` (which may be
//! left out), then `not`, as ss(8) documents them.

mod address;

use std::fmt::Write as _;

use super::{
    error::FilterError,
    expression::{Comparison, End, Expression, Term},
    names::Names,
    tokens::{Token, tokens},
};
use crate::{State, States};

/// Longer filters are refused, so that whatever works on them is bounded.
pub const TEXT_BYTES_MAX: usize = 4096;

/// `not` and brackets inside one another; each level is a level of recursion.
pub const DEPTH_MAX: usize = 100;

const TERMS: &str = "src, dst, sport, dport, dev, uid, not or (";

/// A filter as it was written: the states, where it names any, and the expression, if there is one.
pub type Parsed = (Option<States>, Option<Expression>);

/// Reads a filter.
///
/// # Errors
/// When it is none.
pub fn parse(text: &str, names: &dyn Names) -> Result<Parsed, FilterError> {
    if text.len() > TEXT_BYTES_MAX {
        let at = text.floor_char_boundary(TEXT_BYTES_MAX);
        let expected = format!("the end after {TEXT_BYTES_MAX} bytes");
        return Err(FilterError::new(text, at, expected, &text[at..]));
    }
    let mut parser = Parser { text, tokens: tokens(text).collect(), next: 0, depth: 0, names };
    let states = parser.states()?;
    if parser.peek().is_none() {
        return Ok((states, None));
    }
    let expression = parser.any()?;
    match parser.peek() {
        None => Ok((states, Some(expression))),
        Some(_) => Err(parser.error("and, or, or the end")),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    next: usize,
    depth: usize,
    names: &'a dyn Names,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.next).map(|token| token.text)
    }

    fn take_if(&mut self, wanted: impl FnOnce(&str) -> bool) -> bool {
        let taken = self.peek().is_some_and(wanted);
        self.next += usize::from(taken);
        taken
    }

    /// Where the next token begins.
    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.text.len(), |token| token.at)
    }

    /// The next token is not what it should be.
    fn error(&self, expected: impl Into<String>) -> FilterError {
        FilterError::new(self.text, self.at(), expected, self.peek().unwrap_or_default())
    }

    /// From the token that began at `start` to the one taken last.
    fn since(&self, start: usize) -> &'a str {
        let end = self.next.checked_sub(1).and_then(|last| self.tokens.get(last));
        end.and_then(|end| self.text.get(start..end.end())).unwrap_or_default()
    }

    fn states(&mut self) -> Result<Option<States>, FilterError> {
        let mut named = None;
        loop {
            let so_far = if self.take_if(|word| word == "state") {
                let some: States = named.unwrap_or(States::NONE);
                some.union(self.state()?)
            } else if self.take_if(|word| matches!(word, "exclude" | "excl")) {
                let some = named.unwrap_or(States::ALL);
                some.difference(self.state()?)
            } else {
                return Ok(named);
            };
            named = Some(so_far);
        }
    }

    fn state(&mut self) -> Result<States, FilterError> {
        let states = self.peek().and_then(states_named).ok_or_else(|| {
            let mut expected = "one of all, connected, synchronized, bucket, big".to_owned();
            for state in State::ALL.into_iter().filter(|state| States::ALL.contains(*state)) {
                if state != State::NewSynReceived {
                    let _ = write!(expected, ", {}", state_name(state));
                }
            }
            self.error(expected)
        })?;
        self.next += 1;
        Ok(states)
    }

    fn any(&mut self) -> Result<Expression, FilterError> {
        let mut parts = vec![self.all()?];
        while self.take_if(is_or) {
            parts.push(self.all()?);
        }
        Ok(one_or(parts, Expression::Any))
    }

    fn all(&mut self) -> Result<Expression, FilterError> {
        let mut parts = vec![self.one()?];
        while let Some(next) = self.peek()
            && next != ")"
            && !is_or(next)
        {
            if self.take_if(|word| matches!(word, "and" | "&" | "&&")) || begins_one(next) {
                parts.push(self.one()?);
            } else if matches!(next, "state" | "exclude" | "excl") {
                return Err(self.error("states in front of the expression only"));
            } else {
                return Err(self.error(format!("and, or, or another of {TERMS}")));
            }
        }
        Ok(one_or(parts, Expression::All))
    }

    fn one(&mut self) -> Result<Expression, FilterError> {
        let start = self.at();
        let Some(word) = self.peek().filter(|word| begins_one(word)) else {
            return Err(self.error(format!("one of {TERMS}")));
        };
        match word {
            "(" => self.deeper(|parser| {
                let inner = parser.any()?;
                if parser.take_if(|word| word == ")") {
                    return Ok(inner);
                }
                let column = parser.text[..start].chars().count() + 1;
                Err(parser.error(format!("and, or, or a ) for the ( of column {column}")))
            }),
            "not" | "!" => self.deeper(|parser| Ok(Expression::Not(Box::new(parser.one()?)))),
            _ => {
                self.next += 1;
                self.term(word, start)
            }
        }
    }

    /// Takes a token, and reads what is one level deeper because of it.
    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, FilterError>,
    ) -> Result<T, FilterError> {
        if self.depth == DEPTH_MAX {
            return Err(self.error(format!("at most {DEPTH_MAX} levels of not and ( in one")));
        }
        self.next += 1;
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn term(&mut self, word: &str, start: usize) -> Result<Expression, FilterError> {
        let comparison = self.peek().and_then(Comparison::named);
        self.next += usize::from(comparison.is_some());
        let comparison = comparison.unwrap_or(Comparison::Equal);
        let end = match word {
            "sport" => End::Local,
            "dport" => End::Remote,
            _ => return self.equal_or_not(word, start, comparison),
        };
        // Any port is one equal to which all are, and less or greater than which is nothing.
        let is_equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        if is_equality && self.take_if(|word| matches!(word, "*" | ":*")) {
            return Ok(equal_or_not(comparison, Term::Address(end, None, None, None)));
        }
        Ok(Expression::Term(Term::Port(end, comparison, self.port(start)?)))
    }

    fn equal_or_not(
        &mut self,
        word: &str,
        start: usize,
        comparison: Comparison,
    ) -> Result<Expression, FilterError> {
        if !matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
            self.next -= 1;
            return Err(self.error(format!("= or != after \"{word}\"")));
        }
        let term = match word {
            "src" => self.address(End::Local, start)?,
            "dst" => self.address(End::Remote, start)?,
            "dev" => {
                let what = "the name or index of an interface that is here";
                Term::Interface(self.number(what, start, |names, word| names.interface(word))?)
            }
            _ => Term::User(self.number("a user id", start, |_, _| None)?),
        };
        Ok(equal_or_not(comparison, term))
    }

    fn number(
        &mut self,
        what: &str,
        start: usize,
        named: impl FnOnce(&dyn Names, &str) -> Option<u32>,
    ) -> Result<u32, FilterError> {
        let number = self.peek().and_then(|word| digits(word).or_else(|| named(self.names, word)));
        let number = number.ok_or_else(|| self.expected_after(what, start))?;
        self.next += 1;
        Ok(number)
    }

    fn port(&mut self, start: usize) -> Result<u16, FilterError> {
        let word = self.peek().map(|word| word.strip_prefix(':').unwrap_or(word));
        let port = word.and_then(|word| port(word, self.names));
        let port = port.ok_or_else(|| self.expected_after("a port", start))?;
        self.next += 1;
        Ok(port)
    }

    fn address(&mut self, end: End, start: usize) -> Result<Term, FilterError> {
        let Some(word) = self.peek() else {
            return Err(self.expected_after("an address", start));
        };
        let (version, prefix, port) = address::read(word, self.names).map_err(|wrong| {
            let expected = format!("{} after \"{}\"", wrong.expected, self.since(start));
            let found = &word[wrong.at..];
            FilterError::new(self.text, self.at() + wrong.at, expected, found)
        })?;
        self.next += 1;
        Ok(Term::Address(end, version, prefix, port))
    }

    fn expected_after(&self, what: &str, start: usize) -> FilterError {
        self.error(format!("{what} after \"{}\"", self.since(start)))
    }
}

/// What is compared by `=` or by `!=`.
fn equal_or_not(comparison: Comparison, term: Term) -> Expression {
    let expression = Expression::Term(term);
    match comparison {
        Comparison::Equal => expression,
        _ => Expression::Not(Box::new(expression)),
    }
}

fn begins_one(word: &str) -> bool {
    matches!(word, "src" | "dst" | "sport" | "dport" | "dev" | "uid" | "not" | "!" | "(")
}

fn is_or(word: &str) -> bool {
    matches!(word, "or" | "|" | "||")
}

fn one_or(
    mut parts: Vec<Expression>,
    several: impl FnOnce(Vec<Expression>) -> Expression,
) -> Expression {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            several(parts)
        }
    }
}

/// A number in decimal digits; nothing else, not even a sign.
fn digits<N: std::str::FromStr>(word: &str) -> Option<N> {
    let all = word.bytes().all(|byte| byte.is_ascii_digit());
    if all { word.parse().ok() } else { None }
}

/// A port by its number or the name of its service.
fn port(word: &str, names: &dyn Names) -> Option<u16> {
    digits(word).or_else(|| names.port(word))
}

/// The name of a state in a filter.
#[must_use]
pub fn state_name(state: State) -> &'static str {
    match state {
        State::Established => "established",
        State::SynSent => "syn-sent",
        State::SynReceived | State::NewSynReceived => "syn-recv",
        State::FinWait1 => "fin-wait-1",
        State::FinWait2 => "fin-wait-2",
        State::TimeWait => "time-wait",
        State::Close => "closed",
        State::CloseWait => "close-wait",
        State::LastAck => "last-ack",
        State::Listen => "listening",
        State::Closing => "closing",
        State::BoundInactive => "bound-inactive",
    }
}

/// The states of a name (ss.c, `scan_state`), or of a name in a listing; in any case of letters.
fn states_named(name: &str) -> Option<States> {
    let name = name.to_ascii_lowercase();
    let of = |states: &[State]| states.iter().fold(States::NONE, |all, state| all.with(*state));
    let without = |states: &[State]| States::ALL.difference(of(states));
    let bucket = [State::SynReceived, State::TimeWait];
    Some(match name.as_str() {
        "all" => States::ALL,
        "connected" => without(&[State::Close, State::Listen]),
        "synchronized" => without(&[State::Close, State::Listen, State::SynSent]),
        "bucket" => of(&bucket),
        "big" => without(&bucket),
        "close" | "unconnected" => of(&[State::Close]),
        "syn-rcv" => of(&[State::SynReceived]),
        _ => {
            let mut known = State::ALL.into_iter().filter(|state| States::ALL.contains(*state));
            let state = known.find(|state| {
                name == state_name(*state) || name.eq_ignore_ascii_case(state.name())
            })?;
            of(&[state])
        }
    })
}

#[cfg(test)]
mod tests;
