//! How the client's connections end: as planned, by an error, or with the run.

use std::time::Instant;

use super::{Connections, Kind, Phase};
use crate::{client::run::Run, counts::ErrorKind, deadlines::position};

impl Connections {
    /// The run is over: closes all.
    pub(in crate::client) fn finish(&mut self, run: &mut Run) {
        for (connection, slot) in self.all.iter_mut().zip(0..) {
            let counts = run.counts(connection.home);
            match connection.phase {
                Phase::Closed => {}
                Phase::Connecting => counts.connects_given_up += 1,
                Phase::Open => {
                    counts.closed += 1;
                    while let Some((_, flight)) = self.flights.pop(slot, &mut connection.ring) {
                        run.counts(flight.target).requests_given_up += 1;
                    }
                }
            }
            connection.socket = None;
            connection.phase = Phase::Closed;
        }
    }

    /// Gives the places back that no request of the connection needs.
    pub(super) fn give_back(&mut self, slot: u32) {
        let connection = &mut self.all[position(slot)];
        while connection.places > connection.ring.count {
            connection.places -= 1;
            self.slots.give_back(slot);
        }
    }

    /// Closes a connection as planned; what is still under way on it is not answered any more.
    pub(super) fn close(&mut self, run: &mut Run, slot: u32) {
        let connection = &mut self.all[position(slot)];
        run.counts(connection.home).closed += 1;
        connection.socket = None;
        connection.phase = Phase::Closed;
        self.drop_flights(run, slot, Some(ErrorKind::ClosedEarly));
        if self.kind != Kind::Held {
            self.give_back(slot);
        }
    }

    pub(super) fn fail(&mut self, run: &mut Run, slot: u32, kind: ErrorKind) {
        let connection = &mut self.all[position(slot)];
        let counts = run.counts(connection.home);
        let why = match connection.phase {
            Phase::Closed => return,
            Phase::Connecting => {
                counts.connect_errors.add(kind);
                self.handshakes -= 1;
                run.deadlines.leave(self.flights.handshake(slot));
                // They had not begun.
                None
            }
            Phase::Open => {
                counts.lost += 1;
                counts.lost_idle += u64::from(connection.ring.count == 0);
                Some(kind)
            }
        };
        connection.socket = None;
        connection.phase = Phase::Closed;
        self.drop_flights(run, slot, why);
        let is_short_of = matches!(kind, ErrorKind::Shortage | ErrorKind::NoSourcePort);
        match self.kind {
            Kind::Held => {}
            Kind::Short { .. } if !is_short_of => self.give_back(slot),
            Kind::Short { .. } | Kind::Persistent => {
                let connection = &mut self.all[position(slot)];
                let now = Instant::now();
                for _ in 0..std::mem::take(&mut connection.places) {
                    self.slots.rest(slot, now);
                }
            }
        }
    }

    /// Takes away what is under way on a connection that is gone, and why, if it had begun.
    fn drop_flights(&mut self, run: &mut Run, slot: u32, why: Option<ErrorKind>) {
        let connection = &mut self.all[position(slot)];
        while let Some((number, flight)) = self.flights.pop(slot, &mut connection.ring) {
            run.deadlines.leave(number);
            if let Some(kind) = why {
                run.counts(flight.target).request_errors.add(kind);
            }
            if self.kind == Kind::Held {
                self.proof.failed();
            }
        }
    }
}
