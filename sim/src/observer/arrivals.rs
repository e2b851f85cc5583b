//! What arrived at one end, unharmed.

use portolan_stack::Instant;
use portolan_wire::{
    Seq,
    tcp::{Flags, Repr},
};

use super::ranges::Ranges;
use crate::frame::Segment;

/// What arrived at one end since it began.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// First segments of the other end; which one counts, the end says by acknowledging it.
    pub(super) syns: Vec<Syn>,
    /// All that took sequence numbers, but SYN.
    pub(super) ranges: Ranges,
    /// The highest acknowledgment of what the end sent.
    pub(super) acknowledged: Option<Seq>,
    /// The farthest number that the other end ever offered to take, without it: one for each
    /// number of bits by which windows may turn out to be shifted.
    edges: [Option<Seq>; SHIFTS],
    /// The same, but that an end may take back what it offered: the last word is what counts for
    /// data that was never sent (RFC 9293, section 3.8.6).
    offers: [Option<Seq>; SHIFTS],
    /// The highest number of a segment that offered a window.
    offered_at: Option<Seq>,
    /// What acknowledged nothing that was sent.
    ignored: Vec<Repr>,
    /// The newest of the other end's clock.
    pub(super) clock: Option<u32>,
    /// The other end's FIN arrived.
    pub(super) finished: bool,
    /// A reset arrived.
    pub(super) reset: bool,
    /// The number of the last one.
    pub(super) reset_at: Option<Seq>,
    /// The number of the last SYN, and whether it was newer by its timestamp than all that arrived;
    /// none where that says nothing.
    pub(super) syn_at: Option<(Seq, Option<bool>)>,
    /// When a segment last arrived.
    pub(super) heard_at: Option<Instant>,
}

/// A first segment, and what it offered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Syn {
    pub(super) header: Repr,
}

impl Arrivals {
    /// Takes note of a segment, and says whether it brought anything new. What the end sent goes
    /// from its first number up to the second one.
    pub(super) fn add(
        &mut self,
        segment: &Segment<'_>,
        sent: Option<(Seq, Seq)>,
        expected: Option<Seq>,
        now: Instant,
    ) -> bool {
        let header = segment.packet.repr();
        let is_last_word = self.is_last_word(&header, expected);
        if header.flags.contains(Flags::RST) {
            self.reset = true;
            self.reset_at = Some(header.sequence);
            return false;
        }
        // RST that is not believed is no sign of life.
        self.heard_at = Some(now);
        self.finished |= header.flags.contains(Flags::FIN);
        let mut is_new = false;
        let is_syn = header.flags.contains(Flags::SYN);
        if is_syn {
            let clocks = self.clock.zip(header.options.timestamps);
            let is_newer = clocks
                .filter(|(clock, timestamps)| *clock != timestamps.value)
                .map(|(clock, timestamps)| Seq(clock).before(Seq(timestamps.value)));
            self.syn_at = Some((header.sequence, is_newer));
            let known = self.syns.iter().any(|syn| syn.header.sequence == header.sequence);
            if !known {
                self.syns.truncate(SYNS_MAX);
                self.syns.insert(0, Syn { header });
            }
            is_new |= !known;
        }
        is_new |= self.ranges.insert(header.sequence, segment.packet.sequence_len());
        if let Some(timestamps) = header.options.timestamps {
            let newer = |clock| Seq(clock).before(Seq(timestamps.value));
            if self.clock.is_none_or(newer) {
                self.clock = Some(timestamps.value);
            }
        }
        if header.flags.contains(Flags::ACK) {
            is_new |= self.acknowledge(&header, sent, is_last_word);
        }
        is_new
    }

    /// The end takes up an older first number than its last one: what seemed to acknowledge nothing
    /// may be about that.
    pub(super) fn reconsider(&mut self, sent: (Seq, Seq)) {
        (self.acknowledged, self.edges) = (None, Default::default());
        (self.offers, self.offered_at) = (Default::default(), None);
        for header in std::mem::take(&mut self.ignored) {
            self.acknowledge(&header, Some(sent), false);
        }
    }

    /// Whether the window of this segment, which begins where the `expected` number is, counts for
    /// sure: no other one that arrived can be newer, and nothing speaks against the segment.
    fn is_last_word(&self, header: &Repr, expected: Option<Seq>) -> bool {
        let is_fresh = match (self.clock, header.options.timestamps) {
            (Some(clock), Some(timestamps)) => !Seq(timestamps.value).before(Seq(clock)),
            (clock, _) => clock.is_none(),
        };
        is_fresh
            && header.flags.0 & (Flags::SYN | Flags::RST).0 == 0
            && expected == Some(header.sequence)
            && self.offered_at.is_none_or(|at| header.sequence.at_or_after(at))
            && self.acknowledged.is_none_or(|so_far| header.acknowledgment.at_or_after(so_far))
    }

    fn acknowledge(&mut self, header: &Repr, sent: Option<(Seq, Seq)>, is_last_word: bool) -> bool {
        let is_syn = header.flags.contains(Flags::SYN);
        let Some((first, next)) = sent else { return false };
        let acknowledgment = header.acknowledgment;
        if acknowledgment.distance(first) > next.distance(first) {
            if self.ignored.len() < IGNORED_MAX {
                self.ignored.push(*header);
            }
            return false;
        }
        let is_new = self.acknowledged.is_none_or(|so_far| so_far.before(acknowledgment));
        if is_new {
            self.acknowledged = Some(acknowledgment);
        }
        if self.offered_at.is_none_or(|at| header.sequence.after(at)) {
            self.offered_at = Some(header.sequence);
        }
        let mut reaches_farther = false;
        for ((shift, edge), offer) in (0..).zip(&mut self.edges).zip(&mut self.offers) {
            let window = u32::from(header.window) << if is_syn { 0 } else { shift };
            let reach = acknowledgment + window;
            if is_last_word || offer.is_none_or(|offer| offer.before(reach)) {
                *offer = Some(reach);
            }
            if edge.is_none_or(|edge| edge.before(reach)) {
                *edge = Some(reach);
                reaches_farther = true;
            }
        }
        is_new || reaches_farther
    }

    /// The farthest number that the other end ever offered to take, without it.
    pub(super) fn edge(&self, shift: u8) -> Option<Seq> {
        self.edges.get(usize::from(shift)).copied().flatten()
    }

    /// The end of the window that counts at present.
    pub(super) fn offer(&self, shift: u8) -> Option<Seq> {
        self.offers.get(usize::from(shift)).copied().flatten()
    }
}

/// Old duplicates among them.
const SYNS_MAX: usize = 31;
const IGNORED_MAX: usize = 100;
/// 0 to 14 bits: RFC 7323, section 2.3.
const SHIFTS: usize = 15;
