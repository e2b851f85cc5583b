//! Is a TCP port open?
//!
//! The crate's one idea: a check is a plan (when to ask, when to ask again, when to give up) and a
//! verdict, both without I/O; how to ask is a method. Every method gives the same verdicts.

#![forbid(unsafe_code)]

mod batch;
mod check;
mod connecting;
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

pub use batch::{Batch, Concluded, Counts, Transmit};
pub use check::{Probe, open};
pub use connecting::Connecting;
pub use method::{Answer, Asked, Id, Method, Noise};
pub use pacer::{Pace, Pacer};
pub use plan::{ATTEMPTS_MAX, Plan};
pub use session::Session;
#[cfg(fuzzing)]
pub use syn::fuzzing;
pub use syn::{Syn, SynSettings};
pub use verdict::{Evidence, Finding, MethodName, Reason, Verdict};
