//! The names of network interfaces.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use portolan_flow::NetnsId;
use portolan_hub::printable;
use portolan_sockets::Place;

use super::digits;

/// An interface: its network namespace, and its index there.
type Interface = (NetnsId, u32);

/// The names of interfaces; each is asked for once.
#[derive(Debug, Default)]
pub struct Interfaces {
    names: Mutex<HashMap<Interface, Option<Arc<str>>>>,
}

impl Interfaces {
    /// The name of an interface; `None` where it has none any more, where its namespace cannot be
    /// entered, and for index 0, which is none.
    pub fn name(&self, index: u32, place: &Place) -> Option<Arc<str>> {
        if index == 0 {
            return None;
        }
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let name = names.entry((place.netns, index));
        name.or_insert_with(|| place.interface_name(index).map(Arc::from)).clone()
    }

    /// Appends the name of an interface; its index where the name is not known; nothing for index
    /// 0.
    pub fn write(&self, index: u32, place: &Place, out: &mut Vec<u8>) {
        if index == 0 {
            return;
        }
        match self.name(index, place) {
            Some(name) => out.extend_from_slice(printable(&name).as_bytes()),
            None => digits::number(index, out),
        }
    }
}

#[cfg(test)]
mod tests;
