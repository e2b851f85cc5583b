//! Wire formats of the internet protocols.
//!
//! The crate's one idea: every protocol has two types of the same names: `Packet`, a view that
//! reads fields where they lie in bytes from outside, and `Repr`, a checked value that can be
//! written. Nothing here decides what to send.
//!
//! A `Packet` is checked once, by `Packet::parse`; after that its accessors cannot fail. Numbers
//! are in the host's byte order on this side of the API, whatever they are on the wire.
//!
//! Read in this order: `malformed.rs`, `checksum.rs`, `seq.rs`, `vlan.rs`, `ethernet.rs`, `arp.rs`,
//! `protocol.rs`, `padding.rs`, `ipv4.rs`, `ipv4/options.rs`, `ipv6.rs`, `ipv6/extension.rs`,
//! `ipv6/extension/options.rs`, `icmpv4.rs`, `icmpv6.rs`, `ndp.rs`, `ndp/options.rs`, `mld.rs`,
//! `udp.rs`, `tcp.rs`, `tcp/options.rs`.

#![forbid(unsafe_code)]
#![no_std]

#[cfg(test)]
extern crate std;

pub mod arp;
pub mod checksum;
pub mod ethernet;
#[cfg(test)]
mod generators;
pub mod icmpv4;
pub mod icmpv6;
pub mod ipv4;
pub mod ipv6;
mod malformed;
pub mod mld;
pub mod ndp;
mod padding;
pub mod protocol;
pub mod seq;
pub mod tcp;
pub mod udp;
pub mod vlan;

pub use checksum::Check;
pub use malformed::{Malformed, NoRoom};
pub use seq::Seq;
