//! An internet host in a program, beside the kernel's: it has addresses, answers ping, and serves
//! TCP and UDP, over any device of `portolan_nic`.
//!
//! The crate's one idea: a thread per queue of the device owns that queue, a whole stack, and a
//! program, and shares none of it. Frames are looked at where the device has put them, and written
//! where it wants them.
//!
//! Programs come in two styles. A [`Program`] lives on a queue's thread and has the stack for
//! itself, without locks; [`Host`] runs it. Handles of [`blocking`] are used from other threads,
//! and wait.
//!
//! Read in this order: `clock.rs`, `error.rs`, `program.rs`, `waker.rs`, `steer.rs`, `shared.rs`,
//! `frame.rs`, `wait.rs`, `intake.rs`, `queue.rs`, `host.rs`; the blocking style:
//! `blocking.rs`, `blocking/mailbox.rs`, `blocking/pipe.rs`, `blocking/connection.rs`,
//! `blocking/listener.rs`, `blocking/datagrams.rs`, `blocking/bridge.rs`.

#![forbid(unsafe_code)]

pub mod blocking;
mod clock;
mod error;
mod frame;
mod host;
mod intake;
mod program;
mod queue;
mod shared;
mod steer;
mod wait;
mod waker;

pub use clock::now;
pub use error::Error;
pub use host::{Config, Host, Remote};
pub use program::{Context, Ending, Next, Program};
pub use shared::Readings;

pub use portolan_nic as nic;
pub use portolan_stack as stack;
