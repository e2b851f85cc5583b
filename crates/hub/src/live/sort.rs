//! A reading by edge and by node.

use std::{collections::HashMap, sync::Arc};

use portolan_flow::{Flow, Listener};

use super::sighting::Sighting;
use crate::{
    edge::{Edge, is_passing},
    identity::{Users, client_of, listener_of, server_of},
};

/// The flows of one reading that belong to one edge.
#[derive(Debug)]
pub(super) struct Group {
    pub client: Arc<str>,
    pub server: Arc<str>,
    pub flows: Vec<Flow>,
}

/// Things by id, in the order in which they came.
#[derive(Debug)]
pub(super) struct Ordered<T> {
    positions: HashMap<Arc<str>, usize>,
    items: Vec<(Arc<str>, T)>,
}

impl<T> Ordered<T> {
    fn new() -> Self {
        Self { positions: HashMap::new(), items: Vec::new() }
    }

    fn get_or_insert(&mut self, id: &str, make: impl FnOnce() -> T) -> &mut T {
        let at = self.positions.get(id).copied().unwrap_or_else(|| {
            let id: Arc<str> = id.into();
            self.positions.insert(Arc::clone(&id), self.items.len());
            self.items.push((id, make()));
            self.items.len() - 1
        });
        &mut self.items[at].1
    }

    pub fn contains(&self, id: &str) -> bool {
        self.positions.contains_key(id)
    }

    pub fn into_items(self) -> impl Iterator<Item = (Arc<str>, T)> {
        self.items.into_iter()
    }
}

/// A reading that is ready to be applied.
#[derive(Debug)]
pub struct Sorted {
    pub(super) groups: Ordered<Group>,
    pub(super) sightings: Ordered<Sighting>,
    pub(super) listeners: Vec<Listener>,
    pub(super) warnings: Vec<String>,
    pub(super) method: String,
    /// Whether traffic is counted: it tells how handshakes end.
    pub(super) counts_traffic: bool,
}

impl Sorted {
    pub(super) fn new(
        flows: Vec<Flow>,
        listeners: Vec<Listener>,
        warnings: Vec<String>,
        method: String,
        counts_traffic: bool,
        users: &Users,
    ) -> Self {
        let (mut groups, mut sightings) = (Ordered::new(), Ordered::new());
        for flow in flows {
            let (client, server) = (client_of(&flow, users), server_of(&flow, users));
            let id = Edge::id_of(&client.id, &server.id, flow.server_port, flow.transport);
            let group: &mut Group = groups.get_or_insert(&id, || Group {
                client: Arc::clone(&client.id),
                server: Arc::clone(&server.id),
                flows: Vec::new(),
            });
            let lasts = !is_passing(&flow, counts_traffic);
            for (identity, end) in [(client, &flow.client), (server, &flow.server)] {
                let id = Arc::clone(&identity.id);
                let sighting: &mut Sighting =
                    sightings.get_or_insert(&id, || Sighting::new(identity));
                sighting.see(end);
                sighting.lasts |= lasts;
            }
            group.flows.push(flow);
        }
        for listener in &listeners {
            let identity = listener_of(listener, users);
            let id = Arc::clone(&identity.id);
            sightings.get_or_insert(&id, || Sighting::new(identity)).listen(listener);
        }
        Self { groups, sightings, listeners, warnings, method, counts_traffic }
    }
}
