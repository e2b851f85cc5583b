//! The options of a TCP header: RFC 9293, section 3.2; window scale and timestamps: RFC 7323;
//! selective acknowledgment: RFC 2018; fast open: RFC 7413; signatures: RFC 2385 and RFC 5925; user
//! timeout: RFC 5482.

use core::slice;

use crate::{
    Malformed, NoRoom, Seq,
    malformed::split,
    padding::{self, NO_OPERATION},
};

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
    /// After which time without acknowledgment the sender gives up: the highest bit says minutes
    /// instead of seconds.
    UserTimeout(u16),
    /// An MD5 signature of the segment.
    Md5Signature(&'a [u8; 16]),
    /// A signature of the segment by TCP-AO.
    Authentication {
        /// Which key it was made with.
        key: u8,
        /// Which key the sender wants to get next.
        next_key: u8,
        /// The signature.
        code: &'a [u8],
    },
    /// An option that is not read here.
    Unknown {
        /// The option's kind.
        kind: u8,
        /// Its bytes behind kind and length.
        data: &'a [u8],
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
    count: u8,
}

impl SackBlocks {
    /// Puts a block behind the others; false when there are four already.
    pub fn push(&mut self, block: SackBlock) -> bool {
        let Some(free) = self.blocks.get_mut(usize::from(self.count)) else { return false };
        *free = block;
        self.count += 1;
        true
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[SackBlock] {
        self.blocks.get(..self.count.into()).unwrap_or_default()
    }
}

impl PartialEq for SackBlocks {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for SackBlocks {}

/// A fast open cookie to send: 4 to 16 bytes, an even number, or none to ask for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastOpenCookie {
    /// Zeroes behind the cookie.
    bytes: [u8; FAST_OPEN_BYTES_MAX],
    length: u8,
}

impl FastOpenCookie {
    /// The cookie with these bytes; none when it has a length that RFC 7413, section 4.1.1 does not
    /// have.
    pub fn new(cookie: &[u8]) -> Option<Self> {
        let mut bytes = [0; FAST_OPEN_BYTES_MAX];
        let is_length = matches!(cookie.len(), 0 | 4..) && cookie.len().is_multiple_of(2);
        bytes.get_mut(..cookie.len()).filter(|_| is_length)?.copy_from_slice(cookie);
        Some(Self { bytes, length: u8::try_from(cookie.len()).ok()? })
    }

    /// Its bytes.
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.length.into()).unwrap_or_default()
    }

    /// Writes the option, with its padding behind it.
    fn write(&self, to: &mut Words<'_>) {
        let mut option = [NO_OPERATION; FAST_OPEN_BYTES_MAX + 4];
        let bytes = [FAST_OPEN, self.length + 2].into_iter().chain(self.as_slice().iter().copied());
        option.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        let (words, _) = option.as_chunks::<4>();
        let count = usize::from(self.length + 2).div_ceil(4);
        words.iter().take(count).for_each(|word| to.put(*word));
    }
}

/// Goes through the options of a received header: see [`tcp::Packet::options`].
///
/// It ends with the end-of-options kind, with the last byte, or with an error after which the next
/// option cannot be found. As every option has a byte at least, there are at most
/// [`OPTIONS_BYTES_MAX`] of them.
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
    /// An error that is not the last item is that of an option of a known kind, which has a length
    /// that this kind cannot have.
    type Item = Result<Option_<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(options) = padding::skip(self.rest) else {
            self.rest = &[];
            return None;
        };
        let split = split_option(options);
        self.rest = split.map_or(&[], |(_, _, rest)| rest);
        Some(split.and_then(|(kind, data, _)| read(kind, data).ok_or_else(|| wrong(kind, data))))
    }
}

/// The kind of the option at the front, its data, and the bytes behind it.
fn split_option(bytes: &[u8]) -> Result<(u8, &[u8], &[u8]), Malformed> {
    let what = "TCP option";
    let &[kind, length, ..] = bytes else {
        return Err(Malformed::Truncated { what, needed: 2, found: bytes.len() });
    };
    let (option, rest) = split(what, bytes, length.into())?;
    // A length of 0 would stay at the same place for ever.
    let data = option.get(2..).ok_or(Malformed::OptionLength { kind, found: length })?;
    Ok((kind, data, rest))
}

fn wrong(kind: u8, data: &[u8]) -> Malformed {
    // Within 40 bytes of options.
    let found = u8::try_from(data.len() + 2).unwrap_or(u8::MAX);
    Malformed::OptionLength { kind, found }
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
        USER_TIMEOUT => Option_::UserTimeout(u16::from_be_bytes(data.try_into().ok()?)),
        MD5_SIGNATURE => Option_::Md5Signature(data.try_into().ok()?),
        AUTHENTICATION => {
            let &[key, next_key, ref code @ ..] = data else { return None };
            Option_::Authentication { key, next_key, code }
        }
        kind => Option_::Unknown { kind, data },
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
    /// A fast open cookie, or the wish to have one. In SYN segments only.
    pub fast_open: Option<FastOpenCookie>,
    /// Which data arrived behind a gap.
    pub sack: SackBlocks,
}

