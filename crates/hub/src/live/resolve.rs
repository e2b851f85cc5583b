//! Open ends: which known party was it that a reading saw only by address?
//!
//! A short connection is often seen only in TIME-WAIT, when its socket has no owner any more.
//! Taken as it is, every `curl` would leave an edge from "unknown" beside the real one. So a flow
//! with an open end is added to a known flow between the same addresses that agrees with all
//! that the open one says, the most recently seen first.

use std::{collections::HashMap, sync::Arc};

use portolan_flow::{End, Flow, Owner};

use crate::edge::{Edge, KnownFlow, Pair, pair_of};

/// How much is left open; 0 if nothing is.
fn openness(flow: &Flow) -> usize {
    let open = |end: &End| {
        usize::from(end.owner == Owner::Unobserved) + usize::from(end.namespace.is_none())
    };
    open(&flow.client) + open(&flow.server)
}

/// Whether `known` can be what `open` saw, and says more.
fn explains(known: &Flow, open: &Flow) -> bool {
    openness(known) < openness(open)
        && open.client.may_be(&known.client)
        && open.server.may_be(&known.server)
}

/// Adds flows with open ends to those that explain them, in this reading or in the past.
pub(super) fn close_ends(
    mut flows: Vec<Flow>,
    pairs: &HashMap<Pair, Vec<Arc<str>>>,
    edges: &HashMap<Arc<str>, Arc<Edge>>,
) -> Vec<Flow> {
    // What leaves less open comes first among those between the same addresses, to be there for
    // what leaves more open. A folded list is in this order but for the last part.
    flows.sort_by_key(|flow| (pair_of(flow), openness(flow)));
    let mut closed: Vec<Flow> = Vec::with_capacity(flows.len());
    // Where the flows between the same addresses as the last one begin.
    let mut from = 0;
    for mut flow in flows {
        let pair = pair_of(&flow);
        if closed.last().is_some_and(|last| pair_of(last) != pair) {
            from = closed.len();
        }
        if openness(&flow) > 0 {
            // What this reading saw is the most recently seen there is.
            if let Some(known) = closed[from..].iter_mut().find(|known| explains(known, &flow)) {
                adopt(&mut flow, known);
                known.absorb(flow);
                continue;
            }
            let past = pairs.get(&pair).into_iter().flatten().filter_map(|id| edges.get(id));
            if let Some(known) = latest(past, &flow) {
                adopt(&mut flow, &known.flow);
            }
        }
        closed.push(flow);
    }
    closed
}

/// The flow of the past that explains `open`: the one seen last, and among those the first.
fn latest<'a>(edges: impl Iterator<Item = &'a Arc<Edge>>, open: &Flow) -> Option<&'a KnownFlow> {
    let pair = pair_of(open);
    let mut latest: Option<&KnownFlow> = None;
    for edge in edges {
        let from = edge.flows.partition_point(|known| pair_of(&known.flow) < pair);
        let same_pair = edge.flows[from..].iter().take_while(|known| pair_of(&known.flow) == pair);
        for known in same_pair.filter(|known| explains(&known.flow, open)) {
            if latest.is_none_or(|latest| latest.last_seen_ms < known.last_seen_ms) {
                latest = Some(known);
            }
        }
    }
    latest
}

fn adopt(flow: &mut Flow, known: &Flow) {
    for (end, known) in [(&mut flow.client, &known.client), (&mut flow.server, &known.server)] {
        end.namespace.clone_from(&known.namespace);
        end.owner.clone_from(&known.owner);
    }
    flow.guessed &= known.guessed;
}
