//! A slice of a listing as a filter, so that the kernel can leave out the rest.
//!
//! sock_diag cannot begin in the middle of its table, but it can compare ports. One end of most
//! connections has an ephemeral port, whichever side opened it, and those spread evenly: a server
//! whose sockets all have one port is sliced by its peers' ports.

use super::{
    Filter,
    expression::{Comparison, End, Expression, Term},
};
use crate::Slice;

impl Filter {
    /// What of a filter's sockets is in a slice, given the range of the ephemeral ports.
    pub(crate) fn within(filter: Option<&Self>, slice: Slice, (first, last): (u16, u16)) -> Self {
        let span = u64::from(last.saturating_sub(first)) + 1;
        let bound = |part: u32| {
            let offset = span * u64::from(part) / u64::from(slice.of);
            u16::try_from(offset).map_or(u16::MAX, |offset| first.saturating_add(offset))
        };
        // The first slice has all that is below, the last all that is above.
        let from = (slice.index > 0).then(|| bound(slice.index));
        let below = (slice.index + 1 < slice.of).then(|| bound(slice.index + 1));
        let ephemeral = |comparison| port(End::Local, comparison, first);
        let by = |end| {
            let from = from.map(|from| port(end, Comparison::GreaterOrEqual, from));
            let below = below.map(|below| port(end, Comparison::Less, below));
            from.into_iter().chain(below)
        };
        let own = all([ephemeral(Comparison::GreaterOrEqual)].into_iter().chain(by(End::Local)));
        let peers = all([ephemeral(Comparison::Less)].into_iter().chain(by(End::Remote)));
        let slice = Expression::Any(vec![own, peers]);
        let wanted = filter.and_then(|filter| filter.expression.clone());
        let both = all(wanted.into_iter().chain([slice]));
        Self::new(filter.and_then(|filter| filter.states), Some(both))
    }
}

fn port(end: End, comparison: Comparison, port: u16) -> Expression {
    Expression::Term(Term::Port(end, comparison, port))
}

fn all(parts: impl Iterator<Item = Expression>) -> Expression {
    let mut parts: Vec<Expression> = parts.collect();
    if parts.len() == 1 { parts.remove(0) } else { Expression::All(parts) }
}

#[cfg(test)]
mod tests;
