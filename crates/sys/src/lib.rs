//! The only general system calls.
//!
//! The crate's one idea: what needs a file descriptor, a privilege or `unsafe` for reasons that
//! have nothing to do with one particular job stands here once, small and typed; every other crate
//! stays safe. Nothing here decides anything.
//!
//! Read in this order: `netlink.rs`, `netns.rs`, `capabilities.rs`, `limits.rs`, `kernel.rs`,
//! `usage.rs`, `user.rs`, `process.rs`, `signals.rs`, `terminal.rs`, `clock.rs`, `bpf.rs`,
//! `interface.rs` (`interface/features.rs`); then what sends and receives: `option.rs`,
//! `source_port.rs`, `address.rs`, `filter.rs`, `error_queue.rs`, `datagrams.rs`, `raw.rs`,
//! `frames.rs`, `packet.rs` (`packet/ring.rs`, `packet/link.rs`), `tap.rs`.

pub mod address;
pub mod bpf;
pub mod capabilities;
pub mod clock;
pub mod datagrams;
pub mod error_queue;
pub mod filter;
pub mod frames;
pub mod interface;
pub mod kernel;
pub mod limits;
pub mod netlink;
pub mod netns;
mod option;
pub mod packet;
pub mod process;
pub mod raw;
pub mod signals;
pub mod source_port;
pub mod tap;
pub mod terminal;
pub mod usage;
pub mod user;
