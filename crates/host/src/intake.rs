//! What arrives at a queue: dealt with here, or handed to the queue that it belongs to.

use portolan_stack::{Checksum, Instant, Joined, Stack};

use crate::{program::Program, shared::Shared, steer::Whose};

/// What frames that arrive are given to, for one turn.
pub(crate) struct Intake<'a, P> {
    pub(crate) nth: usize,
    pub(crate) stack: &'a mut Stack,
    pub(crate) program: &'a mut P,
    pub(crate) shared: &'a Shared,
    /// How many frames and datagrams were handed to other queues.
    pub(crate) handed_over: &'a mut u64,
    pub(crate) now: Instant,
}

impl<P: Program> Intake<'_, P> {
    /// A frame of the device, of which the steering says whose it is.
    pub(crate) fn steer(&mut self, frame: &[u8], checksum: Checksum) {
        let whose = match self.shared.steering.queues() {
            1 => Whose::Queue(self.nth),
            _ => self.shared.steering.of_frame(frame),
        };
        if self.is_mine(whose) {
            self.take(frame, checksum);
        }
        for other in self.others(whose) {
            *self.handed_over += 1;
            self.shared.queues[other].hand_over(frame, checksum);
        }
    }

    /// A frame of this queue.
    pub(crate) fn take(&mut self, frame: &[u8], checksum: Checksum) {
        let Self { stack, program, now, .. } = self;
        stack.handle_frame(frame, checksum, *now, &mut |id, bytes| program.data(id, bytes));
        if let Some(joined) = self.stack.take_joined() {
            self.steer_joined(joined);
        }
    }

    /// A datagram whose last part came: parts do not tell whose they are, the whole does.
    fn steer_joined(&mut self, joined: Joined) {
        let whose = self.shared.steering.of_joined(&joined);
        for other in self.others(whose) {
            *self.handed_over += 1;
            self.shared.queues[other].hand_joined(joined.clone());
        }
        if self.is_mine(whose) {
            self.take_joined(&joined);
        }
    }

    /// A datagram of this queue.
    pub(crate) fn take_joined(&mut self, joined: &Joined) {
        let Self { stack, program, now, .. } = self;
        stack.handle_joined(joined, *now, &mut |id, bytes| program.data(id, bytes));
    }

    fn is_mine(&self, whose: Whose) -> bool {
        whose == Whose::Queue(self.nth) || whose == Whose::All
    }

    fn others(&self, whose: Whose) -> impl Iterator<Item = usize> + use<P> {
        let others = match whose {
            Whose::Queue(other) => other..other + 1,
            Whose::All => 0..self.shared.queues.len(),
        };
        let nth = self.nth;
        others.filter(move |other| *other != nth)
    }
}
