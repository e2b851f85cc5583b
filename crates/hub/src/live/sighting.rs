//! What one reading says about one node.

use std::{collections::BTreeSet, net::IpAddr};

use portolan_flow::{End, Listener, Pids, service_name};

use crate::{
    api::{Listening, Node},
    identity::Identity,
};

/// How many process names, and how many addresses, a node lists.
const NAMES_MAX: usize = 64;

/// How many listening ports a node lists.
const LISTENING_MAX: usize = 1_024;

#[derive(Debug)]
pub(super) struct Sighting {
    identity: Identity,
    processes: BTreeSet<String>,
    pids: Pids,
    addresses: BTreeSet<IpAddr>,
    listening: BTreeSet<Listening>,
    /// Whether there is more of it than passing flows.
    pub lasts: bool,
}

impl Sighting {
    /// Nothing of a node yet but who it is.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            processes: BTreeSet::new(),
            pids: Pids::default(),
            addresses: BTreeSet::new(),
            listening: BTreeSet::new(),
            lasts: false,
        }
    }

    /// Adds an end of a flow.
    pub fn see(&mut self, end: &End) {
        if let Some(process) = end.owner.process()
            && self.processes.len() < NAMES_MAX
            && !self.processes.contains(&process.name)
        {
            self.processes.insert(process.name.clone());
        }
        self.pids.merge(&end.pids);
        if !end.address.is_unspecified() && self.addresses.len() < NAMES_MAX {
            self.addresses.insert(end.address);
        }
        if self.identity.namespace.is_none() {
            self.identity.namespace =
                end.namespace.as_ref().map(|namespace| namespace.name().to_owned());
        }
    }

    /// Adds a listening port.
    pub fn listen(&mut self, listener: &Listener) {
        self.see(&listener.end);
        self.lasts = true;
        if self.listening.len() < LISTENING_MAX {
            self.listening.insert(listening(listener));
        }
    }

    /// Brings a node up to date; says whether anything changed but its `last_seen_ms`.
    ///
    /// Names and addresses add up, so that a node whose processes come and go does not flicker;
    /// process ids and listening ports are those of the last reading.
    pub fn update(self, node: &mut Node) -> bool {
        let mut is_changed = !node.live;
        node.live = true;
        is_changed |= add_all(&mut node.processes, self.processes);
        is_changed |= add_all(&mut node.addresses, self.addresses);
        if node.pids != self.pids.as_slice() {
            node.pids = self.pids.as_slice().to_vec();
            is_changed = true;
        }
        if !node.listening.iter().eq(&self.listening) {
            node.listening = self.listening.into_iter().collect();
            is_changed = true;
        }
        if node.namespace.is_none() && self.identity.namespace.is_some() {
            node.namespace = self.identity.namespace;
            is_changed = true;
        }
        is_changed
    }

    /// A new node.
    pub fn into_node(self, now_ms: u64) -> Node {
        Node {
            pids: self.pids.as_slice().to_vec(),
            processes: self.processes.into_iter().collect(),
            addresses: self.addresses.into_iter().collect(),
            listening: self.listening.into_iter().collect(),
            live: true,
            ..empty_node(self.identity, now_ms)
        }
    }
}

/// A node of which nothing but its identity is known.
pub(super) fn empty_node(identity: Identity, seen_ms: u64) -> Node {
    Node {
        id: identity.id,
        kind: identity.kind,
        name: identity.name,
        processes: Vec::new(),
        pids: Vec::new(),
        unit: identity.unit,
        container: identity.container,
        namespace: identity.namespace,
        user: identity.user,
        addresses: Vec::new(),
        listening: Vec::new(),
        first_seen_ms: seen_ms,
        last_seen_ms: seen_ms,
        live: false,
    }
}

/// Adds what a stored end says to a node that is not live.
pub(super) fn remember(node: &mut Node, end: &End) {
    add_all(&mut node.processes, end.owner.process().map(|process| process.name.clone()));
    add_all(&mut node.addresses, Some(end.address).filter(|address| !address.is_unspecified()));
    if node.namespace.is_none() {
        node.namespace = end.namespace.as_ref().map(|namespace| namespace.name().to_owned());
    }
}

/// Adds a stored listening port to a node that is not live.
pub(super) fn remember_listening(node: &mut Node, listener: &Listener) {
    let listening = listening(listener);
    if let Err(at) = node.listening.binary_search(&listening)
        && node.listening.len() < LISTENING_MAX
    {
        node.listening.insert(at, listening);
    }
}

/// The listening port as a node shows it.
fn listening(listener: &Listener) -> Listening {
    Listening {
        transport: listener.transport,
        address: listener.end.address,
        port: listener.port,
        service: service_name(listener.transport, listener.port).map(str::to_owned),
    }
}

/// Adds to an ordered list, up to [`NAMES_MAX`]; says whether it grew.
fn add_all<T: Ord>(list: &mut Vec<T>, more: impl IntoIterator<Item = T>) -> bool {
    let before = list.len();
    for item in more {
        if list.len() >= NAMES_MAX {
            break;
        }
        if let Err(at) = list.binary_search(&item) {
            list.insert(at, item);
        }
    }
    list.len() > before
}
