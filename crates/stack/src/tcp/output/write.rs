//! The bytes of a segment, and what is noted when it leaves.

use portolan_wire::tcp::{
    Flags, HEADER_BYTES, Options, Repr, Timestamps,
    options::{OPTIONS_BYTES_MAX, SACK_BLOCKS_MAX},
};

use alloc::boxed::Box;

use super::plan::Plan;
use crate::{
    Instant,
    tcp::{
        connection::{Connection, Context, State},
        input::clock,
        reassembly::Reassembly,
        segment::{Ecn, Outgoing, emit},
    },
};

impl Connection {
    /// Writes the segment at the front of the buffer.
    pub(super) fn transmit(
        &mut self,
        plan: Plan,
        buffer: &mut [u8],
        context: &mut Context<'_>,
    ) -> Option<Outgoing> {
        // Before the options are written, which forget the duplicate that they have told.
        let segment = self.payload_max(usize::MAX);
        let options = self.options(context.now);
        // RFC 3168, sections 6.1.5 and 6.1.6: neither what is sent again, nor pure ACKs, nor probes
        // of a closed window are marked.
        let is_new_data = plan.len > 0 && !plan.is_again && self.sender.window > 0;
        let repr = self.header(&plan, is_new_data, options, context);
        let header_len = repr.header_len();
        let len = header_len + plan.len as usize;
        let buffer = buffer.get_mut(..len)?;
        let (start, _) = self.sender.data(self.state);
        let offset = plan.sequence.distance(start);
        if plan.len > 0 {
            self.sender.stream.copy_out(offset, buffer.get_mut(header_len..)?);
        }
        let (source, destination) = (self.flow.local, self.flow.remote);
        emit(&repr, buffer, &self.flow, context.config)?;
        self.note_sent(&plan, segment, context);
        let is_marked = self.agreed.ecn && is_new_data;
        Some(Outgoing {
            source,
            destination,
            ecn: if is_marked { Ecn::Capable0 } else { Ecn::NotCapable },
            diffserv: self.owner.diffserv,
            hop_limit: context.config.hop_limit,
            len,
            header_len,
            segment_payload: (plan.len > segment).then(|| u16::try_from(segment).ok()).flatten(),
        })
    }

    /// The ACK for the last segment, if each such segment is to have one of its own: RFC 5681,
    /// section 4.2, and RFC 2883, section 4. It would be one for all that arrive together
    /// otherwise, and the sender would not learn of most gaps and duplicates.
    pub(in crate::tcp) fn owed_acknowledgment(
        &mut self,
        context: &mut Context<'_>,
    ) -> Option<Repr> {
        if !self.due.ack_each {
            return None;
        }
        let options = self.options(context.now);
        let repr = self.header(&self.acknowledgment(), false, options, context);
        self.note_acknowledged(context);
        Some(repr)
    }

    fn header(
        &mut self,
        plan: &Plan,
        is_new_data: bool,
        options: Options,
        context: &Context<'_>,
    ) -> Repr {
        Repr {
            source_port: self.flow.local_port,
            destination_port: self.flow.remote_port,
            sequence: plan.sequence,
            acknowledgment: self.receiver.next,
            flags: self.flags(plan, is_new_data),
            window: self.receiver.offer(context),
            urgent_pointer: self.urgent_pointer(plan),
            options,
        }
    }

    fn flags(&mut self, plan: &Plan, is_new_data: bool) -> Flags {
        let mut flags = Flags::ACK;
        let (_, data_end) = self.sender.data(self.state);
        if plan.len > 0 && plan.sequence + plan.len == data_end {
            // Section 3.9.1.2, MUST-61: all that the program has given is in this segment.
            flags |= Flags::PSH;
        }
        if plan.fin {
            flags |= Flags::FIN;
        }
        if self.sender.urgent.is_some_and(|urgent| urgent.after(plan.sequence)) {
            flags |= Flags::URG;
        }
        if self.due.ecn_echo {
            flags |= Flags::ECE;
        }
        // RFC 3168, section 6.1.2: with the first new data after the window was reduced.
        if is_new_data && core::mem::take(&mut self.due.window_reduced) {
            flags |= Flags::CWR;
        }
        flags
    }

    fn urgent_pointer(&self, plan: &Plan) -> u16 {
        let urgent = self.sender.urgent.filter(|urgent| urgent.after(plan.sequence));
        let ahead = urgent.map_or(0, |urgent| urgent.distance(plan.sequence));
        // Section 3.8.5: what is further ahead is told by the segments to come.
        u16::try_from(ahead).unwrap_or(u16::MAX)
    }

