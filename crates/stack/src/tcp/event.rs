//! Handles, and what the program is told about them.

use core::ops::{BitOr, BitOrAssign};

/// A connection. The number is not used again for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId {
    pub(super) index: u32,
    pub(super) generation: u32,
}

impl ConnectionId {
    /// A small number that no other open connection of this stack has at the same time, for tables
    /// beside it.
    #[must_use]
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// A listener. The number is not used again for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerId {
    pub(super) index: u32,
    pub(super) generation: u32,
}

/// What the program should look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// There is a connection to accept. It comes again with each one.
    Acceptable(ListenerId),
    /// Something has become possible on a connection that was accepted or opened by the program.
    Connection {
        /// Which one.
        id: ConnectionId,
        /// What, since the last event.
        ready: Ready,
    },
}

/// What has become possible on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ready(u8);

impl Ready {
    /// It is established.
    pub const CONNECTED: Self = Self(0x01);
    /// There is data to read.
    pub const READABLE: Self = Self(0x02);
    /// There is room for data to send, after there was none.
    pub const WRITABLE: Self = Self(0x04);
    /// The peer has sent all that it will send.
    pub const FINISHED: Self = Self(0x08);
    /// The connection is over: `reason` says why, where that was before its time.
    pub const CLOSED: Self = Self(0x10);
    /// The peer has marked data as urgent (RFC 9293, MUST-32).
    pub const URGENT: Self = Self(0x20);
    /// Something is wrong that may pass: `trouble` says what (RFC 9293, MUST-47). A program that
    /// does not want to know ignores it.
    pub const TROUBLED: Self = Self(0x40);

    /// Whether all of these are set here.
    #[must_use]
    pub const fn contains(self, ready: Self) -> bool {
        self.0 & ready.0 == ready.0
    }

    /// Whether nothing is set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Ready {
    type Output = Self;

    fn bitor(self, ready: Self) -> Self {
        Self(self.0 | ready.0)
    }
}

impl BitOrAssign for Ready {
    fn bitor_assign(&mut self, ready: Self) {
        self.0 |= ready.0;
    }
}
