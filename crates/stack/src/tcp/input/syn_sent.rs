//! A segment in the state SYN-SENT: RFC 9293, section 3.10.7.3.

use portolan_wire::tcp::Flags;

use crate::tcp::{
    Reason,
    connection::{Connection, Context, State},
    event::Ready,
    segment::Segment,
};

impl Connection {
    /// Acknowledgments of what was never sent are answered with RST before this is called.
    pub(super) fn handle_in_syn_sent(&mut self, segment: Segment<'_>, context: &mut Context<'_>) {
        let is_acknowledged = segment.has(Flags::ACK);
        if segment.has(Flags::RST) {
            // Second. RFC 5961, section 3.2: only with an acceptable ACK.
            if is_acknowledged {
                context.counters.resets_received += 1;
                self.fail(Reason::Refused, context);
            } else {
                context.counters.blind_refused += 1;
            }
            return;
        }
        if !segment.has(Flags::SYN) {
            return;
        }
        // Fourth.
        self.agree(&segment, context.config, context.now);
        self.receiver.heard_at = context.now;
        if is_acknowledged {
            self.sender.una = segment.acknowledgment;
            self.sample_handshake(&segment, context);
            self.establish(&segment, context);
            context.counters.active_opened += 1;
            self.owner.ready |= Ready::CONNECTED | Ready::WRITABLE;
            self.due.ack = true;
        } else {
            // Both ends have sent SYN: section 3.5, figure 7.
            self.state = State::SynReceived;
            self.due.syn = true;
            self.sender.retries = 0;
        }
    }
}
