//! Listeners, and segments for no connection: RFC 9293, sections 3.10.7.1 and 3.10.7.2.

use alloc::collections::{BTreeMap, VecDeque};
use core::{net::IpAddr, time::Duration};

use portolan_wire::tcp::Flags;

use super::{
    Error, Flow, Tcp,
    connection::Connection,
    event::{ConnectionId, ListenerId},
    handshake::Beginning,
    isn::{isn, timestamp_offset},
    replies::Reply,
    segment::{Arrived, Segment},
    store::Store,
};
use crate::Instant;

mod cookies;

/// Who waits for connections, by port.
pub(super) struct Listeners {
    store: Store<Listener>,
    ports: BTreeMap<(u16, Option<IpAddr>), u32>,
}

pub(super) struct Listener {
    /// At one address, or at any.
    address: Option<IpAddr>,
    port: u16,
    /// How many connections may be half-open, and how many may wait to be accepted.
    backlog: usize,
    pub half_open: usize,
    pub waiting: VecDeque<ConnectionId>,
    /// When the backlog was full last: only for a while after that are cookies looked at.
    pub overflowed_at: Option<Instant>,
}

impl Listeners {
    pub fn new() -> Self {
        Self { store: Store::new(), ports: BTreeMap::new() }
    }

    /// Opens a listener. Those for one address go before those for any.
    pub fn open(
        &mut self,
        address: Option<IpAddr>,
        port: u16,
        backlog: usize,
    ) -> Result<ListenerId, Error> {
        if port == 0 {
            return Err(Error::NoPort);
        }
        if self.ports.contains_key(&(port, address)) {
            return Err(Error::PortInUse(port));
        }
        let (index, generation) = self.store.insert(Listener {
            address,
            port,
            backlog: backlog.max(1),
            half_open: 0,
            waiting: VecDeque::new(),
            overflowed_at: None,
        });
        self.ports.insert((port, address), index);
        Ok(ListenerId { index, generation })
    }

    pub fn close(&mut self, id: ListenerId) -> Result<Listener, Error> {
        self.get_mut(id)?;
        let listener = self.store.remove(id.index).ok_or(Error::NoSuchHandle)?;
        self.ports.remove(&(listener.port, listener.address));
        Ok(listener)
    }

    pub fn get_mut(&mut self, id: ListenerId) -> Result<&mut Listener, Error> {
        if self.store.generation(id.index) != Some(id.generation) {
            return Err(Error::NoSuchHandle);
        }
        self.store.get_mut(id.index).ok_or(Error::NoSuchHandle)
    }

    fn find(&self, flow: &Flow) -> Option<ListenerId> {
        let at = |address| self.ports.get(&(flow.local_port, address)).copied();
        let index = at(Some(flow.local)).or_else(|| at(None))?;
        Some(ListenerId { index, generation: self.store.generation(index)? })
    }

    /// Whether somebody listens at a port.
    pub fn has_port(&self, port: u16, address: IpAddr) -> bool {
        [Some(address), None].iter().any(|address| self.ports.contains_key(&(port, *address)))
    }
}

impl Listener {
    fn has_room(&self) -> bool {
        self.half_open < self.backlog
    }

    /// Whether one more can wait to be accepted.
    pub fn can_accept(&self) -> bool {
        self.waiting.len() < self.backlog
    }

    fn looks_at_cookies(&self, now: Instant) -> bool {
        self.overflowed_at.is_some_and(|at| now.since(at) < COOKIES_AFTER_OVERFLOW)
    }
}

impl Tcp {
    /// A segment that belongs to no connection.
    pub(super) fn handle_unknown(
        &mut self,
        flow: Flow,
        segment: &Segment<'_>,
        arrived: &Arrived<'_>,
        now: Instant,
    ) -> Option<u32> {
        let listener = self.listeners.find(&flow);
        if segment.has(Flags::RST) {
            return None;
        }
        if let Some(listener) = listener {
            if segment.has(Flags::ACK) {
                return self.handle_cookie(flow, listener, segment, arrived, now);
            }
            if segment.has(Flags::SYN) {
                self.handle_syn(flow, listener, segment, arrived, now);
            }
            // Section 3.10.7.2, fourth: anything else is dropped.
            return None;
        }
        self.reply(Reply::reset_for(flow, segment));
        None
    }

    /// A first SYN: half of a connection, or a cookie if there are too many.
    fn handle_syn(
        &mut self,
        flow: Flow,
        id: ListenerId,
        segment: &Segment<'_>,
        arrived: &Arrived<'_>,
        now: Instant,
    ) {
        // Nobody opens and closes with one segment; Linux drops it as well.
        if segment.has(Flags::FIN) {
            return;
        }
        let is_full = self.connections.len() >= self.config.connections_max;
        let uses_cookies = self.config.syn_cookies;
        let Ok(listener) = self.listeners.get_mut(id) else { return };
        if is_full || !listener.has_room() {
            if uses_cookies {
                listener.overflowed_at = Some(now);
                self.send_cookie(flow, segment, arrived, now);
            } else if is_full {
                self.counters.connections_full += 1;
            } else {
                self.counters.backlog_full += 1;
            }
            return;
        }
        listener.half_open += 1;
        let beginning = self.beginning(flow, (arrived.path_mtu)(flow.remote), now);
        let connection = Connection::passive(&beginning, id, segment, &self.config, now);
        let index = self.insert(connection).index;
        // The SYN is taken in: looked at once more, it would be one out of the window.
        self.settle(index, now);
    }

    /// The numbers with which a connection of this flow begins.
    pub(super) fn beginning(&mut self, flow: Flow, mtu: u16, now: Instant) -> Beginning {
        let iss = isn(&self.keys.isn, &flow, now);
        // RFC 6191: beyond all numbers of a connection that was reopened.
        let iss = match self.reopened.take() {
            Some((before, least)) if before == flow && !iss.after(least) => least + 1,
            _ => iss,
        };
        let timestamp_offset = timestamp_offset(&self.keys.timestamp, &flow);
        Beginning { flow, iss, timestamp_offset, mtu }
    }
}

/// A cookie is good for up to two minutes.
const COOKIES_AFTER_OVERFLOW: Duration = Duration::from_secs(120);
