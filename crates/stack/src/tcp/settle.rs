//! What follows for the tables when a connection has moved on.

use super::{
    ConnectionId, Flow, State, TIME_WAIT, Tcp, Teller,
    connection::Connection,
    replies::Reply,
    segment::Segment,
    store::Store,
    table::{Entries, EntriesMut, Table},
    time_wait::{TimeWait, TimeWaits},
};
use crate::Instant;
use core::time::Duration;

use portolan_wire::tcp::Flags;

impl Tcp {
    /// Sets the timer, the events and the place among the senders by what the connection has left
    /// due, and takes it out of the tables if it is over.
    pub(super) fn settle(&mut self, index: u32, now: Instant) {
        self.settle_handshake(index, now);
        self.settle_end(index, now);
        let Some(connection) = self.connections.get_mut(index) else { return };
        match connection.timers.next() {
            // A timer that is set too early costs one look; to set it anew each time costs more.
            // The wheel rounds up.
            Some(at) if self.wheel.deadline(index).is_none_or(|set| set > at + WHEEL_ROUNDING) => {
                self.wheel.set(index, at);
            }
            _ => {}
        }
        if !connection.due.is_queued && connection.has_output(&self.config) {
            connection.due.is_queued = true;
            self.senders.push_back(index);
        }
        let owner = &mut connection.owner;
        if owner.has_it && !owner.is_queued && !owner.ready.is_empty() {
            owner.is_queued = true;
            self.tellers.push_back(Teller::Connection(index));
        }
    }

    /// A connection that leaves the backlog: to be accepted, or because it failed.
    fn settle_handshake(&mut self, index: u32, now: Instant) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        let Some(id) = connection.owner.listener else { return };
        let is_open = connection.state != State::SynReceived;
        if connection.owner.is_waiting || connection.owner.has_it || !is_open {
            return;
        }
        connection.owner.is_waiting = true;
        let generation = self.connections.generation(index).unwrap_or_default();
        let is_over = self.connections.get(index).is_some_and(|one| one.state == State::Closed);
        let listener = self.listeners.get_mut(id).ok();
        if let Some(listener) = listener {
            listener.half_open = listener.half_open.saturating_sub(1);
            if !is_over {
                self.counters.passive_opened += 1;
                listener.waiting.push_back(ConnectionId { index, generation });
                self.tellers.push_back(Teller::Listener(id));
                return;
            }
        } else if !is_over {
            // Its listener has gone in the meantime.
            self.abort_unaccepted(index, now);
        }
        self.orphan(index);
    }

    /// Ends a connection that nobody will accept.
    pub(super) fn abort_unaccepted(&mut self, index: u32, now: Instant) {
        let (mut context, connections) = self.context(now);
        if let Some(connection) = connections.get_mut(index) {
            connection.abort(&mut context);
        }
    }

    fn orphan(&mut self, index: u32) {
        if let Some(connection) = self.connections.get_mut(index) {
            connection.owner.is_orphan = true;
        }
    }

    /// Takes a connection that is over out of the tables; its number stays while the program has
    /// it.
    fn settle_end(&mut self, index: u32, now: Instant) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        let flow = connection.flow;
        match connection.state {
            State::TimeWait => self.wait_for_late_segments(index, now),
            State::Closed if core::mem::take(&mut connection.due.reset) => {
                let (sender, receiver) = (&connection.sender, &connection.receiver);
                let reset = Reply::reset(flow, sender.nxt, receiver.next);
                self.take_out(&flow, index);
                self.reply(reset);
            }
            State::Closed => self.take_out(&flow, index),
            _ => return,
        }
        self.wheel.cancel(index);
        self.remove_if_unowned(index, now);
    }

    /// Gives the number of a connection back that is over and that nobody has.
    pub(super) fn remove_if_unowned(&mut self, index: u32, now: Instant) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        if !connection.owner.is_orphan || connection.state != State::Closed {
            return;
        }
        if let Some(mut connection) = self.connections.remove(index) {
            let (mut context, _) = self.context(now);
            connection.release(&mut context);
        }
    }

    /// The connection becomes a small entry, which answers late segments.
    fn wait_for_late_segments(&mut self, index: u32, now: Instant) {
        if self.time_waits.len() >= self.config.time_waits_max {
            self.counters.time_waits_full += 1;
            if let Some(oldest) = self.time_waits.pop(now, true) {
                self.forget_time_wait(oldest);
            }
        }
        let Some(connection) = self.connections.get(index) else { return };
        let (flow, owes_ack) = (connection.flow, connection.due.ack);
        let late = self.time_waits.insert(connection, now);
        // The flow stays taken.
        let (table, mut entries) = self.table();
        if table.find(&flow, &entries) == Some(index) {
            table.remove(&flow, &mut entries);
        }
        table.insert(&flow, late | TIME_WAIT, &mut entries);
        // Nothing of the connection is left that could send it.
        if let Some(reply) = self.time_waits.acknowledgment(late, now).filter(|_| owes_ack) {
            self.reply(reply);
        }
        let (mut context, connections) = self.context(now);
        if let Some(connection) = connections.get_mut(index) {
            connection.end(&mut context);
        }
    }

    pub(super) fn forget_time_wait(&mut self, index: u32) -> Option<TimeWait> {
        let flow = *self.time_waits.flow(index)?;
        self.take_out(&flow, index | TIME_WAIT);
        self.time_waits.remove(index)
    }

    /// Puts a connection into the tables.
    pub(super) fn insert(&mut self, connection: Connection) -> ConnectionId {
        let flow = connection.flow;
        let (index, generation) = self.connections.insert(connection);
        let (table, mut entries) = self.table();
        if table.insert(&flow, index, &mut entries) {
            self.ports.taken(&flow);
        }
        ConnectionId { index, generation }
    }

    /// Takes the flow out of the table, if it still leads to this number.
    fn take_out(&mut self, flow: &Flow, index: u32) {
        let (table, mut entries) = self.table();
        if table.find(flow, &entries) == Some(index) {
            table.remove(flow, &mut entries);
            self.ports.released(flow);
        }
    }

    /// The number that the table has for the flow.
    pub(super) fn find(&self, flow: &Flow) -> Option<u32> {
        let Self { connections, time_waits, .. } = self;
        self.table.find(flow, &Numbered { connections, time_waits })
    }

    fn table(&mut self) -> (&mut Table, NumberedMut<'_>) {
        let Self { table, connections, time_waits, .. } = self;
        (table, NumberedMut { connections, time_waits })
    }

    /// Segments that get an answer without the connection: an ACK of what was never sent, in the
    /// states before the connection is open (RFC 9293, sections 3.10.7.3, first, and 3.10.7.4,
    /// fifth), and the end of a handshake for which the listener has no room.
    pub(super) fn answers_itself(
        &mut self,
        index: u32,
        segment: &Segment<'_>,
        now: Instant,
    ) -> bool {
        let Some(connection) = self.connections.get(index) else { return true };
        let is_handshake = matches!(connection.state, State::SynSent | State::SynReceived);
        if !is_handshake || !segment.has(Flags::ACK) {
            return false;
        }
        // RFC 9293, section 3.10.7.4: first the number, second RST, fifth the acknowledgment.
        let is_reset = segment.has(Flags::RST);
        if connection.state == State::SynReceived
            && (is_reset || !connection.is_acceptable(segment, now))
        {
            return false;
        }
        let sender = &connection.sender;
        let (acknowledgment, flow) = (segment.acknowledgment, connection.flow);
        if acknowledgment.at_or_before(sender.una) || acknowledgment.after(sender.nxt) {
            if !is_reset {
                self.reply(Reply::reset_for(flow, segment));
            }
            return true;
        }
        let Some(id) = connection.owner.listener else { return false };
        let is_full = self.listeners.get_mut(id).is_ok_and(|listener| !listener.can_accept());
        if is_full && !segment.has(Flags::SYN) {
            self.counters.accept_queue_full += 1;
            return true;
        }
        false
    }

    /// Queues a segment of no connection.
    pub(super) fn reply(&mut self, reply: Reply) {
        let is_reset = reply.repr.flags.contains(Flags::RST);
        if self.replies.push(reply) {
            self.counters.resets_sent += u64::from(is_reset);
        } else {
            self.counters.replies_dropped += 1;
        }
    }
}

