//! A seeded network of stacks with a clock of its own.
//!
//! The crate's one idea: a run is a function of data. A [`scenario`] holds all that decides it, a
//! seed among that; the same scenario gives the same frames at the same moments, so that what was
//! found once is found again, can be made smaller, and opened in Wireshark.
//!
//! Read in this order: `random.rs`, `queue.rs`, `frame.rs`, `link.rs`, `link/damage.rs`,
//! `link/too_big.rs`, `neighbor.rs`, `host.rs`, `host/portolan.rs`, `host/device.rs`,
//! `host/peer.rs`, `coverage.rs`, `pattern.rs`, `scenario.rs`, `scenario/generate.rs`,
//! `violation.rs`, `application.rs`, `observer.rs`, `observer/end.rs`, `observer/arrivals.rs`,
//! `observer/ranges.rs`, `observer/lifecycle.rs`, `pcap.rs`, `world.rs`, `world/pairs.rs`,
//! `world/audit.rs`, `runner.rs`, `shrink.rs`, `script.rs`, `script/segment.rs`,
//! `script/options.rs`, `script/parse.rs`, `script/player.rs`, `script/player/connection.rs`,
//! `script/player/icmp.rs`, `table.rs`.

#![forbid(unsafe_code)]

pub mod application;
pub mod coverage;
pub mod frame;
pub mod host;
pub mod link;
mod neighbor;
pub mod observer;
pub mod pattern;
pub mod pcap;
pub mod queue;
pub mod random;
pub mod runner;
pub mod scenario;
pub mod script;
pub mod shrink;
pub mod table;
pub mod violation;
pub mod world;
