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
}

impl Listeners {
    pub fn new() -> Self {
        Self { batches: Batches::new(LISTENING_BYTES, LISTENER_BYTES), all: HashMap::new() }
    }

    /// Reads them again.
    pub fn read(&mut self, object: &Object) -> Result<(), Error> {
        let Self { batches, all } = self;
        all.clear();
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
    /// addresses.
    pub fn accepting(&self, netns: u32, address: IpAddr, port: u16) -> Option<&Listener> {
        let any = match address {
            IpAddr::V4(_) => [IpAddr::from([0; 4]), IpAddr::from([0; 16])],
            IpAddr::V6(_) => [IpAddr::from([0; 16]); 2],
        };
        let at = |address| self.all.get(&Listening { netns, port, address });
        at(address).or_else(|| any.into_iter().find_map(at))
    }
}

#[cfg(test)]
mod tests;
