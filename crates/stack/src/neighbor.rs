//! Neighbours: which hardware address an address has, by ARP and by neighbour discovery.

pub(crate) mod arp;
pub(crate) mod cache;
pub(crate) mod ndp;
pub(crate) mod waiting;
