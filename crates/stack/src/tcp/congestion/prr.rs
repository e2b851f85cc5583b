//! Proportional Rate Reduction: RFC 9937.
//!
//! In fast recovery the window comes down to the threshold in proportion to what arrives, instead
//! of at once, so that there is neither a pause nor a burst.

/// The counters of one recovery, in bytes.
#[derive(Clone, Debug, Default)]
pub struct Prr {
    /// prr_delivered.
    delivered: u32,
    /// prr_out.
    sent: u32,
    /// RecoverFS.
    outstanding: u32,
}

impl Prr {
    /// Recovery begins, with so many bytes outstanding (RFC 9937, section 6, RecoverFS).
    pub fn new(outstanding: u32) -> Self {
        Self { delivered: 0, sent: 0, outstanding: outstanding.max(1) }
    }

    /// How many bytes may leave after this ACK (SndCnt): RFC 9937, section 6.
    pub fn on_ack(
        &mut self,
        delivered: u32,
        in_flight: u32,
        threshold: u32,
        mss: u16,
        is_safe: bool,
    ) -> u32 {
        let mss = u32::from(mss);
        self.delivered = self.delivered.saturating_add(delivered);
        let may_send = if in_flight > threshold {
            // Proportional: of the bytes delivered, threshold/RecoverFS leave again.
            let product = u64::from(self.delivered) * u64::from(threshold);
            let share = product.div_ceil(u64::from(self.outstanding.max(1)));
            u32::try_from(share).unwrap_or(u32::MAX).saturating_sub(self.sent)
        } else {
            // PRR-CRB: not more than arrives; PRR-SSRB: a segment more if all goes well.
            let bound = self.delivered.saturating_sub(self.sent).max(delivered);
            let bound = if is_safe { bound.saturating_add(mss) } else { bound };
            bound.min(threshold - in_flight)
        };
        // Recovery begins with a retransmission in any case.
        if may_send == 0 && self.sent == 0 { mss } else { may_send }
    }

    /// So many bytes of data left.
    pub fn on_sent(&mut self, bytes: u32) {
        self.sent = self.sent.saturating_add(bytes);
    }
}
