//! Is a TCP port open?
//!
//! The crate's one idea: a check is a plan (when to ask, when to ask again, when to give up) and a
//! verdict, both without I/O; how to ask is a method. Every method gives the same verdicts.

#![forbid(unsafe_code)]

mod method;
mod verdict;

pub use method::{Answer, Asked, Id, Method};
pub use verdict::{Evidence, Finding, MethodName, Reason, Verdict};
