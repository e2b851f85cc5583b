//! A connection of a script.

use portolan_wire::Seq;

use crate::{frame::Frame, host::Handle, script::segment::Firsts};

/// A connection as the peer knows it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer_port: u16,
    pub(super) stack_port: u16,
    pub(super) firsts: Firsts,
    pub(super) handle: Option<Handle>,
    pub(super) written: u64,
    pub(super) read: u64,
    /// What the stack sent last.
    pub(super) last: Option<Frame>,
}

impl Connection {
    pub(super) const fn new(peer_port: u16, stack_port: u16, isn: Option<Seq>) -> Self {
        Self {
            peer_port,
            stack_port,
            firsts: Firsts { stack: None, peer: isn, clock: None },
            handle: None,
            written: 0,
            read: 0,
            last: None,
        }
    }
}
