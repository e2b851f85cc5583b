//! The names of network interfaces.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use portolan_flow::Namespace;
use portolan_hub::printable;
use portolan_sockets::Place;
use rustix::net::{AddressFamily, SocketType, netdevice};

use super::digits;

/// The names of the interfaces of the own network namespace; each is asked for once.
#[derive(Debug, Default)]
pub struct Interfaces {
    names: Mutex<HashMap<u32, Option<String>>>,
}

impl Interfaces {
    /// Appends the name of an interface; its index in another namespace, whose names cannot be
    /// asked for from here, or where it has none any more; nothing for index 0, which is none.
    pub fn write(&self, index: u32, place: &Place, out: &mut Vec<u8>) {
        if index == 0 {
            return;
        }
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let name = match place.namespace.name() == Namespace::HOST {
            true => names.entry(index).or_insert_with(|| name(index)).as_deref(),
            false => None,
        };
        match name {
            Some(name) => out.extend_from_slice(printable(name).as_bytes()),
            None => digits::number(index, out),
        }
    }
}

fn name(index: u32) -> Option<String> {
    // Any socket will do to ask with.
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).ok()?;
    netdevice::index_to_name(socket, index).ok()
}
