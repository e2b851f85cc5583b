//! The options of a TCP header: RFC 9293, section 3.2; window scale and timestamps: RFC 7323;
//! selective acknowledgment: RFC 2018; fast open: RFC 7413.

use crate::{Malformed, NoRoom, Seq, malformed::split};

/// How many bytes of options a header has room for: RFC 9293, section 3.1.
pub const OPTIONS_BYTES_MAX: usize = 40;

/// How many blocks a selective acknowledgment has room for: RFC 2018, section 3.
pub const SACK_BLOCKS_MAX: usize = 4;

/// One option as it was received. Padding is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Option_<'a> {
    /// The largest segment that the sender takes, in bytes of payload.
    MaximumSegmentSize(u16),
    /// By how many bits the sender shifts the windows that it tells. More than 14 is to be read as
    /// 14: RFC 7323, section 2.3.
    WindowScale(u8),
    /// The sender understands selective acknowledgments.
    SackPermitted,
    /// Which data arrived behind a gap.
    Sack(SackBlocks),
    /// The sender's clock, and an echo of the receiver's.
    Timestamps(Timestamps),
    /// A fast open cookie; empty where it asks for one.
    FastOpenCookie(&'a [u8]),
    /// An option that is not read here.
    Unknown {
        /// The option's kind.
        kind: u8,
    },
}

/// The two clocks of the timestamps option: RFC 7323, section 3.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock (TSval).
    pub value: u32,
    /// The last value that arrived from the other side (TSecr); valid with ACK only.
    pub echo: u32,
}

/// Data that arrived: the first number of it, and the number after its last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// The first sequence number of the block.
    pub left: Seq,
    /// The sequence number behind the block.
    pub right: Seq,
}

/// Up to four blocks, in the order of the option.
#[derive(Clone, Copy, Debug, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; SACK_BLOCKS_MAX],
    count: usize,
}

impl SackBlocks {
    /// Puts a block behind the others; false when there are four already.
    pub fn push(&mut self, block: SackBlock) -> bool {
        let Some(free) = self.blocks.get_mut(self.count) else { return false };
        *free = block;
        self.count += 1;
        true
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[SackBlock] {
        self.blocks.get(..self.count).unwrap_or_default()
    }
}

impl PartialEq for SackBlocks {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for SackBlocks {}

/// Goes through the options of a received header: see [`tcp::Packet::options`].
///
/// It ends with the end-of-options kind, with the last byte, or with an error. As every option has
/// a byte at least, there are at most [`OPTIONS_BYTES_MAX`] of them.
///
/// [`tcp::Packet::options`]: crate::tcp::Packet::options
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    rest: &'a [u8],
}

impl<'a> Iter<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for Iter<'a> {
    /// An error is the last item: what follows a malformed option cannot be found.
    type Item = Result<Option_<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match *self.rest {
                [] | [END, ..] => {
                    self.rest = &[];
                    return None;
                }
                [NO_OPERATION, ref rest @ ..] => self.rest = rest,
                _ => break,
            }
        }
        let item = split_option(self.rest);
        self.rest = item.map_or(&[], |(_, rest)| rest);
        Some(item.map(|(option, _)| option))
    }
}

/// The option at the front, and the bytes behind it.
fn split_option(bytes: &[u8]) -> Result<(Option_<'_>, &[u8]), Malformed> {
    let what = "TCP option";
    let &[kind, length, ..] = bytes else {
        return Err(Malformed::Truncated { what, needed: 2, found: bytes.len() });
    };
    let (option, rest) = split(what, bytes, length.into())?;
    let wrong = Malformed::OptionLength { kind, found: length };
    // A length of 0 would stay at the same place for ever.
    let data = option.get(2..).ok_or(wrong)?;
    read(kind, data).map(|option| (option, rest)).ok_or(wrong)
}

/// The option of this kind with this data; none when the length is not one that the kind has.
fn read(kind: u8, data: &[u8]) -> Option<Option_<'_>> {
    Some(match kind {
        MAXIMUM_SEGMENT_SIZE => {
            Option_::MaximumSegmentSize(u16::from_be_bytes(data.try_into().ok()?))
        }
        WINDOW_SCALE => {
            let &[shift] = data else { return None };
            Option_::WindowScale(shift)
        }
        SACK_PERMITTED => {
            let [] = data else { return None };
            Option_::SackPermitted
        }
        SACK => Option_::Sack(read_sack(data)?),
        TIMESTAMPS => {
            let ([value, echo], []) = data.as_chunks::<4>() else { return None };
            let (value, echo) = (u32::from_be_bytes(*value), u32::from_be_bytes(*echo));
            Option_::Timestamps(Timestamps { value, echo })
        }
        FAST_OPEN => {
            // RFC 7413, section 4.1.1: none, or 4 to 16 bytes, an even number.
            let is_length = matches!(data.len(), 0 | 4..=16) && data.len().is_multiple_of(2);
            is_length.then_some(Option_::FastOpenCookie(data))?
        }
        kind => Option_::Unknown { kind },
    })
}

