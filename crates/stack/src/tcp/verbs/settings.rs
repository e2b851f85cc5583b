//! What a program can set for one connection.

use core::time::Duration;

use crate::{
    Instant,
    tcp::{ConnectionId, Error, Tcp, config::DIFFSERV_MAX},
};

impl Tcp {
    /// Whether small segments leave at once, although earlier data is not acknowledged.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchHandle`].
    pub fn set_nodelay(&mut self, id: ConnectionId, on: bool, now: Instant) -> Result<(), Error> {
        self.with(id, now, |connection, _| connection.owner.nodelay = on)
    }

    /// Whether the connection is probed while it is idle, as the configuration says how.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchHandle`].
    pub fn set_keepalive(&mut self, id: ConnectionId, on: bool, now: Instant) -> Result<(), Error> {
        self.with(id, now, |connection, context| {
            connection.owner.keepalive = on;
            connection.start_idle_if_open(context);
        })
    }

    /// After how long without an acknowledgment the connection is given up, in whole seconds (R2 of
    /// RFC 9293, section 3.8.3, MUST-21; before it is established as well). None: what the
    /// configuration says.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchHandle`].
    pub fn set_user_timeout(
        &mut self,
        id: ConnectionId,
        timeout: Option<Duration>,
        now: Instant,
    ) -> Result<(), Error> {
        let seconds = timeout.map_or(0, |timeout| timeout.as_secs().max(1));
        let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
        self.with(id, now, |connection, _| connection.owner.user_timeout_s = seconds)
    }

    /// The Differentiated Services codepoint of the segments to come, 0 to 63 (RFC 9293, MUST-48).
    /// Other bits are ignored.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchHandle`].
    pub fn set_diffserv(&mut self, id: ConnectionId, code: u8, now: Instant) -> Result<(), Error> {
        self.with(id, now, |connection, _| connection.owner.diffserv = code & DIFFSERV_MAX)
    }
}
