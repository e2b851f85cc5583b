//! What the program wants: the user's calls of RFC 9293, section 3.9.1.

use core::net::{IpAddr, SocketAddr};

use super::{
    ConnectionId, Context, Error, Flow, ListenerId, Ready, State, Tcp, connection::Connection,
    settle::Numbered,
};
use crate::{Instant, buffer::BLOCK_BYTES};

mod info;
mod settings;

pub use info::Info;

impl Tcp {
    /// Takes connections to a port, at one address of this host or at all. `backlog` bounds the
    /// connections that are half-open, and those that wait to be accepted.
    ///
    /// # Errors
    ///
    /// [`Error::PortInUse`], [`Error::NoPort`].
    pub fn listen(
        &mut self,
        address: Option<IpAddr>,
        port: u16,
        backlog: usize,
    ) -> Result<ListenerId, Error> {
        self.listeners.open(address, port, backlog)
    }

    /// Takes no more connections. Those that were not accepted are reset.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchHandle`].
    pub fn close_listener(&mut self, id: ListenerId, now: Instant) -> Result<(), Error> {
        let listener = self.listeners.close(id)?;
        for waiting in listener.waiting {
            if self.is_current(waiting) {
                self.abort_unaccepted(waiting.index, now);
                if let Some(connection) = self.connections.get_mut(waiting.index) {
                    connection.owner.is_orphan = true;
                }
                self.settle(waiting.index, now);
            }
        }
        Ok(())
    }

    /// The connection that waits longest; none if none waits.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchHandle`].
    pub fn accept(&mut self, id: ListenerId, now: Instant) -> Result<Option<ConnectionId>, Error> {
        let listener = self.listeners.get_mut(id)?;
        let Some(accepted) = listener.waiting.pop_front() else { return Ok(None) };
        if let Some(connection) = self.connections.get_mut(accepted.index) {
            connection.owner.has_it = true;
            connection.owner.ready |= Ready::CONNECTED | Ready::WRITABLE;
        }
        self.settle(accepted.index, now);
        Ok(Some(accepted))
    }

    /// Opens a connection to `remote` from this address, over a way that takes packets of `mtu`
    /// bytes. It can be written to at once; what is written leaves when it is established.
    ///
    /// # Errors
    ///
    /// [`Error::NotADestination`], [`Error::TooManyConnections`], [`Error::NoFreePort`].
    pub fn connect(
        &mut self,
        local: IpAddr,
        remote: SocketAddr,
        mtu: u16,
        now: Instant,
    ) -> Result<ConnectionId, Error> {
        self.check_destination(local, remote)?;
        let Self { ports, table, connections, time_waits, .. } = self;
        let flow_from = |port| Flow {
            local,
            remote: remote.ip(),
            local_port: port,
            remote_port: remote.port(),
        };
        let entries = Numbered { connections, time_waits };
        let is_free = |port| table.find(&flow_from(port), &entries).is_none();
        let port = ports.pick(local, remote.ip(), remote.port(), is_free);
        let port = port.ok_or(Error::NoFreePort(remote))?;
        Ok(self.open(flow_from(port), mtu, now))
    }

    /// As [`connect`](Self::connect), from a port of one's own choice.
    ///
    /// # Errors
    ///
    /// [`Error::ConnectionInUse`], and as for [`connect`](Self::connect).
    pub fn connect_from(
        &mut self,
        local: SocketAddr,
        remote: SocketAddr,
        mtu: u16,
        now: Instant,
    ) -> Result<ConnectionId, Error> {
        self.check_destination(local.ip(), remote)?;
        let flow = Flow {
            local: local.ip(),
            remote: remote.ip(),
            local_port: local.port(),
            remote_port: remote.port(),
        };
        if self.find(&flow).is_some() {
            return Err(Error::ConnectionInUse(remote));
        }
        Ok(self.open(flow, mtu, now))
    }

    fn check_destination(&self, local: IpAddr, remote: SocketAddr) -> Result<(), Error> {
        let is_broadcast = matches!(remote.ip(), IpAddr::V4(address) if address.is_broadcast());
        let is_group = remote.ip().is_multicast() || is_broadcast;
        let is_other_family = local.is_ipv4() != remote.is_ipv4();
        // MUST-57 and MUST-46: one host.
        if is_group || is_other_family || remote.ip().is_unspecified() || remote.port() == 0 {
            return Err(Error::NotADestination(remote));
        }
        let most = self.config.connections_max;
        if self.connections.len() >= most { Err(Error::TooManyConnections(most)) } else { Ok(()) }
    }

    fn open(&mut self, flow: Flow, mtu: u16, now: Instant) -> ConnectionId {
        let beginning = self.beginning(flow, mtu, now);
        let connection = Connection::active(&beginning, &self.config, now);
        let id = self.insert(connection);
        self.settle(id.index, now);
        id
    }

    /// Writes bytes to be sent; says how many of them found room. After fewer than all, an event
    /// tells when there is room again ([`Ready::WRITABLE`]).
    ///
    /// # Errors
    ///
    /// [`Error::Finished`], [`Error::Ended`], [`Error::NoSuchHandle`].
    pub fn write(&mut self, id: ConnectionId, bytes: &[u8], now: Instant) -> Result<usize, Error> {
        self.check_ended(id)?;
        let (written, is_starved) = self.with(id, now, |connection, context| {
            let room = context.send_limit();
            let sender = &mut connection.sender;
            if sender.finished {
                return Err(Error::Finished);
            }
            let room = room.saturating_sub(sender.stream.len()) as usize;
            let wanted = room.min(bytes.len());
            let fits = wanted.min(context.pool.left_for_writers() * BLOCK_BYTES);
            let fits = bytes.get(..fits).unwrap_or_default();
            let written = sender.stream.push(context.pool, context.spare, fits);
            sender.is_waited_for = written < bytes.len();
            let is_starved = written < wanted && sender.stream.is_empty();
            connection.arm_if_waiting(context);
            Ok((written, is_starved))
        })??;
        if is_starved {
            self.wait_for_blocks(id.index);
        }
        Ok(written)
    }

