//! What somebody who means ill can do to the stack, and what it costs him and us. Read first
//! `host.rs`; then one file per kind of attack.

mod blind;
mod flood;
mod host;
mod idle;
mod listen;
mod memory;
mod regressions;
mod storm;
mod window;
