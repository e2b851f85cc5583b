//! Ended connections that wait for late segments: RFC 9293, section 3.6.1, in little memory.

use alloc::collections::VecDeque;
use core::time::Duration;

use portolan_wire::{
    Seq,
    tcp::{Flags, Timestamps},
};

use super::{
    Flow, Numbers, State,
    connection::Connection,
    input::{clock, is_before},
    replies::Reply,
    segment::Segment,
    store::Store,
};
use crate::Instant;

/// What is left of a connection.
#[derive(Clone, Copy)]
pub(super) struct TimeWait {
    pub flow: Flow,
    pub snd_nxt: Seq,
    rcv_nxt: Seq,
    window: u16,
    timestamps: Option<Clocks>,
    expires: Instant,
    /// A limit for its ACKs, so that two ends in the same state do not go on for ever.
    answered_at: Instant,
}

#[derive(Clone, Copy)]
struct Clocks {
    recent: u32,
    offset: u32,
}

/// What a segment for it leads to.
pub(super) enum Late {
    /// Nothing.
    Dropped,
    /// The last ACK once more.
    Answered(Reply),
    /// It is a new connection's first segment (RFC 6191): the old one is forgotten.
    Reopened,
}

/// All of them, the first to end first.
pub(super) struct TimeWaits {
    store: Store<TimeWait>,
    order: VecDeque<Place>,
    delay: Duration,
}

/// A place in the order. It is out of date if the number now means another one, or if its wait has
/// begun again.
#[derive(Clone, Copy)]
struct Place {
    index: u32,
    generation: u32,
    at: Instant,
}

impl TimeWaits {
    pub fn new(delay: Duration) -> Self {
        Self { store: Store::new(), order: VecDeque::new(), delay }
    }

    pub fn len(&self) -> usize {
        self.store.len()
    }

    pub fn flow(&self, index: u32) -> Option<&Flow> {
        self.store.get(index).map(|time_wait| &time_wait.flow)
    }

    /// All that was sent is acknowledged, and no more data is taken.
    pub fn numbers(&self, index: u32) -> Option<Numbers> {
        let time_wait = self.store.get(index)?;
        Some(Numbers {
            state: State::TimeWait,
            snd_una: time_wait.snd_nxt,
            snd_nxt: time_wait.snd_nxt,
            snd_wnd: 0,
            rcv_nxt: time_wait.rcv_nxt,
            rcv_wnd: 0,
        })
    }

    /// The flow, and what was last given to [`set_next`](Self::set_next).
    pub fn flow_with_next(&self, index: u32) -> Option<(&Flow, u32)> {
        self.store.get_with_next(index).map(|(time_wait, next)| (&time_wait.flow, next))
    }

    /// For who puts them into chains.
    pub fn set_next(&mut self, index: u32, next: u32) {
        self.store.set_next(index, next);
    }

    pub fn insert(&mut self, connection: &Connection, now: Instant) -> u32 {
        let receiver = &connection.receiver;
        let window = receiver.edge.distance(receiver.next) >> receiver.scale;
        let at = now + self.delay;
        let (index, generation) = self.store.insert(TimeWait {
            flow: connection.flow,
            snd_nxt: connection.sender.nxt,
            rcv_nxt: receiver.next,
            window: u16::try_from(window).unwrap_or(u16::MAX),
            timestamps: connection.agreed.timestamps.then_some(Clocks {
                recent: receiver.ts_recent,
                offset: connection.agreed.timestamp_offset,
            }),
            expires: at,
            answered_at: Instant::ZERO,
        });
        self.order.push_back(Place { index, generation, at });
        index
    }

    pub fn remove(&mut self, index: u32) -> Option<TimeWait> {
        self.store.remove(index)
    }

    /// The moment when the first one may end.
    pub fn next(&self) -> Option<Instant> {
        self.order.front().map(|place| place.at)
    }

