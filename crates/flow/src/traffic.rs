//! What went over an edge in a span of time, as each of its ends counted it.

/// What one end of an edge counted. Sent and received are as this end sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Totals {
    /// Connections that came up.
    pub opened: u64,
    /// Connections that came up, now or before, and have ended.
    pub closed: u64,
    /// Of those, how many by a reset, from either end, or because the peer did not answer.
    pub resets: u64,
    /// Handshakes that the peer refused (RST).
    pub refused: u64,
    /// Handshakes that nobody answered in time.
    pub timed_out: u64,
    /// Handshakes to where the network has no way (ICMP destination unreachable).
    pub unreachable: u64,
    /// Handshakes that this end gave up, or that failed in another way.
    pub abandoned: u64,
    /// Payload that the application handed over and TCP has put on the wire, in bytes, each once;
    /// of UDP, the payload of all datagrams that left.
    pub bytes_sent: u64,
    /// Payload that has arrived, in bytes, each once; of UDP, that of all datagrams.
    pub bytes_received: u64,
    /// UDP datagrams that left; 0 for TCP.
    pub datagrams_sent: u64,
    /// UDP datagrams that arrived; 0 for TCP.
    pub datagrams_received: u64,
    /// TCP segments that were sent again, of connections that came up or not.
    pub retransmits: u64,
    /// The sum of smoothed round-trip times (RFC 6298), in microseconds, over `rtt_samples`.
    pub rtt_us_sum: u64,
    /// How often a round-trip time was read: once per connection and reading at most.
    pub rtt_samples: u64,
    /// The sum of how long the connections of `closed` were up, in microseconds; of one that was up
    /// before anybody counted, since then.
    pub duration_us_sum: u64,
}

impl Totals {
    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in self.counts_mut().into_iter().zip(other.counts()) {
            *sum = sum.saturating_add(more);
        }
    }

    /// Whether nothing happened.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Handshakes that did not come to a connection.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.refused + self.timed_out + self.unreachable + self.abandoned
    }

    /// The mean of the smoothed round-trip times, in microseconds, where there were any.
    #[must_use]
    pub fn rtt_us(&self) -> Option<u64> {
        self.rtt_us_sum.checked_div(self.rtt_samples)
    }

    /// All counts, in the order of the fields.
    #[must_use]
    pub fn counts(&self) -> [u64; 15] {
        let mut copy = *self;
        copy.counts_mut().map(|count| *count)
    }

    /// All counts, in the order of the fields.
    pub fn counts_mut(&mut self) -> [&mut u64; 15] {
        [
            &mut self.opened,
            &mut self.closed,
            &mut self.resets,
            &mut self.refused,
            &mut self.timed_out,
            &mut self.unreachable,
            &mut self.abandoned,
            &mut self.bytes_sent,
            &mut self.bytes_received,
            &mut self.datagrams_sent,
            &mut self.datagrams_received,
            &mut self.retransmits,
            &mut self.rtt_us_sum,
            &mut self.rtt_samples,
            &mut self.duration_us_sum,
        ]
    }
}

/// What both ends of an edge counted. What only one end saw is zero at the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Traffic {
    /// How long it was counted, in milliseconds; of a sum, the longest.
    pub span_ms: u64,
    /// By the client's end.
    pub active: Totals,
    /// By the server's end.
    pub passive: Totals,
}

impl Traffic {
    /// Adds what `other` counted in the same span of time.
    pub fn add(&mut self, other: &Self) {
        self.span_ms = self.span_ms.max(other.span_ms);
        self.active.add(&other.active);
        self.passive.add(&other.passive);
    }

    /// Whether neither end counted anything.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.active.is_zero() && self.passive.is_zero()
    }

    /// The same with everything counted once, as the client's end: sums of several edges are made
    /// of these, because one may have been seen from one end and the next from the other.
    #[must_use]
    pub fn counted_once(&self) -> Self {
        let (active, passive) = (&self.active, &self.passive);
        let once = |of: fn(&Totals) -> u64| of(active).max(of(passive));
        // The parts of a mean are those of one end.
        let rtt = if active.rtt_samples > 0 { active } else { passive };
        let ended = if active.closed >= passive.closed { active } else { passive };
        let active = Totals {
            opened: self.opened(),
            closed: ended.closed,
            resets: once(|end| end.resets),
            refused: once(|end| end.refused),
            timed_out: once(|end| end.timed_out),
            unreachable: once(|end| end.unreachable),
            abandoned: once(|end| end.abandoned),
            bytes_sent: self.bytes_to_server(),
            bytes_received: self.bytes_to_client(),
            datagrams_sent: active.datagrams_sent.max(passive.datagrams_received),
            datagrams_received: active.datagrams_received.max(passive.datagrams_sent),
            retransmits: self.retransmits(),
            rtt_us_sum: rtt.rtt_us_sum,
            rtt_samples: rtt.rtt_samples,
            duration_us_sum: ended.duration_us_sum,
        };
        Self { span_ms: self.span_ms, active, passive: Totals::default() }
    }

    /// Connections that came up, each counted once.
    #[must_use]
    pub fn opened(&self) -> u64 {
        self.active.opened.max(self.passive.opened)
    }

    /// Handshakes that failed; only the client's end knows of most.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.active.failed().max(self.passive.failed())
    }

    /// Payload from client to server, in bytes, as the end that saw more of it counted.
    #[must_use]
    pub fn bytes_to_server(&self) -> u64 {
        self.active.bytes_sent.max(self.passive.bytes_received)
    }

    /// Payload from server to client, in bytes, as the end that saw more of it counted.
    #[must_use]
    pub fn bytes_to_client(&self) -> u64 {
        self.active.bytes_received.max(self.passive.bytes_sent)
    }

    /// TCP segments sent again by either end.
    #[must_use]
    pub fn retransmits(&self) -> u64 {
        self.active.retransmits.saturating_add(self.passive.retransmits)
    }

    /// The mean round-trip time in microseconds: the client's, else the server's.
    #[must_use]
    pub fn rtt_us(&self) -> Option<u64> {
        self.active.rtt_us().or_else(|| self.passive.rtt_us())
    }

    /// So many per second, in the span that was counted; 0 without one.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    pub fn per_second(&self, count: u64) -> f64 {
        if self.span_ms == 0 { 0.0 } else { count as f64 * 1000.0 / self.span_ms as f64 }
    }
}

#[cfg(test)]
mod tests;
