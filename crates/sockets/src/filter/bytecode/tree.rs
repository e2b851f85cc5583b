//! An expression in the operations that the kernel has, with `not` only at single operations.

use std::net::{IpAddr, Ipv6Addr};

use crate::filter::expression::{Comparison, End, Expression, Prefix, Term, Version};

/// Of any address of IPv6, and of none of IPv4. (It takes IPv4-mapped addresses for IPv4's.)
const ANY_V6: Prefix = Prefix { address: IpAddr::V6(Ipv6Addr::UNSPECIFIED), bits: 0 };

/// What the kernel can test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The port is this one or higher.
    AtLeast(End, u16),
    /// The port is this one or lower.
    AtMost(End, u16),
    /// Address and port.
    Host(End, Option<Prefix>, Option<u16>),
    /// The interface.
    Interface(u32),
}

/// An expression for the kernel. `Always` and `Never` stand at the top or nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// True of every socket.
    Always,
    /// True of none.
    Never,
    /// Whether an operation's answer is this one.
    Test(Operation, bool),
    /// All are true.
    All(Vec<Self>),
    /// One at least is true.
    Any(Vec<Self>),
}

impl Tree {
    /// A tree that is true wherever `expression` is, and whether it is true nowhere else.
    #[must_use]
    pub fn of(expression: &Expression) -> (Self, bool) {
        let mut exact = true;
        let tree = build(expression, true, &mut exact);
        (tree, exact)
    }
}

/// The tree of an expression, or of its opposite where that is what is `wanted`.
fn build(expression: &Expression, wanted: bool, exact: &mut bool) -> Tree {
    match expression {
        Expression::Not(inner) => build(inner, !wanted, exact),
        Expression::Term(term) => test(term, wanted, exact),
        // De Morgan: the opposite of all is one that is not.
        Expression::All(parts) if wanted => all(parts, wanted, exact),
        Expression::Any(parts) if !wanted => all(parts, wanted, exact),
        Expression::All(parts) | Expression::Any(parts) => any(parts, wanted, exact),
    }
}

fn all(parts: &[Expression], wanted: bool, exact: &mut bool) -> Tree {
    let mut trees = Vec::new();
    for part in parts {
        match build(part, wanted, exact) {
            Tree::Always => {}
            Tree::Never => return Tree::Never,
            Tree::All(more) => trees.extend(more),
            other => trees.push(other),
        }
    }
    if trees.is_empty() { Tree::Always } else { Tree::All(trees) }
}

fn any(parts: &[Expression], wanted: bool, exact: &mut bool) -> Tree {
    let mut trees = Vec::new();
    for part in parts {
        match build(part, wanted, exact) {
            Tree::Always => return Tree::Always,
            Tree::Never => {}
            Tree::Any(more) => trees.extend(more),
            other => trees.push(other),
        }
    }
    if trees.is_empty() { Tree::Never } else { Tree::Any(trees) }
}

fn test(term: &Term, wanted: bool, exact: &mut bool) -> Tree {
    let (operation, answer) = match *term {
        Term::Address(_, None, None, None) => {
            return if wanted { Tree::Always } else { Tree::Never };
        }
        Term::Address(end, None, prefix, port) => (Operation::Host(end, prefix, port), true),
        Term::Address(end, Some(Version::V6), prefix, port) => {
            (Operation::Host(end, Some(prefix.unwrap_or(ANY_V6)), port), true)
        }
        Term::Address(end, Some(Version::V4), prefix, port) => {
            let address = |prefix, port| Expression::Term(Term::Address(end, None, prefix, port));
            let of_v6 = Expression::Not(Box::new(address(Some(ANY_V6), None)));
            return build(&Expression::All(vec![address(prefix, port), of_v6]), wanted, exact);
        }
        Term::Port(end, comparison, port) => match comparison {
            Comparison::Equal => (Operation::Host(end, None, Some(port)), true),
            Comparison::NotEqual => (Operation::Host(end, None, Some(port)), false),
            Comparison::GreaterOrEqual => (Operation::AtLeast(end, port), true),
            Comparison::Less => (Operation::AtLeast(end, port), false),
            Comparison::LessOrEqual => (Operation::AtMost(end, port), true),
            Comparison::Greater => (Operation::AtMost(end, port), false),
        },
        Term::Interface(index) => (Operation::Interface(index), true),
        // The kernel does not test users: whichever way it is asked, the socket may match.
        Term::User(_) => {
            *exact = false;
            return Tree::Always;
        }
    };
    Tree::Test(operation, answer == wanted)
}
