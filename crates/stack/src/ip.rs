//! IPv4 and IPv6: which addresses are ours, where packets go, what arrives whole.

pub(crate) mod address;
pub(crate) mod carrier;
pub(crate) mod fragment;
pub(crate) mod ipv4;
pub(crate) mod ipv6;
pub(crate) mod joined;
pub(crate) mod output;
pub(crate) mod path_mtu;
pub(crate) mod reassembly;
pub(crate) mod route;
