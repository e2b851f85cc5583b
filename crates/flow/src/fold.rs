//! One edge seen from both ends is one edge.
//!
//! A method that bundles early (in the kernel, or on another host) sees halves: the client's end
//! knows its own process and only the address of the server, and the other way round. Halves with
//! the same addresses, port and transport describe the same edge. What one half leaves open, the
//! other fills in, but only where there is one candidate; where there are several, connections are
//! attributed up to what each candidate itself reported, and the rest stays open (the rest of what
//! was counted as traffic goes to the busiest candidate, `fold/shares.rs`). A connection that
//! cannot leave its namespace (loopback) is completed with nothing from another one. Where several
//! namespaces use one address (two isolated networks with the same plan), a half is completed only
//! across namespaces that a whole edge shows to have a way to each other.

mod shares;

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
    net::IpAddr,
};

use crate::{Counters, End, Flow, Namespace};

/// Joins halves and adds up records of the same edge.
///
/// The result is in order and does not depend on the order of the input; the sum of each counter
/// over all records is the same before and after; folding a folded list changes nothing.
#[must_use]
pub fn fold(mut flows: Vec<Flow>) -> Vec<Flow> {
    flows.iter_mut().for_each(share_namespace);
    flows.sort_by(by_addresses);
    let mut groups = Vec::new();
    let mut rest = flows.into_iter().peekable();
    while let Some(first) = rest.next() {
        let mut group = vec![first];
        while let Some(next) = rest.next_if(|next| by_addresses(&group[0], next).is_eq()) {
            group.push(next);
        }
        groups.push(add_up(group));
    }
    let shared = shared_addresses(&groups);
    groups.into_iter().flat_map(|group| fold_group(group, &shared)).collect()
}

/// The addresses that are known in more than one namespace. Folding does not change them.
fn shared_addresses(groups: &[Vec<Flow>]) -> HashSet<IpAddr> {
    let mut places: HashMap<IpAddr, &Namespace> = HashMap::new();
    let mut shared = HashSet::new();
    for end in groups.iter().flatten().flat_map(|flow| [&flow.client, &flow.server]) {
        let Some(namespace) = &end.namespace else { continue };
        if *places.entry(end.address).or_insert(namespace) != namespace {
            shared.insert(end.address);
        }
    }
    shared
}

/// Where one end's namespace must be the other's, says so.
fn share_namespace(flow: &mut Flow) {
    let (client, server) = (&mut flow.client, &mut flow.server);
    if stays_in_namespace(client.address, server.address) {
        let known = client.namespace.clone().or_else(|| server.namespace.clone());
        client.namespace = client.namespace.take().or_else(|| known.clone());
        server.namespace = server.namespace.take().or(known);
    }
}

/// Whether a connection between the two never leaves a network namespace: the kernel delivers to
/// its own addresses over loopback.
pub(crate) fn stays_in_namespace(one: IpAddr, other: IpAddr) -> bool {
    one == other || one.is_loopback() || other.is_loopback()
}

fn by_addresses(a: &Flow, b: &Flow) -> Ordering {
    let key =
        |flow: &Flow| (flow.server_port, flow.transport, flow.server.address, flow.client.address);
    key(a).cmp(&key(b))
}

fn by_party(a: &Flow, b: &Flow) -> Ordering {
    a.server.party_cmp(&b.server).then_with(|| a.client.party_cmp(&b.client))
}

