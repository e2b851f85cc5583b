//! A set of addresses as disjoint ranges, so that a network costs as much as one address.

use std::net::IpAddr;

use super::{
    SpaceError,
    range::{AddressRange, Span, families, line},
};

/// At most so many ranges that do not touch: 64 MiB of a set, and more than anybody writes.
pub const RANGES_MAX: usize = 1 << 22;

/// A set of IPv4 and IPv6 addresses. An IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2) is the
/// IPv4 address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// In order, and with a gap between any two.
    spans: Vec<Span>,
}

impl Ranges {
    /// All of the ranges together, in whatever order they come.
    ///
    /// # Errors
    ///
    /// [`SpaceError::Ranges`] where more than [`RANGES_MAX`] remain that do not touch.
    pub fn collect(ranges: impl IntoIterator<Item = AddressRange>) -> Result<Self, SpaceError> {
        let mut spans = Vec::new();
        let mut settle_at = SETTLE_MIN;
        for range in ranges {
            spans.push(range.span());
            if spans.len() >= settle_at {
                settle(&mut spans);
                limit(spans.len())?;
                settle_at = (2 * spans.len()).max(SETTLE_MIN);
            }
        }
        settle(&mut spans);
        limit(spans.len())?;
        Ok(Self { spans })
    }

    /// No address.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// How many addresses; one too few for all of IPv6, whose number no `u128` holds.
    #[must_use]
    pub fn addresses(&self) -> u128 {
        self.spans.iter().fold(0, |sum, (first, last)| {
            let part: u128 = last - first;
            sum.saturating_add(part).saturating_add(1)
        })
    }

    /// Whether the address is one of them.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let place = line(address);
        let after = self.spans.partition_point(|span| span.1 < place);
        self.spans.get(after).is_some_and(|span| span.0 <= place)
    }

    /// What is in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut spans = [&*self.spans, &*other.spans].concat();
        settle(&mut spans);
        Self { spans }
    }

    /// What is in this and not in the other.
    #[must_use]
    pub fn subtract(&self, other: &Self) -> Self {
        let mut spans = Vec::new();
        for span in &self.spans {
            outside(*span, &other.spans, &mut |left| spans.push(left));
        }
        Self { spans }
    }

    /// The ranges, each of one family, in the order of the IPv6 form of their addresses; so IPv4
    /// comes after `::1` and before the rest of IPv6.
    pub fn iter(&self) -> impl Iterator<Item = AddressRange> {
        self.spans.iter().copied().flat_map(families)
    }

    pub(super) fn of_spans(mut spans: Vec<Span>) -> Self {
        settle(&mut spans);
        Self { spans }
    }

    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }
}

/// Below so many, nothing is merged before the end.
pub(super) const SETTLE_MIN: usize = 1024;

/// Puts spans in order and merges those that overlap or touch.
pub(super) fn settle(spans: &mut Vec<Span>) {
    spans.sort_unstable();
    spans.dedup_by(|next, kept| {
        let touches = next.0 <= kept.1.saturating_add(1);
        if touches {
            kept.1 = kept.1.max(next.1);
        }
        touches
    });
}

/// What of a span is in none of the holes, which are settled.
pub(super) fn outside(span: Span, holes: &[Span], keep: &mut impl FnMut(Span)) {
    let mut first = span.0;
    let near = holes.partition_point(|hole| hole.1 < span.0);
    for hole in holes[near..].iter().take_while(|hole| hole.0 <= span.1) {
        if hole.0 > first {
            keep((first, hole.0 - 1));
        }
        if hole.1 >= span.1 {
            return;
        }
        first = hole.1 + 1;
    }
    keep((first, span.1));
}

pub(super) fn limit(ranges: usize) -> Result<(), SpaceError> {
    if ranges > RANGES_MAX { Err(SpaceError::Ranges) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
