//! How the program ends a connection: RFC 9293, section 3.10.4.

use super::connection::{Connection, Context, State};

impl Connection {
    /// Nothing more will be written: FIN is to follow.
    pub(super) fn finish(&mut self, context: &mut Context<'_>) {
        match self.state {
            // Nothing was agreed on: there is nothing to end but the attempt.
            State::SynSent if self.sender.stream.is_empty() && self.owner.is_orphan => {
                self.end(context);
            }
            State::Closed | State::TimeWait => {}
            _ => {
                self.sender.finished = true;
                self.arm_if_waiting(context);
            }
        }
    }

    /// Waits for the window if new data has to.
    pub(super) fn arm_if_waiting(&mut self, context: &mut Context<'_>) {
        let is_idle = self.sender.outstanding() == 0 && !self.timers.is_retransmission_set();
        if self.state.is_synchronized() && is_idle && !self.can_send_new(context.config) {
            self.sender.timer_base = context.now;
            self.sender.unanswered_since = context.now;
            self.arm(context);
        }
    }

    /// What was received will not be read.
    pub(super) fn release_unread(&mut self, context: &mut Context<'_>) {
        self.receiver.stream.clear(context.pool, context.spare);
    }

    pub(super) fn start_idle_if_open(&mut self, context: &Context<'_>) {
        if self.state.is_synchronized() {
            self.start_idle(context);
        }
    }
}
