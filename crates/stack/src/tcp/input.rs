//! A segment for a connection, in the order of RFC 9293, section 3.10.7.4.

use portolan_wire::tcp::Flags;

use super::{
    Reason,
    connection::{Connection, Context, State},
    segment::Segment,
};

mod acceptable;
mod ack;
mod data;
mod paws;
mod syn_sent;
mod urgent;

pub(super) use paws::{clock, is_before};

/// Offers data in order to the program, which says how many bytes it has taken.
pub(super) type Deliver<'a> = dyn FnMut(&[u8]) -> usize + 'a;

impl Connection {
    /// Moves the connection on by a segment that is for it.
    pub fn handle_segment(
        &mut self,
        segment: Segment<'_>,
        context: &mut Context<'_>,
        deliver: &mut Deliver<'_>,
    ) {
        match self.state {
            State::Closed => {}
            State::SynSent => self.handle_in_syn_sent(segment, context),
            _ => self.handle_synchronized(segment, context, deliver),
        }
    }

    fn handle_synchronized(
        &mut self,
        segment: Segment<'_>,
        context: &mut Context<'_>,
        deliver: &mut Deliver<'_>,
    ) {
        let segment = self.without_crossed_syn(segment);
        let Some(segment) = self.accept(segment, context) else { return };
        // Second: RST.
        if segment.has(Flags::RST) {
            return self.handle_reset(&segment, context);
        }
        self.receiver.heard_at = context.now;
        self.owner.keepalives_sent = 0;
        // Fourth: SYN.
        if segment.has(Flags::SYN) {
            return self.handle_syn(context);
        }
        // Fifth: ACK.
        if !segment.has(Flags::ACK) || !self.handle_ack(&segment, context) {
            return;
        }
        self.remember_timestamp(&segment, context.now);
        // Sixth: URG. Seventh: data. Eighth: FIN.
        self.handle_urgent(&segment);
        self.handle_data(&segment, context, deliver);
        self.handle_fin();
    }

    /// RST in the window: RFC 5961, section 3.2, as RFC 9293 has it.
    fn handle_reset(&mut self, segment: &Segment<'_>, context: &mut Context<'_>) {
        if segment.sequence != self.receiver.next {
            context.counters.blind_refused += 1;
            return self.challenge(context);
        }
        context.counters.resets_received += 1;
        // With one of its own SYNs crossing, an active end was refused; a passive one goes back to
        // its listener, as if nothing had been.
        let is_refused = self.state == State::SynReceived;
        self.fail(if is_refused { Reason::Refused } else { Reason::Reset }, context);
    }

    /// SYN on a connection that has one: RFC 5961, section 4.2. A peer who has forgotten the
    /// connection answers the ACK with the RST that ends it; an attacker and an old duplicate do
    /// not (RFC 9293, section 3.10.7.4, fourth).
    fn handle_syn(&mut self, context: &mut Context<'_>) {
        context.counters.blind_refused += 1;
        self.challenge(context);
    }

    /// Says where this end stands, unless it has done so too often lately.
    pub(super) fn challenge(&mut self, context: &mut Context<'_>) {
        if !self.challenges.allow(context.now) {
            context.counters.challenges_held_back += 1;
            return;
        }
        context.counters.challenges_sent += 1;
        if self.state == State::SynReceived { self.due.syn = true } else { self.due.ack = true }
    }

    /// Where both ends have sent SYN at the same time, the SYN of the peer comes a second time with
    /// its ACK: RFC 9293, section 3.5, figure 7.
    pub(super) fn without_crossed_syn<'a>(&self, mut segment: Segment<'a>) -> Segment<'a> {
        if self.state == State::SynReceived
            && segment.has(Flags::SYN | Flags::ACK)
            && segment.sequence + 1 == self.receiver.next
        {
            segment.flags.0 &= !Flags::SYN.0;
            segment.sequence += 1;
            // RFC 7323, section 2.2: it is not shifted, as that of what the segment becomes will
            // be.
            segment.window >>= self.sender.scale;
        }
        segment
    }
}