    /// The options of a segment that is no SYN.
    fn options(&mut self, now: Instant) -> Options {
        let timestamps = self.timestamps(now);
        let most = self.sack_blocks_max();
        let sack = match &mut self.receiver.reassembly {
            Some(reassembly) if self.agreed.sack => reassembly.sack_blocks(most),
            _ => Default::default(),
        };
        Options { timestamps, sack, ..Options::default() }
    }

    pub(super) fn timestamps(&self, now: Instant) -> Option<Timestamps> {
        self.agreed.timestamps.then(|| Timestamps {
            value: clock(now).wrapping_add(self.agreed.timestamp_offset),
            echo: self.receiver.ts_recent,
        })
    }

    fn sack_blocks_max(&self) -> usize {
        if self.agreed.timestamps { SACK_BLOCKS_MAX - 1 } else { SACK_BLOCKS_MAX }
    }

    /// How long the options of the next segment are at most.
    pub(in crate::tcp) fn options_len(&self) -> u32 {
        let timestamps = if self.agreed.timestamps { 12 } else { 0 };
        let sack = match &self.receiver.reassembly {
            Some(reassembly) if self.agreed.sack => {
                let blocks = reassembly.ranges().len() + usize::from(reassembly.has_duplicate());
                if blocks == 0 { 0 } else { 4 + 8 * blocks.min(self.sack_blocks_max()) }
            }
            _ => 0,
        };
        (timestamps + sack).min(OPTIONS_BYTES_MAX) as u32
    }

    pub(in crate::tcp) fn header_len(&self) -> usize {
        HEADER_BYTES + self.options_len() as usize
    }

    fn note_sent(&mut self, plan: &Plan, segment: u32, context: &mut Context<'_>) {
        let packets = u64::from(plan.len.div_ceil(segment.max(1)).max(1));
        context.counters.segments_sent += packets;
        self.note_acknowledged(context);
        if plan.len == 0 && !plan.fin {
            return;
        }
        let now = context.now;
        let is_first = self.sender.outstanding() == 0;
        let sender = &mut self.sender;
        if is_first && !plan.is_again {
            sender.congestion.on_idle(now.since(sender.last_sent), sender.rtt.rto());
            // A window that one ACK acknowledged leaves the same emptiness behind, but no pause.
            let quiet = now.since(sender.timer_base);
            if sender.rtt.srtt().is_none_or(|srtt| quiet >= srtt) {
                sender.congestion.pause();
            }
        }
        let (una, spare) = (sender.una, &mut *context.spare);
        let sack = self.agreed.sack;
        let scoreboard = sender.scoreboard.get_or_insert_with(|| spare.scoreboard(una, sack));
        let mss = u16::try_from(segment).unwrap_or(u16::MAX);
        if plan.is_again {
            context.counters.segments_retransmitted += packets;
            scoreboard.resent(&mut sender.memory, plan.sequence, plan.end(), mss, now);
        } else {
            scoreboard.sent(plan.sequence, plan.end(), mss, now);
            sender.nxt = plan.end();
            if plan.fin {
                self.note_fin_sent();
            }
            if plan.len < segment {
                self.sender.small_end = plan.end();
            }
        }
        if plan.is_tail_probe
            && let Some(scoreboard) = &mut self.sender.scoreboard
        {
            scoreboard.probe_sent(&mut self.sender.memory, plan.is_again);
            // RFC 8985, section 7.3: the retransmission timer begins with the probe.
            self.sender.timer_base = now;
        }
        self.sender.congestion.on_sent(plan.end().distance(plan.sequence));
        self.sender.last_sent = now;
        // RFC 6298, section 5, (5.1).
        if is_first || !self.timers.is_retransmission_set() {
            self.sender.timer_base = now;
        }
        if is_first {
            self.sender.unanswered_since = now;
        }
        self.arm(context);
    }

    /// An ACK has left, with data or without.
    pub(super) fn note_acknowledged(&mut self, context: &mut Context<'_>) {
        self.due.ack = false;
        self.due.ack_each = false;
        self.receiver.unacknowledged = 0;
        self.receiver.last_ack = self.receiver.next;
        self.timers.acknowledged();
        // The box was kept for the duplicate that is told by now.
        let is_told = |box_: &&mut Box<Reassembly>| box_.is_empty() && !box_.has_duplicate();
        if self.receiver.reassembly.as_mut().filter(is_told).is_some()
            && let Some(reassembly) = self.receiver.reassembly.take()
        {
            context.spare.keep_reassembly(reassembly);
        }
    }

    /// Section 3.10.4: FIN has left for the first time.
    fn note_fin_sent(&mut self) {
        self.sender.fin_sent = true;
        self.state = match self.state {
            State::CloseWait => State::LastAck,
            State::Established => State::FinWait1,
            other => other,
        };
    }
}
