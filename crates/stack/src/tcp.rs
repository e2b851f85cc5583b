//! TCP: RFC 9293 and what belongs to it.
//!
//! [`Tcp`] knows connections and listeners. A segment finds its connection by one keyed hash; the
//! connection moves on by its own methods, which leave behind what is due; [`Tcp`] then sets the
//! timer, the events and the place in the queue of those that have something to send.

use alloc::collections::VecDeque;
use core::fmt;

use portolan_wire::{Check, tcp::Packet};

pub mod congestion;
pub mod cookie;
pub mod isn;
pub mod ports;
pub mod reassembly;
pub mod retransmit;
pub mod rtt;
pub mod table;

mod challenge;
mod close;
mod config;
mod connection;
mod counters;
mod error;
mod event;
mod flow;
mod handshake;
mod icmp;
mod input;
mod lent;
mod listen;
mod numbers;
mod output;
mod pressure;
mod replies;
mod segment;
mod settle;
mod store;
mod time_wait;
mod timers;
mod verbs;
mod window;

pub use config::{Config, Ecn as EcnUse, Keepalive};
pub use connection::State;
pub use counters::Counters;
pub use error::{Error, Reason, Trouble};
pub use event::{ConnectionId, Event, ListenerId, Ready};
pub use flow::Flow;
pub use icmp::{ErrorKind, IcmpError};
pub use numbers::Numbers;
pub(crate) use segment::Room;
pub use segment::{Arrived, Checksum, Ecn, Outgoing};
pub use verbs::Info;

use connection::{Connection, Context, Spare};
use listen::Listeners;
use ports::Ports;
use pressure::{Holders, Starved};
use replies::{Replies, Reply};
use segment::{Segment, flow_of};
use store::Store;
use table::Table;
use time_wait::{Late, TimeWaits};

use crate::{Instant, buffer::Pool, random::Keys, timer::Wheel};

/// All connections of one stack.
pub struct Tcp {
    config: Config,
    keys: Keys,
    counters: Counters,
    connections: Store<Connection>,
    time_waits: TimeWaits,
    listeners: Listeners,
    /// By flow the number of a connection, or with [`TIME_WAIT`] that of what is left of one.
    table: Table,
    ports: Ports,
    wheel: Wheel,
    pool: Pool,
    spare: Spare,
    replies: Replies,
    /// ACKs of connections that later segments of theirs have not changed.
    owed: Replies,
    /// Who has something to send.
    senders: VecDeque<u32>,
    /// Who has something to tell.
    tellers: VecDeque<Teller>,
    /// Who has something to write, and waits for memory.
    starved: Starved,
    /// Who holds early data.
    holders: Holders,
    /// A flow that begins again, and the last number of the connection before (RFC 6191).
    reopened: Option<(Flow, portolan_wire::Seq)>,
}

/// Whom the next event is about.
#[derive(Clone, Copy)]
enum Teller {
    Listener(ListenerId),
    Connection(u32),
}

impl Tcp {
    /// No connections. All that is random comes from `keys`.
    #[must_use]
    pub fn new(config: Config, keys: &Keys, now: Instant) -> Self {
        Self {
            counters: Counters::default(),
            connections: Store::new(),
            time_waits: TimeWaits::new(config.time_wait),
            listeners: Listeners::new(),
            table: Table::new(keys.table),
            ports: Ports::new(config.ports.clone(), keys.ports),
            wheel: Wheel::new(now),
            pool: Pool::new(config.blocks_max),
            spare: Spare::default(),
            replies: Replies::new(keys),
            owed: Replies::new(keys),
            senders: VecDeque::new(),
            tellers: VecDeque::new(),
            starved: Starved::new(),
            holders: Holders::new(),
            reopened: None,
            keys: *keys,
            config,
        }
    }

