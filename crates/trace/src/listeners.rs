//! The ports that listen, as the programs know them.

use std::{collections::HashMap, net::IpAddr, os::fd::AsFd};

use libbpf_rs::Object;
use portolan_flow::Transport;
use portolan_sys::bpf::Batches;

use crate::{
    Error,
    edge::{Name, address, name, word},
    object::map,
};

/// `struct listening` and `struct listener` of bpf/edge.h.
const LISTENING_BYTES: usize = 24;
const LISTENER_BYTES: usize = 32;

/// So many ports are remembered that listen no more; then it begins anew.
const GONE_MAX: usize = 4096;

/// Who listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    pub name: Name,
    pub pid: u32,
}

/// Where somebody listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Listening {
    pub netns: u32,
    pub port: u16,
    pub address: IpAddr,
}

/// All that listen.
#[derive(Debug)]
pub struct Listeners {
    batches: Batches,
    all: HashMap<Listening, Listener>,
    /// Who listened before: connections outlive listeners, and end with them where a process does.
    gone: HashMap<Listening, Listener>,
}

impl Listeners {
    pub fn new() -> Self {
        let batches = Batches::new(LISTENING_BYTES, LISTENER_BYTES);
        Self { batches, all: HashMap::new(), gone: HashMap::new() }
    }

    /// Reads them again.
    pub fn read(&mut self, object: &Object) -> Result<(), Error> {
        let Self { batches, all, gone } = self;
        if gone.len() > GONE_MAX {
            gone.clear();
        }
        gone.extend(all.drain());
        let read = batches.read(map(object, "listeners").as_fd(), &mut |key, value| {
            let at = Listening {
                netns: word(key, 16),
                port: u16::from_ne_bytes([key[20], key[21]]),
                address: address(key, 0),
            };
            all.insert(at, Listener { name: name(value, 8, 0), pid: word(value, 24) });
        });
        read.map_err(Error::system("read the listening ports", "listeners"))
    }

    /// All, with their transport, in no order.
    pub fn each(&self) -> impl Iterator<Item = (Transport, Listening, Listener)> {
        self.all.iter().map(|(&at, &listener)| (Transport::Tcp, at, listener))
    }

    /// Whether somebody listens of whom nothing is known.
    pub fn has_nameless(&self) -> bool {
        self.all.values().any(|listener| listener.name.is_empty())
    }

    /// Who accepts what comes to an address and a port: whoever listens there, else at all
    /// addresses, else whoever did.
    pub fn accepting(&self, netns: u32, address: IpAddr, port: u16) -> Option<&Listener> {
        let any = match address {
            IpAddr::V4(_) => [IpAddr::from([0; 4]), IpAddr::from([0; 16])],
            IpAddr::V6(_) => [IpAddr::from([0; 16]); 2],
        };
        let places = [address].into_iter().chain(any);
        let places = places.map(|address| Listening { netns, port, address });
        let mut all = [&self.all, &self.gone].into_iter();
        all.find_map(|known| places.clone().find_map(|at| known.get(&at)))
    }
}

#[cfg(test)]
mod tests;
