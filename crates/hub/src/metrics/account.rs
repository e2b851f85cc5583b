//! What one series counted, of edges that were seen from one end and of edges seen from both.

use portolan_flow::{Flow, Totals, Traffic};

/// The sums of a series. None of what it tells ever goes down, but for `active`.
///
/// What went over an edge with both ends on this host is seen twice, and the two views are read one
/// after the other: what is under way between them is in this reading of the one and in the next of
/// the other. So the larger is taken of the sums, not the sum of the larger: that would count such
/// bytes twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Account {
    /// Of edges of which this host is the client, as the client sees them.
    client: Totals,
    /// Of edges of which this host is the server, as the server sees them.
    server: Totals,
    /// Of edges within this host, as each end sees them. Round-trip times are only at one of them.
    inside: Traffic,
    /// Connections that were up at the last reading.
    pub active: u64,
}

impl Account {
    /// Adds one edge of a reading.
    pub fn add(&mut self, flow: &Flow) {
        self.active = self.active.saturating_add(flow.connections());
        let Some(traffic) = flow.traffic.as_deref() else { return };
        let is_known = flow.client.namespace.is_some() && flow.server.namespace.is_some();
        let is_seen_twice = !traffic.active.is_zero() && !traffic.passive.is_zero();
        if is_known || is_seen_twice {
            let mut traffic = *traffic;
            let Traffic { active, passive, .. } = &mut traffic;
            let less = if active.rtt_samples > 0 { passive } else { active };
            (less.rtt_us_sum, less.rtt_samples) = (0, 0);
            self.inside.add(&traffic);
        } else {
            self.client.add(&traffic.active);
            self.server.add(&traffic.passive);
        }
    }

    /// Adds what ends of this host counted without saying which end of an edge they are.
    pub fn add_of_either_side(&mut self, totals: &Totals) {
        self.client.add(totals);
    }

    /// Whether nothing was ever counted.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Whether this host is the client's end of an edge of the series: that end sees what fails.
    pub fn has_client(&self) -> bool {
        !self.client.is_zero() || !self.inside.active.is_zero()
    }

    /// Payload from client to server, and from server to client.
    pub fn bytes(&self) -> [u64; 2] {
        let up = sum([self.client.bytes_sent, self.server.bytes_received]);
        let down = sum([self.client.bytes_received, self.server.bytes_sent]);
        [sum([up, self.inside.bytes_to_server()]), sum([down, self.inside.bytes_to_client()])]
    }

    /// Datagrams from client to server, and from server to client.
    pub fn datagrams(&self) -> [u64; 2] {
        let (active, passive) = (&self.inside.active, &self.inside.passive);
        let up = active.datagrams_sent.max(passive.datagrams_received);
        let down = active.datagrams_received.max(passive.datagrams_sent);
        [
            sum([self.client.datagrams_sent, self.server.datagrams_received, up]),
            sum([self.client.datagrams_received, self.server.datagrams_sent, down]),
        ]
    }

    /// Connections that came up, by which of their ends are on this host; `None` where nothing was
    /// seen of any such edge.
    pub fn opened(&self) -> [(&'static str, Option<u64>); 3] {
        [
            ("client", (!self.client.is_zero()).then_some(self.client.opened)),
            ("server", (!self.server.is_zero()).then_some(self.server.opened)),
            ("both", (!self.inside.is_zero()).then(|| self.inside.opened())),
        ]
    }

    /// Handshakes that came to nothing, by why.
    pub fn failed(&self) -> [(&'static str, u64); 4] {
        [
            ("refused", self.once(|end| end.refused)),
            ("timed_out", self.once(|end| end.timed_out)),
            ("unreachable", self.once(|end| end.unreachable)),
            ("abandoned", self.once(|end| end.abandoned)),
        ]
    }

    /// Connections that ended by a reset.
    pub fn resets(&self) -> u64 {
        self.once(|end| end.resets)
    }

    /// TCP segments that either end sent again.
    pub fn retransmits(&self) -> u64 {
        sum([self.client.retransmits, self.server.retransmits, self.inside.retransmits()])
    }

    /// How long connections that ended were up, in microseconds, and how many those were.
    pub fn duration(&self) -> [u64; 2] {
        [self.once(|end| end.duration_us_sum), self.once(|end| end.closed)]
    }

    /// The sum of round-trip times in microseconds, and how many those are.
    pub fn rtt(&self) -> [u64; 2] {
        let all = [&self.client, &self.server, &self.inside.active, &self.inside.passive];
        [sum(all.map(|end| end.rtt_us_sum)), sum(all.map(|end| end.rtt_samples))]
    }

    fn once(&self, of: fn(&Totals) -> u64) -> u64 {
        let inside = of(&self.inside.active).max(of(&self.inside.passive));
        sum([of(&self.client), of(&self.server), inside])
    }

    /// All that came in, each end for itself: what conservation is tested by.
    #[cfg(test)]
    pub fn parts(&self) -> [Totals; 2] {
        let (mut active, mut passive) = (self.client, self.server);
        active.add(&self.inside.active);
        passive.add(&self.inside.passive);
        [active, passive]
    }
}

fn sum<const N: usize>(counts: [u64; N]) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests;