    /// Takes a segment for this host. Data in order is offered to `deliver` where it lies, if its
    /// program has read all that came before; `deliver` says how many bytes it took, and the rest
    /// is kept to be read.
    pub fn handle_segment(
        &mut self,
        arrived: Arrived<'_>,
        now: Instant,
        deliver: &mut dyn FnMut(ConnectionId, &[u8]) -> usize,
    ) {
        self.counters.segments_received += 1;
        let Ok(packet) = Packet::parse(arrived.segment) else {
            self.counters.malformed += 1;
            return;
        };
        // A partial checksum is the device's to vouch for: it does not show damage.
        let is_right = || packet.check(arrived.source, arrived.destination) == Check::Right;
        if arrived.checksum != Checksum::Verified && !is_right() {
            self.counters.checksum_wrong += 1;
            return;
        }
        let flow = flow_of(&arrived, &packet);
        let segment = Segment::new(&packet, arrived.ecn);
        let found = self.find(&flow);
        let found = match found {
            Some(index) if index & TIME_WAIT != 0 => {
                self.handle_late(flow, index & !TIME_WAIT, &segment, &arrived, now)
            }
            Some(index) => Some(index),
            None => self.handle_unknown(flow, &segment, &arrived, now),
        };
        let Some(index) = found else { return };
        self.handle_known(index, segment, now, deliver);
        self.settle(index, now);
    }

