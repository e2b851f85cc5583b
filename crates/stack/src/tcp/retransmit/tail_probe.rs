//! Tail loss probes: RFC 8985, section 7.

use core::time::Duration;

use portolan_wire::Seq;

use super::{
    Scoreboard,
    memory::{Flags, Memory, Phase},
};

impl Scoreboard {
    /// How long after the last segment sent, or the last ACK that advanced SND.UNA, to send a
    /// probe instead of waiting for the retransmission timer; none if no probe is to be sent, and
    /// that timer is to be set. `delayed_ack_max`: how long a
    /// receiver delays an ACK (TLP.max_ack_delay).
    #[must_use]
    pub fn probe_timeout(
        &self,
        memory: &Memory,
        srtt: Option<Duration>,
        rto: Duration,
        delayed_ack_max: Duration,
    ) -> Option<Duration> {
        // RFC 8985, section 7.2: SACK, no recovery, nothing SACKed; 7.3: one probe at a time.
        let is_due = self.is_sack_permitted
            && !self.is_empty()
            && memory.phase == Phase::Open
            && self.sacked_bytes == 0
            && !self.has_lost()
            && !memory.is_probe_outstanding();
        if !is_due {
            return None;
        }
        let last_mss = self.records.back().map_or(0, |record| u32::from(record.mss));
        let timeout = match srtt {
            None => WITHOUT_SAMPLE,
            Some(srtt) if self.outstanding() <= last_mss => srtt * 2 + delayed_ack_max,
            Some(srtt) => srtt * 2,
        };
        Some(timeout.min(rto))
    }

    /// What to send as a probe if there is no new data, or no room in the receiver's window: the
    /// last segment (RFC 8985, section 7.3).
    #[must_use]
    pub fn probe_segment(&self) -> Option<(Seq, Seq)> {
        let last = self.records.back()?;
        let rest = last.len() % u32::from(last.mss);
        let length = if rest == 0 { u32::from(last.mss) } else { rest };
        Some((last.end - length.min(last.len()), last.end))
    }

    /// A probe left: new data, or `retransmission`. After [`sent`](Self::sent) or
    /// [`resent`](Self::resent) for its bytes. The retransmission timer is set next.
    pub fn probe_sent(&mut self, memory: &mut Memory, retransmission: bool) {
        memory.end_probe();
        memory.probe_end = self.end();
        memory.flags.set(Flags::PROBE, true);
        memory.flags.set(Flags::PROBE_RESENT, retransmission);
    }
}

/// RFC 8985, section 7.2: a second, when the round trip is not known.
const WITHOUT_SAMPLE: Duration = Duration::from_secs(1);
