//! Segments that belong to no connection: RST, answers with a cookie, ACKs of TIME-WAIT.

use alloc::collections::VecDeque;

use portolan_wire::{
    Seq,
    tcp::{Flags, Options, Repr, Timestamps},
};

use super::{
    Config, Flow,
    segment::{Ecn, Outgoing, Room, Segment, emit},
};
use crate::random::{Keys, Random};

/// A segment without data that waits to leave.
#[derive(Clone, Copy)]
pub(super) struct Reply {
    pub flow: Flow,
    pub repr: Repr,
}

/// Those that wait. There is a limit, so that a flood costs no memory: what is dropped the peer
/// asks for again, if there is one.
pub(super) struct Replies {
    waiting: VecDeque<Reply>,
    /// How often connections were asked since the last one left.
    passed: u8,
    random: Random,
}

impl Replies {
    pub fn new(keys: &Keys) -> Self {
        let random = Random::new(keys, REPLIES);
        Self { waiting: VecDeque::with_capacity(WAITING_MAX), passed: TURNS, random }
    }

    /// Whether the next segment is to be one of these, if there is any.
    pub fn has_turn(&self) -> bool {
        self.passed >= TURNS
    }

    /// A connection is asked.
    pub fn give_turn(&mut self) {
        self.passed = self.passed.saturating_add(1);
    }

    /// Whether there was room. If not, it takes the place of any one of those that wait: under a
    /// flood each has the same chance, whatever the rhythm in which the flood comes.
    pub fn push(&mut self, reply: Reply) -> bool {
        let has_room = self.waiting.len() < WAITING_MAX;
        if has_room {
            self.waiting.push_back(reply);
        } else if let Some(place) =
            self.waiting.get_mut(self.random.below(WAITING_MAX as u32) as usize)
        {
            *place = reply;
        }
        has_room
    }

    /// Writes the first one.
    pub fn poll_transmit(&mut self, room: &mut Room<'_>, config: &Config) -> Option<Outgoing> {
        let Reply { flow, repr } = self.waiting.front()?;
        let len = repr.header_len();
        let buffer = room.behind_headers(flow.remote).get_mut(..len)?;
        let (source, destination) = (flow.local, flow.remote);
        let written = emit(repr, buffer, flow, config);
        self.waiting.pop_front();
        self.passed = 0;
        written?;
        Some(Outgoing {
            source,
            destination,
            ecn: Ecn::NotCapable,
            diffserv: config.diffserv,
            hop_limit: config.hop_limit,
            len,
            header_len: len,
            segment_payload: None,
        })
    }
}

impl Reply {
    /// RST for a segment that nobody waits for, so that its sender believes it: RFC 9293,
    /// section 3.5.2, group 1. It has no timestamp, as there is no connection that has agreed on
    /// it.
    pub fn reset_for(flow: Flow, segment: &Segment<'_>) -> Self {
        let is_acknowledged = segment.has(Flags::ACK);
        let (sequence, acknowledgment, flags) = if is_acknowledged {
            (segment.acknowledgment, Seq(0), Flags::RST)
        } else {
            (Seq(0), segment.end(), Flags::RST | Flags::ACK)
        };
        Self { flow, repr: header(&flow, sequence, acknowledgment, flags) }
    }

    /// RST that ends an own connection: RFC 9293, section 3.10.5.
    pub fn reset(flow: Flow, sequence: Seq, acknowledgment: Seq) -> Self {
        Self { flow, repr: header(&flow, sequence, acknowledgment, Flags::RST | Flags::ACK) }
    }

    /// An ACK.
    pub fn acknowledgment(
        flow: Flow,
        sequence: Seq,
        acknowledgment: Seq,
        window: u16,
        timestamps: Option<Timestamps>,
    ) -> Self {
        let repr = header(&flow, sequence, acknowledgment, Flags::ACK);
        let options = Options { timestamps, ..Options::default() };
        Self { flow, repr: Repr { window, options, ..repr } }
    }
}

fn header(flow: &Flow, sequence: Seq, acknowledgment: Seq, flags: Flags) -> Repr {
    Repr {
        source_port: flow.local_port,
        destination_port: flow.remote_port,
        sequence,
        acknowledgment,
        flags,
        window: 0,
        urgent_pointer: 0,
        options: Options::default(),
    }
}

const WAITING_MAX: usize = 1_024;
/// How many segments of connections leave between two of these: who is connected goes before
/// strangers, but does not silence them.
const TURNS: u8 = 2;
/// What the random numbers are for.
const REPLIES: u64 = 0x200;