    /// Does what is due by now.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(index) = self.wheel.pop(now) {
            let (mut context, connections) = self.context(now);
            if let Some(connection) = connections.get_mut(index) {
                connection.handle_timeout(&mut context);
                self.settle(index, now);
            }
        }
        while let Some(index) = self.time_waits.pop(now, false) {
            self.forget_time_wait(index);
        }
    }

    /// The first moment at which [`handle_timeout`](Self::handle_timeout) has something to do.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.wheel.next().into_iter().chain(self.time_waits.next()).min()
    }

    /// Writes the next segment at the front of the buffer. None: nothing is due until the next
    /// event, verb or timeout. The buffer takes any segment if it has room for the path's largest
    /// packet, or for as much as the device splits.
    pub fn poll_transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<Outgoing> {
        self.poll_transmit_behind(now, &mut Room { buffer, headers_v4: 0, headers_v6: 0 })
    }

    /// As [`poll_transmit`](Self::poll_transmit), with room before the segment for the headers of
    /// the version of IP that it leaves by.
    pub(crate) fn poll_transmit_behind(
        &mut self,
        now: Instant,
        room: &mut Room<'_>,
    ) -> Option<Outgoing> {
        // Before the ACKs that are newer.
        if let Some(outgoing) = self.owed.poll_transmit(room, &self.config) {
            self.counters.segments_sent += 1;
            return Some(outgoing);
        }
        // By turns, so that a flood of SYNs does not silence connections, nor they the answers.
        if self.replies.has_turn() {
            self.transmit_reply(room).or_else(|| self.transmit_connection(now, room))
        } else {
            self.transmit_connection(now, room).or_else(|| self.transmit_reply(room))
        }
    }

    fn transmit_reply(&mut self, room: &mut Room<'_>) -> Option<Outgoing> {
        let outgoing = self.replies.poll_transmit(room, &self.config)?;
        self.counters.segments_sent += 1;
        Some(outgoing)
    }

    fn transmit_connection(&mut self, now: Instant, room: &mut Room<'_>) -> Option<Outgoing> {
        self.replies.give_turn();
        while let Some(index) = self.senders.pop_front() {
            let (mut context, connections) = self.context(now);
            let Some(connection) = connections.get_mut(index) else { continue };
            let buffer = room.behind_headers(connection.flow.remote);
            let outgoing = connection.poll_transmit(buffer, &mut context);
            // Who had nothing asks again when something has happened.
            connection.due.is_queued = outgoing.is_none();
            self.settle(index, now);
            if outgoing.is_some() {
                return outgoing;
            }
            if let Some(connection) = self.connections.get_mut(index) {
                connection.due.is_queued = false;
            }
        }
        None
    }

    /// What happened since the last call.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.wake_starved();
        loop {
            match self.tellers.pop_front()? {
                Teller::Listener(listener) => return Some(Event::Acceptable(listener)),
                Teller::Connection(index) => {
                    let generation = self.connections.generation(index)?;
                    let Some(connection) = self.connections.get_mut(index) else { continue };
                    connection.owner.is_queued = false;
                    let ready = core::mem::take(&mut connection.owner.ready);
                    let id = ConnectionId { index, generation };
                    let has_owner = connection.owner.has_it && !connection.owner.is_orphan;
                    if has_owner && !ready.is_empty() {
                        return Some(Event::Connection { id, ready });
                    }
                }
            }
        }
    }

    /// What happened so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How many connections there are, without those that wait for late segments.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// How many ended connections wait for late segments.
    #[must_use]
    pub fn time_waits(&self) -> usize {
        self.time_waits.len()
    }

    /// How many blocks of memory the buffers take.
    #[must_use]
    pub fn blocks_in_use(&self) -> usize {
        self.pool.in_use()
    }

    /// How many timers run.
    #[must_use]
    pub fn timers(&self) -> usize {
        self.wheel.len()
    }

    fn handle_known(
        &mut self,
        index: u32,
        segment: Segment<'_>,
        now: Instant,
        deliver: &mut dyn FnMut(ConnectionId, &[u8]) -> usize,
    ) {
        if self.answers_itself(index, &segment, now) {
            return;
        }
        let generation = self.connections.generation(index).unwrap_or_default();
        let id = ConnectionId { index, generation };
        self.acknowledge_apart(index, now);
        if self.pool.is_filling() {
            self.discard_early_data(index, now);
        }
        let (mut context, connections) = self.context(now);
        let Some(connection) = connections.get_mut(index) else { return };
        connection.handle_segment(segment, &mut context, &mut |data| deliver(id, data));
        if connection.receiver.holds_early_data() && !connection.receiver.is_holder {
            self.remember_holder(id);
        }
    }

    /// Queues the ACK that an earlier segment is to have for itself, before the next one changes
    /// what it says.
    fn acknowledge_apart(&mut self, index: u32, now: Instant) {
        let (mut context, connections) = self.context(now);
        let Some(connection) = connections.get_mut(index) else { return };
        let flow = connection.flow;
        if let Some(repr) = connection.owed_acknowledgment(&mut context)
            && !self.owed.push(Reply { flow, repr })
        {
            self.counters.replies_dropped += 1;
        }
    }

    /// A segment for a connection in TIME-WAIT. It may begin a new one.
    fn handle_late(
        &mut self,
        flow: Flow,
        index: u32,
        segment: &Segment<'_>,
        arrived: &Arrived<'_>,
        now: Instant,
    ) -> Option<u32> {
        match self.time_waits.handle_segment(index, segment, now) {
            Late::Dropped => None,
            Late::Answered(reply) => {
                self.reply(reply);
                None
            }
            Late::Reopened => {
                // Only where somebody would take it: else the wait goes on.
                if !self.listeners.has_port(flow.local_port, flow.local) {
                    return None;
                }
                let before = self.forget_time_wait(index)?;
                self.reopened = Some((flow, before.snd_nxt + REOPENED_DISTANCE));
                self.handle_unknown(flow, segment, arrived, now)
            }
        }
    }

    fn context(&mut self, now: Instant) -> (Context<'_>, &mut Store<Connection>) {
        let context = Context {
            now,
            config: &self.config,
            pool: &mut self.pool,
            spare: &mut self.spare,
            counters: &mut self.counters,
        };
        (context, &mut self.connections)
    }
}

impl fmt::Debug for Tcp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tcp")
            .field("connections", &self.connections())
            .field("time_waits", &self.time_waits())
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

/// Marks numbers in the table that are those of [`TimeWaits`].
const TIME_WAIT: u32 = 1 << 31;

/// How far behind the last number a reopened connection begins: more than a window without scale,
/// as Linux (`tcp_timewait_state_process`, net/ipv4/tcp_minisocks.c).
const REOPENED_DISTANCE: u32 = 65_537;

#[cfg(test)]
mod tests;
