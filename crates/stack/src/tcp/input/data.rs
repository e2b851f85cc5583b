//! Data and its end: RFC 9293, section 3.10.7.4, seventh and eighth.

use portolan_wire::{
    Seq,
    tcp::{Flags, SackBlock},
};

use super::Deliver;
use crate::tcp::{
    connection::{Connection, Context, Receiver, State},
    event::Ready,
    reassembly::{Inserted, RANGES_MAX},
    segment::{Ecn, Segment},
};

impl Connection {
    /// Takes the data of a segment that was cut to the window.
    pub(super) fn handle_data(
        &mut self,
        segment: &Segment<'_>,
        context: &mut Context<'_>,
        deliver: &mut Deliver<'_>,
    ) {
        self.note_marks(segment);
        if !self.state.receives() {
            // Section 3.10.7.4: there cannot be any after FIN; ignored.
            return;
        }
        if !segment.payload.is_empty() {
            if self.owner.is_orphan {
                // Section 3.6.1, SHLD-3: data that nobody will read is not swallowed in silence.
                return self.abort(context);
            }
            if segment.sequence == self.receiver.next {
                self.take_in_order(segment.payload, context, deliver);
            } else {
                self.keep_out_of_order(segment, context);
            }
        }
        if segment.has(Flags::FIN) {
            let fin = segment.sequence + segment.payload_len();
            // RFC 5681, section 4.2: a gap before it is told at once, as one before data.
            self.due.ack |= fin != self.receiver.next;
            // What a full buffer did not take will come again, and FIN with it.
            if self.receiver.fin.is_none() {
                self.receiver.fin = Some(fin);
            }
        }
    }

    fn take_in_order(
        &mut self,
        payload: &[u8],
        context: &mut Context<'_>,
        deliver: &mut Deliver<'_>,
    ) {
        let is_alone = self.receiver.stream.is_empty() && self.receiver.reassembly.is_none();
        let delivered =
            if is_alone && self.owner.has_it { deliver(payload).min(payload.len()) } else { 0 };
        let rest = payload.get(delivered..).unwrap_or_default();
        let stored = if self.receiver.reassembly.is_none() {
            self.receiver.stream.push(context.pool, context.spare, rest)
        } else {
            let stored = self.receiver.write_missing(self.receiver.next, rest, context);
            self.receiver.stream.advance(octets(stored));
            stored
        };
        if stored < rest.len() {
            context.counters.no_buffer += 1;
        }
        self.receiver.next += octets(delivered + stored);
        self.receiver.forget_urgent();
        if stored > 0 {
            self.owner.ready |= Ready::READABLE;
        }
        let filled_gap = self.close_gap(context);
        self.count_for_acknowledgment(
            delivered + stored,
            filled_gap || stored < rest.len(),
            context,
        );
    }

    /// Goes on behind data that had arrived before. Whether there was such data.
    fn close_gap(&mut self, context: &mut Context<'_>) -> bool {
        let Some(reassembly) = &mut self.receiver.reassembly else { return false };
        let next = reassembly.advance(self.receiver.next);
        let is_empty = reassembly.is_empty();
        let more = next.distance(self.receiver.next);
        if more > 0 {
            reassembly.set_since(context.now);
        }
        self.receiver.stream.advance(more);
        self.receiver.next = next;
        if more > 0 {
            self.owner.ready |= Ready::READABLE;
        }
        // With a duplicate to report it is needed for one more ACK.
        if is_empty && let Some(reassembly) = self.receiver.reassembly.take() {
            if reassembly.has_duplicate() {
                self.receiver.reassembly = Some(reassembly);
            } else {
                context.spare.keep_reassembly(reassembly);
            }
        }
        true
    }

    fn keep_out_of_order(&mut self, segment: &Segment<'_>, context: &mut Context<'_>) {
        // RFC 5681, section 4.2: at once, so that the sender learns about the gap.
        (self.due.ack, self.due.ack_each) = (true, true);
        // A single byte can take a whole block, until the memory is short and the peer silent: the
        // others are for data in order, and for what is written.
        if context.pool.is_half_used() {
            context.counters.no_buffer += 1;
            return;
        }
        let spare = &mut *context.spare;
        let reassembly = self.receiver.reassembly.get_or_insert_with(|| spare.reassembly());
        if reassembly.ranges().len() >= RANGES_MAX {
            context.counters.no_buffer += 1;
            return;
        }
        let stored = self.receiver.write_missing(segment.sequence, segment.payload, context);
        if stored < segment.payload.len() {
            context.counters.no_buffer += 1;
        }
        let Some(reassembly) = self.receiver.reassembly.as_mut().filter(|_| stored > 0) else {
            return;
        };
        if reassembly.is_empty() {
            reassembly.set_since(context.now);
        }
        match reassembly.insert(segment.sequence, segment.sequence + octets(stored)) {
            Inserted::Stored { .. } => context.counters.out_of_order += 1,
            Inserted::Duplicate => context.counters.duplicates += 1,
            Inserted::Full => context.counters.no_buffer += 1,
        }
    }

