//! Whether a segment lies in the window: RFC 9293, section 3.10.7.4, first.

use portolan_wire::tcp::Flags;

use crate::{
    Instant,
    tcp::{
        connection::{Connection, Context, State},
        segment::Segment,
    },
};

impl Connection {
    /// Whether [`accept`](Self::accept) will take the segment.
    pub(in crate::tcp) fn is_acceptable(&self, segment: &Segment<'_>, now: Instant) -> bool {
        let segment = self.without_crossed_syn(*segment);
        let has_right_time =
            !self.lacks_timestamp(&segment) && !self.is_timestamp_old(&segment, now);
        has_right_time && self.is_in_window(&segment)
    }

    /// The segment, cut to the window; or none, after the answer that it deserves.
    pub(super) fn accept<'a>(
        &mut self,
        segment: Segment<'a>,
        context: &mut Context<'_>,
    ) -> Option<Segment<'a>> {
        if self.lacks_timestamp(&segment) {
            // RFC 7323, section 3.2: in silence.
            context.counters.timestamp_old += 1;
            return None;
        }
        if self.is_timestamp_old(&segment, context.now) {
            context.counters.timestamp_old += 1;
            self.refuse(&segment, context);
            return None;
        }
        if self.is_in_window(&segment) {
            return Some(self.cut(segment, context));
        }
        context.counters.out_of_window += 1;
        self.refuse(&segment, context);
        None
    }

    /// The four cases of the table in RFC 9293, section 3.10.7.4.
    ///
    /// Two are wider, as in Linux (`tcp_sequence`, net/ipv4/tcp_input.c). A segment without data
    /// may lie at the end of the window: a peer that has filled it acknowledges from there. A
    /// segment that begins where the closed window does is taken without its data: its ACK is valid
    /// (RFC 9293, section 3.8.6).
    fn is_in_window(&self, segment: &Segment<'_>) -> bool {
        let (next, edge) = (self.receiver.next, self.receiver.edge);
        let starts_before_edge = segment.sequence.at_or_before(edge);
        if segment.len() == 0 || edge == next {
            return segment.sequence.at_or_after(next) && starts_before_edge;
        }
        // Its first or its last octet, or all of the window, is in it.
        segment.sequence.before(edge) && segment.end().after(next)
    }

    /// Takes away what was there before, and what is beyond the window.
    fn cut<'a>(&mut self, mut segment: Segment<'a>, context: &mut Context<'_>) -> Segment<'a> {
        let (next, edge) = (self.receiver.next, self.receiver.edge);
        if segment.sequence.before(next) && !segment.has(Flags::RST) {
            let old = next.distance(segment.sequence);
            self.note_duplicate(segment.sequence, next, context);
            // SYN lies before the data. One in the window is no reason to cut.
            if !segment.has(Flags::SYN) {
                segment.payload = segment.payload.get(old as usize..).unwrap_or_default();
                segment.sequence = next;
            }
        }
        if segment.end().after(edge) {
            let fits = edge.distance(segment.sequence);
            if segment.payload_len() > fits {
                segment.payload = segment.payload.get(..fits as usize).unwrap_or_default();
                self.due.ack = true;
            }
            // FIN takes a number as well; the peer sends it again.
            if segment.end().after(edge) && segment.has(Flags::FIN) {
                segment.flags.0 &= !Flags::FIN.0;
                self.due.ack = true;
            }
        }
        segment
    }

    /// An ACK for a segment outside of the window, but for RST. Those without data may come in
    /// answer to ours, so that these answers are limited: two ends that disagree would go on for
    /// ever otherwise. One with data is a retransmission, whose ACK was lost.
    fn refuse(&mut self, segment: &Segment<'_>, context: &mut Context<'_>) {
        if segment.has(Flags::RST) {
            context.counters.blind_refused += 1;
            return;
        }
        // Out of the window or not: the peer is there. Its own probes are so.
        self.receiver.heard_at = context.now;
        self.owner.keepalives_sent = 0;
        if segment.payload.is_empty() || self.state == State::SynReceived {
            return self.challenge(context);
        }
        if segment.sequence.before(self.receiver.next) {
            let (end, next) = (segment.end(), self.receiver.next);
            // What lies beyond was not taken, so that it is not reported.
            let end = if end.before(next) { end } else { next };
            self.note_duplicate(segment.sequence, end, context);
        }
        self.due.ack = true;
    }
}
