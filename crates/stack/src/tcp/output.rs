//! What leaves next: RFC 9293, section 3.8.6.2.1, and the rules of those who mend losses.

use super::{
    Config,
    connection::{Connection, Context, State},
    segment::Outgoing,
};

mod handshake;
mod plan;
mod write;

pub(super) use handshake::offered;

impl Connection {
    /// Writes the next segment at the front of the buffer, if one is due.
    pub fn poll_transmit(
        &mut self,
        buffer: &mut [u8],
        context: &mut Context<'_>,
    ) -> Option<Outgoing> {
        match self.state {
            State::Closed | State::TimeWait => None,
            State::SynSent | State::SynReceived => self.transmit_syn(buffer, context),
            _ => {
                let plan = self.plan(buffer.len(), context)?;
                self.transmit(plan, buffer, context)
            }
        }
    }

    /// Whether [`poll_transmit`](Self::poll_transmit) may have something.
    pub fn has_output(&self, config: &Config) -> bool {
        let due = &self.due;
        due.ack
            || due.syn
            || due.window_probe
            || due.tail_probe
            || due.keepalive
            || self.sender.can_resend()
            || self.can_send_new(config)
    }
}