    /// The first one that is over, or with `is_forced` the oldest one.
    pub fn pop(&mut self, now: Instant, is_forced: bool) -> Option<u32> {
        while let Some(&Place { index, generation, at }) = self.order.front() {
            if at > now && !is_forced {
                return None;
            }
            self.order.pop_front();
            let is_same = self.store.generation(index) == Some(generation);
            // Where the wait has begun again, there is another place further back.
            if is_same && self.store.get(index).is_some_and(|time_wait| time_wait.expires == at) {
                return Some(index);
            }
        }
        None
    }

    /// RFC 9293, section 3.10.7.4, and RFC 6191.
    pub fn handle_segment(&mut self, index: u32, segment: &Segment<'_>, now: Instant) -> Late {
        let at = now + self.delay;
        let Some(generation) = self.store.generation(index) else { return Late::Dropped };
        let Some(time_wait) = self.store.get_mut(index) else { return Late::Dropped };
        // Section 3.10.7.4, eighth: with FIN the wait begins again.
        if time_wait.is_fin_again(segment) && at.since(time_wait.expires) > RESTART_INTERVAL {
            time_wait.expires = at;
            self.order.push_back(Place { index, generation, at });
        }
        time_wait.handle_segment(segment, now)
    }

    /// The ACK of the peer's FIN.
    pub fn acknowledgment(&self, index: u32, now: Instant) -> Option<Reply> {
        self.store.get(index).map(|time_wait| time_wait.acknowledgment(now))
    }
}

impl TimeWait {
    fn handle_segment(&mut self, segment: &Segment<'_>, now: Instant) -> Late {
        // RFC 1337: RST does not end the wait, as it may be an old one.
        if segment.has(Flags::RST) {
            return Late::Dropped;
        }
        if segment.has(Flags::SYN) && !segment.has(Flags::ACK) && self.is_newer(segment) {
            return Late::Reopened;
        }
        // The answer of a listener to an old SYN. Its number grows by the clock, and that of the
        // old connection by what was sent: where both have come equally far, an ACK would open the
        // connection again.
        if segment.has(Flags::SYN | Flags::ACK) {
            return Late::Dropped;
        }
        let is_soon = now.since(self.answered_at) < ANSWER_INTERVAL;
        if is_soon && self.answered_at != Instant::ZERO && !self.is_fin_again(segment) {
            return Late::Dropped;
        }
        // Nothing can be new here: what is in order and without data needs no answer.
        let is_plain = segment.len() == 0 && segment.sequence == self.rcv_nxt;
        if is_plain {
            return Late::Dropped;
        }
        self.answered_at = now;
        Late::Answered(self.acknowledgment(now))
    }

    fn is_fin_again(&self, segment: &Segment<'_>) -> bool {
        segment.has(Flags::FIN) && segment.end() == self.rcv_nxt
    }

    /// RFC 6191, section 2: by its timestamp, or else by its number, the SYN is newer than all that
    /// the old connection may still have on its way.
    fn is_newer(&self, segment: &Segment<'_>) -> bool {
        match (self.timestamps, segment.options.timestamps) {
            (Some(clocks), Some(timestamps)) if timestamps.value != clocks.recent => {
                is_before(clocks.recent, timestamps.value)
            }
            _ => segment.sequence.after(self.rcv_nxt),
        }
    }

    fn acknowledgment(&self, now: Instant) -> Reply {
        let timestamps = self.timestamps.map(|clocks| Timestamps {
            value: clock(now).wrapping_add(clocks.offset),
            echo: clocks.recent,
        });
        Reply::acknowledgment(self.flow, self.snd_nxt, self.rcv_nxt, self.window, timestamps)
    }
}

/// How often other segments than FIN are answered.
const ANSWER_INTERVAL: Duration = Duration::from_millis(500);
/// How much longer the wait must become for its place to be changed: a bound for their number.
const RESTART_INTERVAL: Duration = Duration::from_secs(1);
