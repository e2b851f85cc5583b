//! One end of a connection: what it sent, and what it may send.

use portolan_stack::Instant;
use portolan_wire::{
    Seq,
    tcp::{Flags, Repr},
};

use super::arrivals::{Arrivals, Syn};
use crate::{
    frame::Segment,
    host::{Numbers, State},
};

/// A rule, and how it was broken.
pub(super) type Broken = (&'static str, String);

/// One end of a connection.
#[derive(Debug, Default)]
pub(super) struct End {
    pub(super) arrived: Arrivals,
    /// A reset arrived for a connection before this one, of which its program may not know yet.
    pub(super) was_reset: bool,
    /// A program of the host has the connection.
    pub(super) is_held: bool,
    /// The host has given the connection up for want of an answer.
    pub(super) has_given_up: bool,
    /// Since when what it sent waits for an acknowledgment that takes something of it.
    pub(super) waits_since: Option<Instant>,
    /// Its own first segment.
    syn: Option<Repr>,
    /// First segments before that one: cookies, of which each may be taken up.
    former: Vec<Repr>,
    /// The other end's first segment, as far as this end acknowledged one.
    accepted: Option<Syn>,
    /// Behind the last sequence number that it sent.
    next: Seq,
    /// Behind its FIN.
    finished: Option<Seq>,
    acknowledged: Option<Seq>,
    /// How far its window reached.
    edge: Option<Seq>,
    clock: Option<u32>,
    /// The other end's clock as it was echoed last: what is older by its own is refused from then
    /// on.
    echoed: Option<Seq>,
}

impl End {
    /// Its first sequence number.
    pub(super) fn first(&self) -> Option<Seq> {
        Some(self.syn?.sequence)
    }

    /// A segment arrived. Whether it brought anything new.
    pub(super) fn gets(&mut self, segment: &Segment<'_>, now: Instant) -> bool {
        let sent = self.syn.map(|syn| (syn.sequence, self.next));
        let first = self.accepted.map(|syn| syn.header.sequence + 1);
        let expected = first.map(|first| self.arrived.ranges.end_of(first));
        self.arrived.add(segment, sent, expected, now)
    }

    /// The end sends this. Whether it brings anything new.
    pub(super) fn sends(&mut self, segment: &Segment<'_>, now: Instant) -> Result<bool, Broken> {
        let header = segment.packet.repr();
        if header.flags.contains(Flags::RST) {
            return self.resets();
        }
        let is_syn = header.flags.contains(Flags::SYN);
        let is_new = if is_syn { self.begins(header)? } else { false };
        if !is_syn {
            self.takes_up(&header);
        }
        if self.syn.is_none() {
            return Err(("handshake", "the first segment is no SYN".into()));
        }
        let acknowledges = header.flags.contains(Flags::ACK);
        if acknowledges && self.accepted.is_none() {
            self.accepts(header.acknowledgment)?;
        }
        self.keeps_order(segment, &header)?;
        self.keeps_sizes(segment, &header)?;
        self.keeps_clock(&header)?;
        if acknowledges {
            self.acknowledges(&header)?;
        } else if !header.flags.contains(Flags::SYN) {
            // RFC 9293, section 3.1: once established it is always sent.
            return Err(("acknowledgment", "there is none".into()));
        }
        let end = header.sequence + segment.packet.sequence_len();
        let advances = end.after(self.next);
        if advances {
            self.next = end;
        }
        if is_new || advances {
            self.waits_since.get_or_insert(now);
        }
        Ok(is_new || advances)
    }

    /// A connection begins by an old duplicate with a cookie, which has the numbers of one that has
    /// ended: what it takes, and how much it offers, is counted anew.
    pub(super) fn begins_anew(&mut self) {
        (self.acknowledged, self.edge) = (None, None);
    }

    /// Whether the end has sent SYN with the number before this one, or with one that a cookie
    /// cannot be told from: it has the length of segments in its last bits.
    pub(super) fn has_begun_before(&self, number: Seq) -> bool {
        let is_it = |syn: &Repr| number.distance(syn.sequence + 1) < COOKIE_LENGTHS;
        self.syn.iter().chain(&self.former).any(is_it)
    }

    /// Whether the wire bears out what the host says of the connection; `is_lossy` if some of what
    /// the host sent never got there.
    pub(super) fn bears_out(&self, numbers: &Numbers, is_lossy: bool) -> Result<(), Broken> {
        use State::{CloseWait, Closing, Established, FinWait1, FinWait2, LastAck, TimeWait};
        let state = numbers.state;
        let is_open = matches!(state, Established | FinWait1 | FinWait2);
        let has_end = matches!(state, CloseWait | Closing | LastAck | TimeWait);
        // Of several cookies, which one was taken up shows with the next segment.
        let Some(accepted) = self.accepted.filter(|_| self.former.is_empty()) else {
            return Ok(());
        };
        if !is_open && !has_end {
            return Ok(());
        }
        let arrived = self.arrived.ranges.end_of(accepted.header.sequence + 1);
        if numbers.rcv_nxt.after(arrived) {
            let what = format!("RCV.NXT is {}, and {arrived} arrived", numbers.rcv_nxt);
            return Err(("numbers", what));
        }
        if has_end && !self.arrived.finished {
            return Err(("state", format!("{state:?}, and no FIN arrived")));
        }
        if is_lossy {
            return Ok(());
        }
        if self.arrived.acknowledged.is_none_or(|number| numbers.snd_una.after(number)) {
            let (una, acknowledged) = (numbers.snd_una, self.arrived.acknowledged);
            return Err(("numbers", format!("SND.UNA is {una}, acknowledged {acknowledged:?}")));
        }
        let is_finished = self.finished == Some(numbers.snd_una);
        if matches!(state, FinWait2 | TimeWait) && !is_finished {
            return Err(("state", format!("{state:?}, and the own FIN is not acknowledged")));
        }
        Ok(())
    }

    /// Whether a segment is older by its timestamp than another one that the end has taken: RFC
    /// 7323, section 5.3. RST has none that counts.
    pub(super) fn is_old(&self, header: &Repr) -> bool {
        let control = Flags::SYN | Flags::RST;
        let clock = header.options.timestamps.map(|timestamps| Seq(timestamps.value));
        let is_older = |clock: Seq| self.echoed.is_some_and(|echoed| clock.before(echoed));
        header.flags.0 & control.0 == 0 && clock.is_some_and(is_older)
    }

    /// Whether the connection may end by the last RST that arrived: RFC 5961, section 3.2.
    pub(super) fn allows_reset(&self, before: &Numbers) -> Result<(), Broken> {
        let expected = before.rcv_nxt;
        if before.state != State::SynSent && self.arrived.reset_at != Some(expected) {
            let what = format!("RST at {:?} is believed, not at {expected}", self.arrived.reset_at);
            return Err(("reset", what));
        }
        Ok(())
    }

    /// Whether TIME-WAIT may end by the last SYN that arrived: RFC 6191, section 2.
    pub(super) fn allows_again(&self, before: &Numbers) -> Result<(), Broken> {
        let Some((sequence, is_newer)) = self.arrived.syn_at else { return Ok(()) };
        if is_newer.unwrap_or_else(|| sequence.after(before.rcv_nxt)) {
            return Ok(());
        }
        Err(("state", format!("TIME-WAIT ends by an old SYN {sequence}")))
    }

    /// Whether both ends' FIN were acknowledged, as far as arrived here.
    pub(super) fn is_through(&self) -> bool {
        self.arrived.finished
            && self.finished.is_some()
            && self.finished == self.arrived.acknowledged
    }

    /// RFC 9293, section 3.5.2: a reset answers what belongs to no connection, or ends one that its
    /// program gave up.
    fn resets(&self) -> Result<bool, Broken> {
        let is_up = self.syn.is_some_and(|syn| {
            self.arrived.acknowledged.is_some_and(|number| number.after(syn.sequence))
        });
        let is_over = self.finished.is_some()
            && self.arrived.acknowledged == self.finished
            && self.arrived.finished;
        let is_there = is_up && self.accepted.is_some() && !is_over && !self.arrived.reset;
        if self.is_held && is_there && !self.has_given_up {
            return Err(("reset", "the program has the connection, and wants it".into()));
        }
        Ok(false)
    }

    /// A first segment, for the first time or again.
    fn begins(&mut self, header: Repr) -> Result<bool, Broken> {
        if self.syn.is_some_and(|syn| syn.sequence == header.sequence) {
            return Ok(false);
        }
        let arrived = std::mem::take(&mut self.arrived);
        let was_reset = self.was_reset || arrived.reset;
        let is_held = self.is_held;
        let mut former = std::mem::take(&mut self.former);
        former.extend(self.syn);
        let next = header.sequence;
        let has_given_up = self.has_given_up;
        *self = Self { is_held, was_reset, has_given_up, former, next, ..Self::default() };
        self.syn = Some(header);
        // What came before its own SYN: the SYN that this one answers.
        self.arrived.syns = arrived.syns;
        self.arrived.clock = arrived.clock.filter(|_| header.flags.contains(Flags::ACK));
        self.arrived.heard_at = arrived.heard_at;
        Ok(true)
    }

    /// A peer may acknowledge an older cookie than the last one.
    fn takes_up(&mut self, header: &Repr) {
        let is_it = |syn: &&Repr| syn.sequence + 1 == header.sequence;
        if !self.syn.iter().any(|syn| is_it(&syn))
            && header.sequence != self.next
            && let Some(syn) = self.former.iter().find(is_it).copied()
        {
            // The last one may still come back.
            self.former.extend(self.syn.replace(syn));
            self.next = header.sequence;
            // What came for it was taken for numbers that were never sent.
            self.arrived.reconsider((syn.sequence, self.next));
        }
    }

    /// Sequence numbers: nothing left out, nothing behind FIN, nothing beyond the window.
    fn keeps_order(&mut self, segment: &Segment<'_>, header: &Repr) -> Result<(), Broken> {
        let length = segment.packet.sequence_len();
        let end = header.sequence + length;
        if header.sequence.after(self.next) {
            let next = std::mem::replace(&mut self.next, end);
            let left_out = header.sequence.distance(next);
            return Err(("sequence", format!("{left_out} numbers before it were never sent")));
        }
        if self.finished.is_some_and(|finished| end.after(finished)) {
            return Err(("finish", "it goes beyond the FIN that was sent before".into()));
        }
        if header.flags.contains(Flags::FIN) {
            if self.finished.is_some_and(|finished| finished != end) || end.before(self.next) {
                return Err(("finish", "there is more than one end".into()));
            }
            self.finished = Some(end);
        }
        if length == 0 || header.flags.contains(Flags::SYN) {
            return Ok(());
        }
        let Some(edge) = self.arrived.edge(self.shifts().1) else {
            return Err(("window", "none was offered yet".into()));
        };
        // One number beyond is a probe of a window that is closed: RFC 9293, section 3.8.6.1.
        if end.after(edge + 1) || end.after(edge) && length > 1 {
            let beyond = end.distance(edge);
            return Err(("window", format!("it goes {beyond} beyond all windows offered")));
        }
        let offer = self.arrived.offer(self.shifts().1).unwrap_or(edge);
        if end.after(self.next) && end.after(offer + 1) {
            let beyond = end.distance(offer);
            return Err(("window", format!("it goes {beyond} beyond a window that shrank")));
        }
        Ok(())
    }

    /// RFC 6691: header options and data fit the other end's MSS.
    fn keeps_sizes(&self, segment: &Segment<'_>, header: &Repr) -> Result<(), Broken> {
        let default = if segment.source.is_ipv4() { 536 } else { 1_220 };
        let offered = self.accepted.map(|syn| syn.header.options.mss.unwrap_or(default));
        let mss = usize::from(offered.unwrap_or(default));
        let bytes = segment.packet.header_len() - 20 + segment.packet.payload().len();
        if !segment.packet.payload().is_empty() && bytes > mss && !header.flags.contains(Flags::SYN)
        {
            return Err(("mss", format!("{bytes} bytes of options and data, {mss} at most")));
        }
        Ok(())
    }

    /// RFC 7323, section 3.2: once agreed on, timestamps are on every segment; the clock goes on.
    fn keeps_clock(&mut self, header: &Repr) -> Result<(), Broken> {
        let offers =
            |header: Option<Repr>| header.is_some_and(|header| header.options.timestamps.is_some());
        let agreed = offers(self.syn) && offers(self.accepted.map(|syn| syn.header));
        let Some(timestamps) = header.options.timestamps else {
            return if agreed { Err(("timestamps", "there are none".into())) } else { Ok(()) };
        };
        // Who answers a SYN without keeping anything has options in his clock's low bits.
        let is_cookie = header.flags.contains(Flags::SYN);
        let is_back = |clock| Seq(timestamps.value).before(Seq(clock));
        if !is_cookie && self.clock.is_some_and(is_back) {
            return Err(("timestamps", "the clock goes back".into()));
        }
        if self.clock.is_none_or(|clock| Seq(clock).before(Seq(timestamps.value))) {
            self.clock = Some(timestamps.value);
        }
        let echo = Seq(timestamps.echo);
        let is_made_up = self.arrived.clock.is_none_or(|clock| echo.after(Seq(clock)));
        if agreed && header.flags.contains(Flags::ACK) && is_made_up {
            return Err(("timestamps", format!("nobody sent the clock {echo} that it echoes")));
        }
        if agreed && !is_cookie && self.echoed.is_none_or(|echoed| echoed.before(echo)) {
            self.echoed = Some(echo);
        }
        Ok(())
    }

    /// Acknowledgments, windows and selective acknowledgments.
    fn acknowledges(&mut self, header: &Repr) -> Result<(), Broken> {
        let number = header.acknowledgment;
        let Some(accepted) = self.accepted else { return Ok(()) };
        if header.flags.contains(Flags::SYN) && self.acknowledged.is_some() {
            // An old duplicate of the peer's SYN gets the same cookie again.
            return Ok(());
        }
        if self.acknowledged.is_some_and(|before| number.before(before)) {
            return Err(("acknowledgment", "it goes back".into()));
        }
        self.acknowledged = Some(number);
        let arrived = self.arrived.ranges.end_of(accepted.header.sequence + 1);
        if number.after(arrived) {
            let early = number.distance(arrived);
            return Err(("acknowledgment", format!("the last {early} numbers never arrived")));
        }
        for block in header.options.sack.as_slice() {
            let is_block = block.left.before(block.right);
            if !is_block || !self.arrived.ranges.holds(block.left, block.right) {
                let (left, right) = (block.left, block.right);
                return Err(("sack", format!("{left} to {right} never arrived")));
            }
        }
        let shift = if header.flags.contains(Flags::SYN) { 0 } else { self.shifts().0 };
        let edge = number + (u32::from(header.window) << shift);
        // RFC 7323, section 2.4: the shift rounds.
        if self.edge.is_some_and(|before| (edge + (1 << shift)).at_or_before(before)) {
            let by = self.edge.unwrap_or_default().distance(edge);
            return Err(("window", format!("its right edge goes back by {by}")));
        }
        if self.edge.is_none_or(|before| edge.after(before)) {
            self.edge = Some(edge);
        }
        Ok(())
    }

    /// Its first acknowledgment is that of a SYN: RFC 9293, section 3.5.
    fn accepts(&mut self, number: Seq) -> Result<(), Broken> {
        let answers = |syn: &&Syn| syn.header.sequence + 1 == number;
        let Some(syn) = self.arrived.syns.iter().find(answers).copied() else {
            return Err(("acknowledgment", "no SYN of this number arrived".into()));
        };
        self.accepted = Some(syn);
        Ok(())
    }

    /// By how many bits its own windows and those of the other end are shifted: RFC 7323, section
    /// 2.2, only if both offered it.
    fn shifts(&self) -> (u8, u8) {
        let own = self.syn.and_then(|syn| syn.options.window_scale);
        let other = self.accepted.and_then(|syn| syn.header.options.window_scale);
        match (own, other) {
            (Some(own), Some(other)) => (own.min(14), other.min(14)),
            _ => (0, 0),
        }
    }
}

/// How many lengths of segments a cookie can stand for.
const COOKIE_LENGTHS: u32 = 4;
