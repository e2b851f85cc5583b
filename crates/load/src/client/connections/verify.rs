//! Proving that held connections are alive: a round trip on each, some at a time.

use std::time::Instant;

use super::{Connections, Phase};
use crate::{client::run::Run, deadlines::position};

/// So many round trips are under way at a time, of one thread.
const AT_ONCE: u32 = 256;

/// How far a proof is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Proof {
    /// The next connection; none: no proof goes on.
    next: Option<u32>,
    under_way: u32,
}

impl Proof {
    /// A connection has answered.
    pub(super) fn answered(&mut self, run: &mut Run, is_right: bool) {
        self.under_way -= 1;
        run.tally.verified += u64::from(is_right);
    }

    /// A connection was lost.
    pub(super) fn failed(&mut self) {
        self.under_way -= 1;
    }
}

impl Connections {
    /// From now on, each connection that is open has to prove it.
    pub(in crate::client) fn verify(&mut self, run: &mut Run) {
        run.tally.verified = 0;
        self.proof.next = Some(0);
    }

    /// Goes on with it; whether it is not over.
    pub(in crate::client) fn is_verifying(&mut self, run: &mut Run) -> bool {
        while let Some(slot) = self.proof.next
            && self.proof.under_way < AT_ONCE
        {
            let Some(connection) = self.all.get(position(slot)) else {
                self.proof.next = None;
                break;
            };
            self.proof.next = Some(slot + 1);
            if connection.phase == Phase::Open && connection.ring.count == 0 {
                let now = Instant::now();
                self.proof.under_way += 1;
                self.add(run, slot, now, now);
                self.send_all(run, slot);
            }
        }
        self.proof.next.is_some() || self.proof.under_way > 0
    }
}