/// The resolution of the wheel.
const WHEEL_ROUNDING: Duration = Duration::from_millis(1);

/// What the numbers in the table mean.
pub(super) struct Numbered<'a> {
    pub connections: &'a Store<Connection>,
    pub time_waits: &'a TimeWaits,
}

struct NumberedMut<'a> {
    connections: &'a mut Store<Connection>,
    time_waits: &'a mut TimeWaits,
}

impl Entries for Numbered<'_> {
    fn entry(&self, index: u32) -> Option<(&Flow, u32)> {
        entry(self.connections, self.time_waits, index)
    }
}

impl Entries for NumberedMut<'_> {
    fn entry(&self, index: u32) -> Option<(&Flow, u32)> {
        entry(self.connections, self.time_waits, index)
    }
}

impl EntriesMut for NumberedMut<'_> {
    fn set_next(&mut self, index: u32, next: u32) {
        if index & TIME_WAIT == 0 {
            self.connections.set_next(index, next);
        } else {
            self.time_waits.set_next(index & !TIME_WAIT, next);
        }
    }
}

fn entry<'a>(
    connections: &'a Store<Connection>,
    time_waits: &'a TimeWaits,
    index: u32,
) -> Option<(&'a Flow, u32)> {
    // At the end of a chain stands a number that is nobody's.
    if index & TIME_WAIT == 0 {
        let (connection, next) = connections.get_with_next(index)?;
        Some((&connection.flow, next))
    } else {
        time_waits.flow_with_next(index & !TIME_WAIT)
    }
}