fn read_sack(data: &[u8]) -> Option<SackBlocks> {
    let (numbers, []) = data.as_chunks::<4>() else { return None };
    let (pairs, []) = numbers.as_chunks::<2>() else { return None };
    let mut blocks = SackBlocks::default();
    for [left, right] in pairs {
        let (left, right) = (u32::from_be_bytes(*left), u32::from_be_bytes(*right));
        if !blocks.push(SackBlock { left: Seq(left), right: Seq(right) }) {
            return None;
        }
    }
    (blocks.count > 0).then_some(blocks)
}

/// The options to send with a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The largest segment that the sender takes, in bytes of payload. In SYN segments only.
    pub mss: Option<u16>,
    /// By how many bits the sender shifts the windows that it tells, 0 to 14. In SYN segments only.
    pub window_scale: Option<u8>,
    /// The sender understands selective acknowledgments. In SYN segments only.
    pub sack_permitted: bool,
    /// The sender's clock, and an echo of the receiver's.
    pub timestamps: Option<Timestamps>,
    /// Which data arrived behind a gap.
    pub sack: SackBlocks,
}

impl Options {
    /// Length in bytes of the options with their padding, a multiple of 4.
    pub fn len(&self) -> usize {
        self.words().count() * 4
    }

    /// Whether there are no options.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What of the received options can be sent. As in Linux (`tcp_parse_options`,
    /// net/ipv4/tcp_input.c) a malformed option hides the ones behind it and no others.
    pub(super) fn read(received: Iter<'_>) -> Self {
        let mut options = Self::default();
        for option in received.map_while(Result::ok) {
            match option {
                Option_::MaximumSegmentSize(mss) => options.mss = Some(mss),
                Option_::WindowScale(shift) => options.window_scale = Some(shift),
                Option_::SackPermitted => options.sack_permitted = true,
                Option_::Sack(blocks) => options.sack = blocks,
                Option_::Timestamps(timestamps) => options.timestamps = Some(timestamps),
                Option_::FastOpenCookie(_) | Option_::Unknown { .. } => {}
            }
        }
        options
    }

    /// Writes the options at the front of the buffer, which has at least [`len`](Self::len) bytes.
    pub(super) fn emit(&self, buffer: &mut [u8]) -> Result<(), NoRoom> {
        let (needed, found) = (self.len(), buffer.len());
        if needed > OPTIONS_BYTES_MAX {
            let what = "length of TCP options";
            return Err(NoRoom::Field { what, max: OPTIONS_BYTES_MAX, found: needed });
        }
        if needed > found {
            return Err(NoRoom::Buffer { what: "TCP options", needed, found });
        }
        let (to, _) = buffer.as_chunks_mut::<4>();
        for (to, word) in to.iter_mut().zip(self.words()) {
            *to = word;
        }
        Ok(())
    }

    /// The options in the order and with the padding of Linux (`tcp_options_write`,
    /// net/ipv4/tcp_output.c), so that a probe looks to firewalls as any other client.
    fn words(&self) -> impl Iterator<Item = [u8; 4]> {
        const PADDING: [u8; 2] = [NO_OPERATION, NO_OPERATION];
        let mss = self.mss.map(|mss| {
            let [high, low] = mss.to_be_bytes();
            [MAXIMUM_SEGMENT_SIZE, 4, high, low]
        });
        // With timestamps, the two bytes of this option take the place of their padding.
        let [a, b] = if self.sack_permitted { [SACK_PERMITTED, 2] } else { PADDING };
        let timestamps = self.timestamps.map(|Timestamps { value, echo }| {
            [[a, b, TIMESTAMPS, 10], value.to_be_bytes(), echo.to_be_bytes()]
        });
        let sack_permitted = (self.sack_permitted && self.timestamps.is_none()).then_some([
            NO_OPERATION,
            NO_OPERATION,
            SACK_PERMITTED,
            2,
        ]);
        let window_scale = self.window_scale.map(|shift| [NO_OPERATION, WINDOW_SCALE, 3, shift]);
        let blocks = self.sack.as_slice();
        // At most four blocks, so that it is at most 34.
        let sack_length = blocks.iter().fold(2, |length, _| length + 8);
        let sack = (!blocks.is_empty()).then_some([NO_OPERATION, NO_OPERATION, SACK, sack_length]);
        let blocks = blocks.iter().flat_map(|block| [block.left, block.right]);
        mss.into_iter()
            .chain(timestamps.into_iter().flatten())
            .chain(sack_permitted)
            .chain(window_scale)
            .chain(sack)
            .chain(blocks.map(|number| number.0.to_be_bytes()))
    }
}

// Kinds: https://www.iana.org/assignments/tcp-parameters
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const FAST_OPEN: u8 = 34;

#[cfg(test)]
mod tests;