impl Options {
    /// Length in bytes of the options with their padding, a multiple of 4.
    pub fn len(&self) -> usize {
        let word = |is_there: bool| if is_there { 4 } else { 0 };
        // Both options share a word where there are timestamps.
        let timestamps = if self.timestamps.is_some() { 12 } else { word(self.sack_permitted) };
        let fast_open =
            self.fast_open.map_or(0, |cookie| (2 + usize::from(cookie.length)).next_multiple_of(4));
        let sack = if self.sack.count == 0 { 0 } else { 4 + 8 * usize::from(self.sack.count) };
        let numbers = word(self.mss.is_some()) + word(self.window_scale.is_some());
        numbers + timestamps + fast_open + sack
    }

    /// Whether there are no options.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What of the received options can be sent. As in Linux (`tcp_parse_options`,
    /// net/ipv4/tcp_input.c) an option whose end is not known hides the ones behind it, and one
    /// that has a wrong length for its kind hides nothing but itself.
    pub(super) fn read(received: Iter<'_>) -> Self {
        let mut options = Self::default();
        // What nearly every segment of a connection has: RFC 7323, appendix A.
        if let &[NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10, ref clocks @ ..] = received.rest
            && let Some(Option_::Timestamps(timestamps)) = read(TIMESTAMPS, clocks)
        {
            options.timestamps = Some(timestamps);
            return options;
        }
        for option in received.filter_map(Result::ok) {
            match option {
                Option_::MaximumSegmentSize(mss) => options.mss = Some(mss),
                Option_::WindowScale(shift) => options.window_scale = Some(shift),
                Option_::SackPermitted => options.sack_permitted = true,
                Option_::Sack(blocks) => options.sack = blocks,
                Option_::Timestamps(timestamps) => options.timestamps = Some(timestamps),
                Option_::FastOpenCookie(cookie) => options.fast_open = FastOpenCookie::new(cookie),
                Option_::UserTimeout(_)
                | Option_::Md5Signature(_)
                | Option_::Authentication { .. }
                | Option_::Unknown { .. } => {}
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
        self.write(&mut Words { free: to.iter_mut() });
        Ok(())
    }

    /// The options in the order and with the padding of Linux (`tcp_options_write`,
    /// net/ipv4/tcp_output.c), so that a probe looks to firewalls as any other client.
    fn write(&self, to: &mut Words<'_>) {
        const PADDING: [u8; 2] = [NO_OPERATION, NO_OPERATION];
        if let Some(mss) = self.mss {
            let [high, low] = mss.to_be_bytes();
            to.put([MAXIMUM_SEGMENT_SIZE, 4, high, low]);
        }
        let [a, b] = if self.sack_permitted { [SACK_PERMITTED, 2] } else { PADDING };
        if let Some(Timestamps { value, echo }) = self.timestamps {
            // The two bytes of the other option take the place of the padding.
            to.put([a, b, TIMESTAMPS, 10]);
            to.put(value.to_be_bytes());
            to.put(echo.to_be_bytes());
        } else if self.sack_permitted {
            to.put([NO_OPERATION, NO_OPERATION, SACK_PERMITTED, 2]);
        }
        if let Some(shift) = self.window_scale {
            to.put([NO_OPERATION, WINDOW_SCALE, 3, shift]);
        }
        if let Some(cookie) = self.fast_open {
            cookie.write(to);
        }
        if self.sack.count > 0 {
            // At most four blocks, so that it is at most 34.
            to.put([NO_OPERATION, NO_OPERATION, SACK, 2 + 8 * self.sack.count]);
        }
        for SackBlock { left: Seq(left), right: Seq(right) } in self.sack.as_slice() {
            to.put(left.to_be_bytes());
            to.put(right.to_be_bytes());
        }
    }
}

/// The words of a header that are still to be written.
struct Words<'a> {
    free: slice::IterMut<'a, [u8; 4]>,
}

impl Words<'_> {
    /// Writes the next one; there is room for each, as their number was compared before.
    fn put(&mut self, word: [u8; 4]) {
        if let Some(free) = self.free.next() {
            *free = word;
        }
    }
}

// Kinds: https://www.iana.org/assignments/tcp-parameters
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MD5_SIGNATURE: u8 = 19;
const USER_TIMEOUT: u8 = 28;
const AUTHENTICATION: u8 = 29;
const FAST_OPEN: u8 = 34;

/// RFC 7413, section 4.1.1.
const FAST_OPEN_BYTES_MAX: usize = 16;

#[cfg(test)]
mod tests;