fn fold_group(mut group: Vec<Flow>, shared: &HashSet<IpAddr>) -> Vec<Flow> {
    if group.len() > 1 {
        let (client, server) = (group[0].client.address, group[0].server.address);
        let ambiguous = shared.contains(&client) || shared.contains(&server);
        // What one end finds out can narrow down another.
        while complete(&mut group, ambiguous) {
            group = add_up(group);
        }
        let empty: Vec<bool> = group.iter().map(Flow::counts_nothing).collect();
        distribute(&mut group, open_client);
        distribute(&mut group, open_server);
        shares::share_traffic(&mut group);
        // What was empty before is an edge from history; what became empty has moved.
        let mut was_empty = empty.into_iter();
        group.retain(|flow| was_empty.next() == Some(true) || !flow.counts_nothing());
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

/// Fills every open end that has exactly one candidate in the group; says whether there was one.
fn complete(group: &mut [Flow], ambiguous: bool) -> bool {
    let mut changed = false;
    let clients = known_ends(group.iter().map(|flow| &flow.client));
    let servers = known_ends(group.iter().map(|flow| &flow.server));
    let ways = ambiguous.then(|| ways(group));
    for flow in group {
        changed |= fill(&mut flow.client, &clients, |known| {
            ways.as_ref().is_none_or(|ways| ways.contains(&way(known, &flow.server)))
        });
        share_namespace(flow);
        changed |= fill(&mut flow.server, &servers, |known| {
            ways.as_ref().is_none_or(|ways| ways.contains(&way(&flow.client, known)))
        });
        share_namespace(flow);
    }
    changed
}

/// The namespaces of a client and of a server that has it.
type Way = (Option<Namespace>, Option<Namespace>);

fn way(client: &End, server: &End) -> Way {
    (client.namespace.clone(), server.namespace.clone())
}

/// Between which namespaces there is an edge: those have a way to each other.
fn ways(group: &[Flow]) -> HashSet<Way> {
    let of = |flow: &Flow| way(&flow.client, &flow.server);
    group.iter().map(of).filter(|(one, other)| one.is_some() && other.is_some()).collect()
}

fn known_ends<'a>(ends: impl Iterator<Item = &'a End>) -> Vec<End> {
    let mut known: Vec<End> = ends.filter(|end| !end.is_open()).cloned().collect();
    known.sort_by(End::party_cmp);
    known.dedup_by(|a, b| a.same_party(b));
    known
}

fn fill(end: &mut End, known: &[End], has_way: impl Fn(&End) -> bool) -> bool {
    if !end.is_open() {
        return false;
    }
    // Within a namespace that is known already there is no doubt about the way.
    let inside = end.namespace.is_some();
    let mut candidates =
        known.iter().filter(|known| end.may_be(known) && (inside || has_way(known)));
    let (Some(only), None) = (candidates.next(), candidates.next()) else { return false };
    end.namespace.clone_from(&only.namespace);
    end.owner.clone_from(&only.owner);
    true
}

/// Picks the open end of a record, and the counters of the end that reported it.
type Open = fn(&mut Flow) -> OpenEnd<'_>;

struct OpenEnd<'a> {
    open: &'a mut End,
    reporter: &'a mut End,
    /// What the reporter counted.
    reported: &'a mut Counters,
    guessed: &'a mut bool,
    /// What the other end counted: the most that can be attributed.
    limit: Counters,
}

fn open_client(flow: &mut Flow) -> OpenEnd<'_> {
    OpenEnd {
        open: &mut flow.client,
        reporter: &mut flow.server,
        reported: &mut flow.passive,
        guessed: &mut flow.guessed,
        limit: flow.active,
    }
}

fn open_server(flow: &mut Flow) -> OpenEnd<'_> {
    OpenEnd {
        open: &mut flow.server,
        reporter: &mut flow.client,
        reported: &mut flow.active,
        guessed: &mut flow.guessed,
        limit: flow.passive,
    }
}

/// Moves what records with an open end counted to the records that can be it, in order, never
/// beyond what those counted at their own end.
fn distribute(group: &mut [Flow], open: Open) {
    for from in 0..group.len() {
        if !open(&mut group[from]).open.is_open() {
            continue;
        }
        for to in 0..group.len() {
            // The two are the same where `from == to`.
            let Ok([source, target]) = group.get_disjoint_mut([from, to]) else { continue };
            let (source, target) = (open(source), open(target));
            let fits = !target.open.is_open()
                && source.open.may_be(target.open)
                && source.reporter.same_party(target.reporter);
            if fits && shift(source.reported, target.reported, target.limit) {
                target.open.pids.merge(&source.open.pids);
                target.reporter.pids.merge(&source.reporter.pids);
                *target.guessed &= *source.guessed;
            }
        }
    }
}

/// Whether there was anything to move. TIME-WAIT is not: only one end has it, so there is no limit.
fn shift(from: &mut Counters, to: &mut Counters, limit: Counters) -> bool {
    let step = |from: &mut u64, to: &mut u64, limit: u64| {
        let moved = (*from).min(limit.saturating_sub(*to));
        *from -= moved;
        *to += moved;
        moved > 0
    };
    let connections = step(&mut from.connections, &mut to.connections, limit.connections);
    let opening = step(&mut from.opening, &mut to.opening, limit.opening);
    connections || opening
}

#[cfg(test)]
mod tests;
