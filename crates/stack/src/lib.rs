//! A sans-IO internet host: what arrives, what leaves, and when.
//!
//! The crate's one idea: nothing but bytes, time and randomness comes in, and nothing but bytes,
//! a time and events goes out. Who owns a [`Stack`] calls, in any order,
//!
//! - `handle_frame`, `handle_timeout`: what happened outside,
//! - verbs such as `listen`, `connect`, `write`, `read`, `close`: what the program wants,
//!
//! and after any of them, until each answers none, `poll_event` and `poll_transmit`; then it sleeps
//! until a frame comes or the moment of `poll_timeout`.
//!
//! Every table has a limit and a counted answer when it is full; a lookup is one keyed hash; what
//! waits does so in a timer wheel; nothing goes through all connections.
//!
//! Read in this order: `time.rs`, `random.rs`, `timer.rs`, `keyed.rs`, `frame.rs`, `config.rs`,
//! `counters.rs`, `event.rs`, `ip/address.rs`, `ip/route.rs`, `ip/carrier.rs`, `ip/ipv4.rs`,
//! `ip/ipv6.rs`, `ip/reassembly.rs`, `ip/joined.rs`, `ip/fragment.rs`, `ip/path_mtu.rs`,
//! `ip/output.rs`, `outbox.rs`, `neighbor/cache.rs`, `neighbor/waiting.rs`, `neighbor/arp.rs`,
//! `neighbor/ndp.rs`, `icmp/echo.rs`, `icmp/limit.rs`, `icmp/error.rs`, `icmp/input.rs`,
//! `icmp/mld.rs`, `udp.rs`, `stack.rs`, `stack/link.rs`, `stack/internet.rs`, `stack/errors.rs`,
//! `stack/solicit.rs`, `stack/transmit.rs`, `stack/programs.rs`, `buffer.rs`, `tcp.rs`.

#![forbid(unsafe_code)]
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod buffer;
mod config;
mod counters;
mod event;
mod frame;
mod icmp;
mod ip;
mod keyed;
mod neighbor;
mod outbox;
pub mod random;
mod stack;
pub mod tcp;
mod time;
pub mod timer;
mod udp;

pub use config::{Config, ConfigError, DuplicateDetection, Limits};
pub use counters::{Counters, Delivered, Dropped, Noted, Unsent};
pub use event::{Conflict, Event};
pub use frame::{Departure, Offloads, PartialChecksum, Segmentation};
pub use ip::{
    address::{Cidr, CidrError},
    joined::Joined,
    route::Route,
};
pub use stack::Stack;
pub use tcp::Checksum;
pub use time::Instant;
pub use udp::{Failure, Received, UdpError, UdpId};
