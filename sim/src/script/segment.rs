//! Segments in scripts.

use portolan_wire::{
    Seq,
    tcp::{self, Flags},
};

use super::options::{Expected, OptionPattern};

/// A segment: `FLAGS SEQUENCE(LENGTH) [ack NUMBER] [win NUMBER] [urg NUMBER] [<OPTIONS>] [ecn
/// CODE]`.
///
/// - Flags: `S F R P . U E W` (`.` is ACK), or `*`. A segment that is expected may have PSH where
///   the pattern has not.
/// - Numbers count from the first sequence number of their side, as far as there was one, which is
///   0 by that; they may be negative. `=N` is a number as it stands in the header. `*` is any; one
///   that is sent must have a number.
/// - `win`: as it stands in the header. None given: any; 65535 is sent.
/// - Options: see [`OptionPattern`]. None given: any; none are sent. `<>`: there are none. `...` at
///   the end: and perhaps others.
/// - `ecn`: the two bits of the IP header. None given: any; 0 is sent.
/// - `bad-checksum`: of those that are sent.
///
/// Data is the pattern of bytes that its offset in the stream decides, and is compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// None: any.
    pub flags: Option<Flags>,
    /// The first sequence number.
    pub sequence: Number,
    /// The number of bytes of data. None: any.
    pub length: Option<usize>,
    /// The acknowledgment; expected absent or present by the flags.
    pub acknowledgment: Number,
    /// The window. None: any.
    pub window: Option<u16>,
    /// The urgent pointer. None: any; 0 is sent.
    pub urgent: Option<u16>,
    /// The options. None: any; none are sent.
    pub options: Option<Vec<OptionPattern>>,
    /// Whether others may be there too.
    pub and_others: bool,
    /// The two bits of ECN in the IP header.
    pub ecn: Option<u8>,
    /// Whether the checksum is wrong.
    pub is_damaged: bool,
}

/// A sequence number in a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Number {
    /// Any one.
    #[default]
    Any,
    /// From the side's first one.
    Relative(i64),
    /// As it stands in the header.
    Absolute(u32),
}

impl Number {
    /// The number on the wire, of a side that began with this one.
    #[must_use]
    pub fn on_wire(self, first: Option<Seq>) -> Option<Seq> {
        match self {
            Self::Any => None,
            Self::Absolute(number) => Some(Seq(number)),
            Self::Relative(number) => {
                let low = u32::try_from(number & i64::from(u32::MAX)).unwrap_or_default();
                Some(first.unwrap_or_default() + low)
            }
        }
    }
}

/// What the two sides of a connection began with, as far as they did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Firsts {
    /// The stack's first sequence number.
    pub stack: Option<Seq>,
    /// The peer's first sequence number.
    pub peer: Option<Seq>,
    /// What the stack's clock said last.
    pub clock: Option<u32>,
}

impl Pattern {
    /// How this segment of the stack's differs from what is expected; none if it does not.
    pub(super) fn differs(
        &self,
        segment: &tcp::Packet<'_>,
        ecn: u8,
        firsts: Firsts,
    ) -> Option<String> {
        let header = segment.repr();
        if let Some(flags) = self.flags
            && (flags.0 ^ header.flags.0) & !self.ignores() != 0
        {
            return Some(format!("flags {flags:?} expected"));
        }
        // The peer's numbers in acknowledgments, the stack's in sequence numbers.
        let sequence = self.sequence.on_wire(firsts.stack);
        if sequence.is_some_and(|sequence| sequence != header.sequence) {
            return Some(format!("sequence {:?} expected", self.sequence));
        }
        if self.length.is_some_and(|length| length != segment.payload().len()) {
            return Some(format!("{:?} bytes expected", self.length.unwrap_or_default()));
        }
        let acknowledgment = self.acknowledgment.on_wire(firsts.peer);
        if header.flags.contains(Flags::ACK)
            && acknowledgment.is_some_and(|number| number != header.acknowledgment)
        {
            return Some(format!("acknowledgment {:?} expected", self.acknowledgment));
        }
        if let Some(window) = self.window.filter(|&window| window != header.window) {
            return Some(format!("window {window} expected"));
        }
        if let Some(urgent) = self.urgent.filter(|&urgent| urgent != header.urgent_pointer) {
            return Some(format!("urgent pointer {urgent} expected"));
        }
        if let Some(expected) = self.ecn.filter(|&expected| expected != ecn) {
            return Some(format!("ECN {expected:02b} in the IP header expected, not {ecn:02b}"));
        }
        let options = self.options.as_ref()?;
        Expected { options, and_others: self.and_others }.differs(segment, firsts)
    }

    /// PSH matters only where the pattern has it.
    fn ignores(&self) -> u8 {
        match self.flags {
            Some(flags) if flags.contains(Flags::PSH) => 0,
            _ => Flags::PSH.0,
        }
    }
}
