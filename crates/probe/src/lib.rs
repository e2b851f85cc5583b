//! Is a TCP port open?
//!
//! The crate's one idea: a check is a plan (when to ask, when to ask again, when to give up) and a
//! verdict, both without I/O; how to ask is a method. Every method gives the same verdicts.
//!
//! [`Probe`] is for one check at a time, [`Session`] for thousands at once in the caller's loop,
//! [`Batch`] for callers that bring time and sockets themselves. `targets`, `ports` and `space`
//! make the checks of a sweep out of what people write.
//!
//! Read in this order: `verdict.rs`, `method.rs`, `plan.rs`, `pacer.rs`, `counts.rs`, `batch.rs`,
//! `session.rs`, `check.rs`; the kernel's way, `connecting.rs` (`connecting/outcome.rs`,
//! `connecting/under_way.rs`) with `icmp.rs`; our own, `syn.rs` (`syn/ports.rs`, `syn/reserve.rs`,
//! `syn/flights.rs`, `syn/segment.rs`, `syn/hear.rs`, `syn/filter.rs`, `syn/outgoing.rs`,
//! `syn/raw.rs`, `syn/ring.rs`, `syn/routes.rs`, `syn/routes/netlink.rs`); what to ask, `ports.rs`,
//! `targets.rs`, `space.rs` (`space/permutation.rs`, `space/shard.rs`).

#![forbid(unsafe_code)]

mod batch;
mod check;
mod connecting;
mod counts;
mod icmp;
mod method;
mod pacer;
mod plan;
pub mod ports;
mod session;
pub mod space;
mod syn;
pub mod targets;
mod verdict;

pub use batch::{Batch, Concluded, Transmit};
pub use check::{Probe, check, open};
pub use connecting::Connecting;
pub use counts::Counts;
pub use method::{Answer, Asked, Id, Method, Noise};
pub use pacer::{Pace, Pacer};
pub use plan::{ATTEMPTS_MAX, Plan};
pub use session::Session;
#[cfg(fuzzing)]
pub use syn::fuzzing;
pub use syn::{Syn, SynSettings};
pub use verdict::{Evidence, Finding, MethodName, Reason, Verdict};