    /// As [`write`](Self::write), and tells the peer that what was written up to here is urgent
    /// (RFC 9293, section 3.8.5). New programs should not (SHLD-13).
    ///
    /// # Errors
    ///
    /// As for [`write`](Self::write).
    pub fn write_urgent(
        &mut self,
        id: ConnectionId,
        bytes: &[u8],
        now: Instant,
    ) -> Result<usize, Error> {
        let written = self.write(id, bytes, now)?;
        self.with(id, now, |connection, _| {
            let (_, end) = connection.sender.data(connection.state);
            connection.sender.urgent = Some(end);
        })?;
        Ok(written)
    }

    /// Copies received bytes, at most as many as `buffer` holds, and says how many. 0: none are
    /// there at present; or, after [`Ready::FINISHED`], none will come.
    ///
    /// # Errors
    ///
    /// [`Error::Ended`] once all received bytes are read, [`Error::NoSuchHandle`].
    pub fn read(
        &mut self,
        id: ConnectionId,
        buffer: &mut [u8],
        now: Instant,
    ) -> Result<usize, Error> {
        let len = {
            let stream = &self.connection(id)?.receiver.stream;
            let len = buffer.len().min(stream.len() as usize);
            stream.copy_out(0, buffer.get_mut(..len).unwrap_or_default());
            len
        };
        if len == 0 && !buffer.is_empty() {
            self.check_ended(id)?;
            return Ok(0);
        }
        self.consume(id, len, now)?;
        Ok(len)
    }

    /// Received bytes where they lie, from the first one on; not necessarily all.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchHandle`].
    pub fn front(&self, id: ConnectionId) -> Result<&[u8], Error> {
        Ok(self.connection(id)?.receiver.stream.front())
    }

    /// Gives back so many received bytes, the first ones.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchHandle`].
    pub fn consume(&mut self, id: ConnectionId, count: usize, now: Instant) -> Result<(), Error> {
        self.with(id, now, |connection, context| {
            let stream = &mut connection.receiver.stream;
            let count = u32::try_from(count).unwrap_or(u32::MAX).min(stream.len());
            stream.consume(context.pool, context.spare, count);
            connection.receiver.forget_urgent();
            if connection.state.receives() && connection.receiver.has_much_more(context) {
                connection.due.ack = true;
            }
        })
    }

    /// Says that nothing more will be written: FIN follows what was written. The other direction
    /// stays open.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchHandle`].
    pub fn finish(&mut self, id: ConnectionId, now: Instant) -> Result<(), Error> {
        self.with(id, now, |connection, context| connection.finish(context))
    }

    /// Gives the connection back. What was written is still sent, and its end; if something was not
    /// read, the peer is told by RST (RFC 9293, section 3.6.1, SHLD-3).
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchHandle`].
    pub fn close(&mut self, id: ConnectionId, now: Instant) -> Result<(), Error> {
        self.with(id, now, |connection, context| {
            connection.owner.is_orphan = true;
            let is_unread = !connection.receiver.stream.is_empty();
            match connection.state {
                State::Closed => connection.release(context),
                _ if is_unread || connection.state == State::SynSent => connection.abort(context),
                _ => connection.finish(context),
            }
            connection.start_idle_if_open(context);
        })?;
        self.remove_if_unowned(id.index, now);
        Ok(())
    }

    /// Gives the connection back and ends it at once; the peer is told by RST.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchHandle`].
    pub fn abort(&mut self, id: ConnectionId, now: Instant) -> Result<(), Error> {
        self.with(id, now, |connection, context| {
            connection.owner.is_orphan = true;
            connection.abort(context);
            connection.release_unread(context);
        })?;
        self.remove_if_unowned(id.index, now);
        Ok(())
    }

    /// Does something with a connection of the program, and what follows from it.
    fn with<T>(
        &mut self,
        id: ConnectionId,
        now: Instant,
        verb: impl FnOnce(&mut Connection, &mut Context<'_>) -> T,
    ) -> Result<T, Error> {
        self.connection(id)?;
        let (mut context, connections) = self.context(now);
        let connection = connections.get_mut(id.index).ok_or(Error::NoSuchHandle)?;
        let answer = verb(connection, &mut context);
        self.settle(id.index, now);
        Ok(answer)
    }

    fn connection(&self, id: ConnectionId) -> Result<&Connection, Error> {
        let connection = self.connections.get(id.index).filter(|_| self.is_current(id));
        connection.filter(|one| one.owner.has_it && !one.owner.is_orphan).ok_or(Error::NoSuchHandle)
    }

    fn is_current(&self, id: ConnectionId) -> bool {
        self.connections.generation(id.index) == Some(id.generation)
    }

    /// The reason, if the connection is over before its time.
    fn check_ended(&self, id: ConnectionId) -> Result<(), Error> {
        let connection = self.connection(id)?;
        match connection.owner.reason {
            Some(reason) => Err(Error::Ended(reason)),
            None => Ok(()),
        }
    }
}
