//! Who talks to whom.
//!
//! The crate's one idea: a dependency between services has no ephemeral port. Every method that
//! watches TCP or UDP (a socket listing today, kernel tracing later) hands over what it saw;
//! [`Bundler`] finds the listening port of each connection, drops the other one, and adds up; and
//! [`fold`] joins the two halves that the two ends of one edge see. What comes out is a [`Flow`]:
//! client, server, listening port, transport, counters.
//!
//! Pure: no clock, no file, no system call.
//!
//! Read in this order: `record.rs`, `traffic.rs`, `end.rs`, `process.rs`, `cgroup.rs`,
//! `listeners.rs`, `bundle.rs` (`bundle/pairs.rs`, `bundle/fan.rs`), `fold.rs`
//! (`fold/shares.rs`), `service.rs`, `encode.rs`.

#![forbid(unsafe_code)]

mod bundle;
pub mod cgroup;
mod encode;
mod end;
mod fold;
#[cfg(test)]
mod generators;
mod listeners;
mod process;
mod record;
mod service;
mod traffic;

pub use bundle::{Bundle, Bundler, Observation, Phase};
pub use encode::{RECORD_VERSION, Record, TrafficRecord};
pub use end::{End, Namespace, Owner, PIDS_MAX, Pids, Process};
pub use fold::fold;
pub use listeners::{Listener, NetnsId, PortRange};
pub use record::{Counters, Flow, Transport};
pub use service::{service_name, service_port};
pub use traffic::{Totals, Traffic};
