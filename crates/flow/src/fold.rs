//! One edge seen from both ends is one edge.
//!
//! A method that bundles early (in the kernel, or on another host) sees halves: the client's end
//! knows its own process and only the address of the server, and the other way round. Halves with
//! the same addresses, port and transport describe the same edge. What one half leaves open, the
//! other fills in, but only where there is one candidate; where there are several, connections are
//! attributed up to what each candidate itself reported, and the rest stays open.

use std::cmp::Ordering;

use crate::{Counters, End, Flow};

/// Joins halves and adds up records of the same edge.
///
/// The result is in order and does not depend on the order of the input; the sum of each counter
/// over all records is the same before and after; folding a folded list changes nothing.
#[must_use]
pub fn fold(mut flows: Vec<Flow>) -> Vec<Flow> {
    flows.sort_by(by_addresses);
    let mut folded = Vec::new();
    let mut rest = flows.into_iter().peekable();
    while let Some(first) = rest.next() {
        let mut group = vec![first];
        while let Some(next) = rest.next_if(|next| by_addresses(&group[0], next).is_eq()) {
            group.push(next);
        }
        folded.append(&mut fold_group(group));
    }
    folded
}

fn by_addresses(a: &Flow, b: &Flow) -> Ordering {
    let key =
        |flow: &Flow| (flow.server_port, flow.transport, flow.server.address, flow.client.address);
    key(a).cmp(&key(b))
}

fn by_party(a: &Flow, b: &Flow) -> Ordering {
    a.server.party_cmp(&b.server).then_with(|| a.client.party_cmp(&b.client))
}

fn fold_group(group: Vec<Flow>) -> Vec<Flow> {
    let mut group = add_up(group);
    if group.len() > 1 {
        complete(&mut group);
        group = add_up(group);
        distribute(&mut group, open_client);
        distribute(&mut group, open_server);
        group.retain(|flow| !(flow.active.is_zero() && flow.passive.is_zero()));
    }
    group
}

fn add_up(mut group: Vec<Flow>) -> Vec<Flow> {
    group.sort_by(by_party);
    let mut sums: Vec<Flow> = Vec::with_capacity(group.len().min(64));
    for flow in group {
        match sums.last_mut() {
            Some(last) if last.same_edge(&flow) => last.absorb(flow),
            _ => sums.push(flow),
        }
    }
    sums
}

/// Fills every open end that has exactly one candidate in the group.
fn complete(group: &mut [Flow]) {
    let clients = known_ends(group.iter().map(|flow| &flow.client));
    let servers = known_ends(group.iter().map(|flow| &flow.server));
    for flow in group {
        fill(&mut flow.client, &clients);
        fill(&mut flow.server, &servers);
    }
}

fn known_ends<'a>(ends: impl Iterator<Item = &'a End>) -> Vec<End> {
    let mut known: Vec<End> = ends.filter(|end| !end.is_open()).cloned().collect();
    known.sort_by(End::party_cmp);
    known.dedup_by(|a, b| a.same_party(b));
    known
}

fn fill(end: &mut End, known: &[End]) {
    if !end.is_open() {
        return;
    }
    let mut candidates = known.iter().filter(|known| end.may_be(known));
    if let (Some(only), None) = (candidates.next(), candidates.next()) {
        end.namespace.clone_from(&only.namespace);
        end.owner.clone_from(&only.owner);
    }
}

/// Picks the open end of a record, and the counters of the end that reported it.
type Open = fn(&mut Flow) -> OpenEnd<'_>;

struct OpenEnd<'a> {
    open: &'a End,
    reporter: &'a End,
    /// What the reporter counted.
    reported: &'a mut Counters,
    /// What the other end counted: the most that can be attributed.
    limit: Counters,
}

fn open_client(flow: &mut Flow) -> OpenEnd<'_> {
    OpenEnd {
        open: &flow.client,
        reporter: &flow.server,
        reported: &mut flow.passive,
        limit: flow.active,
    }
}

fn open_server(flow: &mut Flow) -> OpenEnd<'_> {
    OpenEnd {
        open: &flow.server,
        reporter: &flow.client,
        reported: &mut flow.active,
        limit: flow.passive,
    }
}

/// Moves what records with an open end counted to the records that can be it, in order, never
/// beyond what those counted at their own end.
fn distribute(group: &mut [Flow], open: Open) {
    for from in 0..group.len() {
        for to in 0..group.len() {
            if from == to {
                continue;
            }
            let Ok([source, target]) = group.get_disjoint_mut([from, to]) else { continue };
            let (source, target) = (open(source), open(target));
            let fits = source.open.is_open()
                && !target.open.is_open()
                && source.open.may_be(target.open)
                && source.reporter.same_party(target.reporter);
            if fits {
                shift(source.reported, target.reported, target.limit);
            }
        }
    }
}

fn shift(from: &mut Counters, to: &mut Counters, limit: Counters) {
    let step = |from: &mut u64, to: &mut u64, limit: u64| {
        let moved = (*from).min(limit.saturating_sub(*to));
        *from -= moved;
        *to += moved;
    };
    step(&mut from.connections, &mut to.connections, limit.connections);
    step(&mut from.opening, &mut to.opening, limit.opening);
}
