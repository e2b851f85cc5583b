//! Which of several candidates gets the traffic of a record with an open end.
//!
//! As with connections, what the known end counted moves to the records that can be it, up to what
//! each of those counted at its other end. But the two ends may have counted one connection in
//! different spans of time, and not every connection is over when it is counted, so this limit is
//! not exact: what remains goes to the candidate over which most went. It stays where it is only if
//! no candidate has counted anything.

use std::cmp::Reverse;

use crate::{End, Flow, Totals, Traffic};

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Active,
    Passive,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Active => Self::Passive,
            Self::Passive => Self::Active,
        }
    }

    fn end(self, flow: &Flow) -> &End {
        match self {
            Self::Active => &flow.client,
            Self::Passive => &flow.server,
        }
    }

    fn counted(self, traffic: &mut Traffic) -> &mut Totals {
        match self {
            Self::Active => &mut traffic.active,
            Self::Passive => &mut traffic.passive,
        }
    }
}

/// Moves what records with an open end counted at the other one. The records are those between two
/// addresses, in order.
///
/// Doing it again changes nothing: only what is open at one end is moved, all of it, and whether a
/// candidate has counted anything does not change by what it gets.
pub(super) fn share_traffic(group: &mut [Flow]) {
    if group.iter().all(|flow| flow.traffic.is_none()) {
        return;
    }
    for open in [Side::Active, Side::Passive] {
        for from in 0..group.len() {
            share(group, from, open);
        }
    }
}

fn share(group: &mut [Flow], from: usize, open: Side) {
    let source = &group[from];
    let Some(mut traffic) = source.traffic.clone() else { return };
    let mut rest = std::mem::take(open.other().counted(&mut traffic));
    if rest.is_zero() || !open.end(source).is_open() {
        return;
    }
    let candidates: Vec<usize> =
        (0..group.len()).filter(|&to| can_be(source, &group[to], open)).collect();
    // Between equals the first in order.
    let busiest = candidates.iter().copied().min_by_key(|&to| Reverse(amount(&group[to])));
    let Some(busiest) = busiest else { return };
    let source = Flow { traffic: None, ..source.clone() };
    for &to in &candidates {
        let share = within_limits(&mut rest, &group[to], open);
        give(&mut group[to], &source, open, traffic.span_ms, &share);
    }
    give(&mut group[busiest], &source, open, traffic.span_ms, &rest);
    group[from].traffic = Some(traffic).filter(|traffic| !traffic.is_zero());
}

/// Whether what `target` says of the open end of `source` may be said of it.
fn can_be(source: &Flow, target: &Flow, open: Side) -> bool {
    let known = open.other();
    !open.end(target).is_open()
        && open.end(source).may_be(open.end(target))
        && known.end(source).same_party(known.end(target))
        && !target.counts_nothing()
}

/// How much went over it: connections first, because one that is added where there are none is
/// seen at once, and a few bytes more are not.
fn amount(flow: &Flow) -> (u64, u64, u64) {
    let traffic = flow.traffic.as_deref().copied().unwrap_or_default();
    let once = traffic.counted_once().active;
    let handshakes = once.opened.saturating_add(once.closed).saturating_add(once.failed());
    (handshakes, once.bytes_sent.saturating_add(once.bytes_received), flow.connections())
}

/// Takes out of `rest` what the open side of `target` counted and the other has not.
fn within_limits(rest: &mut Totals, target: &Flow, open: Side) -> Totals {
    let mut share = Totals::default();
    let Some(mut traffic) = target.traffic.as_deref().copied() else { return share };
    let limit = mirrored(open.counted(&mut traffic)).counts();
    let have = open.other().counted(&mut traffic).counts();
    let counts = share.counts_mut().into_iter().zip(rest.counts_mut());
    for ((share, rest), (limit, have)) in counts.zip(limit.into_iter().zip(have)) {
        *share = (*rest).min(limit.saturating_sub(have));
        *rest -= *share;
    }
    share
}

/// What the other end has counted of the same, if it counted at the same time. Round-trip times and
/// what was sent again is each end's own.
fn mirrored(end: &Totals) -> Totals {
    Totals {
        bytes_sent: end.bytes_received,
        bytes_received: end.bytes_sent,
        datagrams_sent: end.datagrams_received,
        datagrams_received: end.datagrams_sent,
        retransmits: 0,
        rtt_us_sum: 0,
        rtt_samples: 0,
        ..*end
    }
}

fn give(target: &mut Flow, source: &Flow, open: Side, span_ms: u64, share: &Totals) {
    if share.is_zero() {
        return;
    }
    let traffic = target.traffic.get_or_insert_default();
    open.other().counted(traffic).add(share);
    traffic.span_ms = traffic.span_ms.max(span_ms);
    target.client.pids.merge(&source.client.pids);
    target.server.pids.merge(&source.server.pids);
    target.guessed &= source.guessed;
}