    /// Eighth: FIN, once all data before it is there.
    pub(super) fn handle_fin(&mut self) {
        if self.receiver.fin != Some(self.receiver.next) || !self.state.receives() {
            return;
        }
        self.receiver.next += 1;
        self.due.ack = true;
        self.owner.ready |= Ready::FINISHED | Ready::READABLE;
        match self.state {
            State::Established => self.state = State::CloseWait,
            // Its own FIN is not acknowledged: else the state were FIN-WAIT-2 by now.
            State::FinWait1 => self.state = State::Closing,
            _ => self.state = State::TimeWait,
        }
    }

    /// Tells the peer with the next ACK that it sent something twice: RFC 2883.
    pub(super) fn note_duplicate(&mut self, left: Seq, right: Seq, context: &mut Context<'_>) {
        if right == left {
            return;
        }
        context.counters.duplicates += 1;
        (self.due.ack, self.due.ack_each) = (true, true);
        if self.agreed.sack {
            let spare = &mut *context.spare;
            let reassembly = self.receiver.reassembly.get_or_insert_with(|| spare.reassembly());
            reassembly.duplicate(SackBlock { left, right });
        }
    }

    /// RFC 5681, section 4.2: an ACK for at least every second full segment, within 500 ms, and at
    /// once when the segment fills a gap. A device may have joined several segments.
    fn count_for_acknowledgment(&mut self, taken: usize, at_once: bool, context: &mut Context<'_>) {
        let receiver = &mut self.receiver;
        let full = usize::from(receiver.segment_len(self.sender.mtu, &self.flow)).max(1);
        let count = u8::try_from(2 * (taken / full)).unwrap_or(u8::MAX).max(1);
        receiver.unacknowledged = receiver.unacknowledged.saturating_add(count);
        if at_once || receiver.quick > 0 || receiver.unacknowledged >= ACK_AFTER {
            receiver.quick = receiver.quick.saturating_sub(1);
            self.due.ack = true;
        } else {
            self.timers.acknowledge_by(context.now + context.config.delayed_ack);
        }
    }

    /// RFC 3168, section 6.1.3.
    fn note_marks(&mut self, segment: &Segment<'_>) {
        if !self.agreed.ecn {
            return;
        }
        if segment.has(Flags::CWR) {
            self.due.ecn_echo = false;
        }
        if segment.ecn == Ecn::Experienced {
            self.due.ecn_echo = true;
            self.due.ack = true;
        }
    }
}

impl Receiver {
    /// Whether data has arrived that is not in order.
    pub(in crate::tcp) fn holds_early_data(&self) -> bool {
        self.reassembly.as_deref().is_some_and(|reassembly| !reassembly.is_empty())
    }

    /// Drops the data that is not in order: the peer has to send it again. FIN stays known, as it
    /// takes no memory.
    pub(in crate::tcp) fn discard_early_data(&mut self, context: &mut Context<'_>) {
        self.stream.discard_early(context.pool, context.spare);
        let Some(mut reassembly) = self.reassembly.take() else { return };
        reassembly.discard(self.next);
        if reassembly.has_duplicate() {
            self.reassembly = Some(reassembly);
        } else {
            context.spare.keep_reassembly(reassembly);
        }
    }

    /// Keeps what has not arrived early already: the first one wins, so that no byte changes that
    /// the peer was told to be here. How many bytes are there now, from the first one on.
    fn write_missing(&mut self, left: Seq, bytes: &[u8], context: &mut Context<'_>) -> usize {
        let Some(reassembly) = &self.reassembly else { return 0 };
        for (start, end) in reassembly.gaps(left, left + octets(bytes.len())) {
            let from = start.distance(left) as usize;
            let missing = bytes.get(from..end.distance(left) as usize).unwrap_or_default();
            let offset = self.stream.len() + start.distance(self.next);
            let stored = self.stream.write_at(context.pool, context.spare, offset, missing);
            if stored < missing.len() {
                return from + stored;
            }
        }
        bytes.len()
    }
}

fn octets(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Small segments count one, full ones two: an ACK for two full segments or four small ones.
const ACK_AFTER: u8 = 4;
