//! The extension headers of IPv6: RFC 8200, section 4, and authentication: RFC 4302.

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    network_endian::{U16, U32},
};

use crate::{
    Malformed, NoRoom,
    malformed::{split, split_header, write_header},
    protocol,
};

pub mod options;

/// How many extension headers are walked. RFC 8200, section 4.1, lists seven at most.
pub const EXTENSIONS_MAX: usize = 8;

/// What an extension header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension<'a> {
    /// Options for each router on the way, for [`options::Iter::new`].
    HopByHop(&'a [u8]),
    /// Options for the destination, for [`options::Iter::new`].
    DestinationOptions(&'a [u8]),
    /// Addresses to pass.
    Routing(Routing<'a>),
    /// Which part of a packet this is.
    Fragment(Fragment),
    /// An authentication header: its bytes behind the length field, not taken apart.
    Authentication(&'a [u8]),
}

/// What a routing header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routing<'a> {
    /// Its type. Type 0 is not to be followed: RFC 5095.
    pub kind: u8,
    /// How many nodes are still to be passed. A host that does not know the type ignores the header
    /// when it is 0, and discards the packet otherwise: RFC 8200, section 4.4.
    pub segments_left: u8,
    /// What follows, of which the meaning depends on the type: 4 bytes, and 8 more for each word.
    pub data: &'a [u8],
}

/// What a fragment header says: RFC 8200, section 4.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Where the payload belongs in that of the whole packet, in bytes: a multiple of 8.
    pub offset: u16,
    /// Whether other fragments follow. Without it, and with an offset of 0, the packet is whole:
    /// RFC 6946.
    pub more_fragments: bool,
    /// What the fragments of a packet have in common.
    pub identification: u32,
}

/// An extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr<'a> {
    /// What follows it: a number of [`protocol`].
    pub next_header: u8,
    /// What it says.
    pub extension: Extension<'a>,
}

impl<'a> Repr<'a> {
    /// Reads the extension header at the front of `bytes` and what follows it; none when the
    /// protocol is not that of an extension header.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the header is cut, or when it is too short for an authentication header.
    pub fn parse(protocol: u8, bytes: &'a [u8]) -> Result<Option<(Self, &'a [u8])>, Malformed> {
        let (next_header, extension, rest) = match protocol {
            protocol::HOP_BY_HOP => {
                let (next, options, rest) = split_words(bytes)?;
                (next, Extension::HopByHop(options), rest)
            }
            protocol::DESTINATION_OPTIONS => {
                let (next, options, rest) = split_words(bytes)?;
                (next, Extension::DestinationOptions(options), rest)
            }
            protocol::ROUTING => {
                let (next, body, rest) = split_words(bytes)?;
                // It has 6 bytes at least.
                let &[kind, segments_left, ref data @ ..] = body else { return Ok(None) };
                (next, Extension::Routing(Routing { kind, segments_left, data }), rest)
            }
            protocol::AUTHENTICATION => {
                let (next, body, rest) = split_authentication(bytes)?;
                (next, Extension::Authentication(body), rest)
            }
            protocol::FRAGMENT => {
                let (head, rest) = split_header::<FragmentHeader>(WHAT, bytes)?;
                (head.next_header, Extension::Fragment(head.read()), rest)
            }
            _ => return Ok(None),
        };
        Ok(Some((Self { next_header, extension }, rest)))
    }

    /// Which extension header this is, for the field before it: a number of [`protocol`].
    pub const fn protocol(&self) -> u8 {
        match self.extension {
            Extension::HopByHop(_) => protocol::HOP_BY_HOP,
            Extension::DestinationOptions(_) => protocol::DESTINATION_OPTIONS,
            Extension::Routing(_) => protocol::ROUTING,
            Extension::Fragment(_) => protocol::FRAGMENT,
            Extension::Authentication(_) => protocol::AUTHENTICATION,
        }
    }

    /// Length of the header in bytes, with the padding that its end has to have.
    pub const fn header_len(&self) -> usize {
        match self.extension {
            Extension::HopByHop(options) | Extension::DestinationOptions(options) => {
                (2 + options.len()).next_multiple_of(8)
            }
            Extension::Routing(Routing { data, .. }) => (4 + data.len()).next_multiple_of(8),
            Extension::Fragment(_) => size_of::<FragmentHeader>(),
            // RFC 4302, section 3.3.3.2.1: over IPv6, words of 8 bytes too.
            Extension::Authentication(body) => (2 + body.len()).next_multiple_of(8),
        }
    }

    /// Writes the header at the front of the buffer, which has at least
    /// [`header_len`](Self::header_len) bytes.
    ///
    /// # Errors
    ///
    /// [`NoRoom::Buffer`] when it has fewer; [`NoRoom::Field`] when the header is too long, or when
    /// the fragment's offset is no multiple of 8. Nothing is written then.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), NoRoom> {
        let (needed, found) = (self.header_len(), buffer.len());
        let no_room = NoRoom::Buffer { what: WHAT, needed, found };
        let to = buffer.get_mut(..needed).ok_or(no_room)?;
        let next_header = self.next_header;
        match self.extension {
            Extension::Fragment(fragment) => fragment.emit(next_header, to),
            Extension::HopByHop(options) | Extension::DestinationOptions(options) => {
                let body = emit_head(next_header, needed / 8, 1, to)?;
                options::emit_padded(options, body);
                Ok(())
            }
            Extension::Routing(Routing { kind, segments_left, data }) => {
                let body = emit_head(next_header, needed / 8, 1, to)?;
                let bytes = [kind, segments_left].into_iter().chain(data.iter().copied());
                fill(body, bytes);
                Ok(())
            }
            Extension::Authentication(data) => {
                let body = emit_head(next_header, needed / 4, 2, to)?;
                fill(body, data.iter().copied());
                Ok(())
            }
        }
    }
}

impl Fragment {
    fn emit(self, next_header: u8, buffer: &mut [u8]) -> Result<(), NoRoom> {
        if self.offset & !OFFSET != 0 {
            return Err(NoRoom::Field {
                what: "IPv6 fragment offset, a multiple of 8,",
                max: OFFSET.into(),
                found: self.offset.into(),
            });
        }
        let more_fragments = if self.more_fragments { MORE_FRAGMENTS } else { 0 };
        let header = FragmentHeader {
            next_header,
            reserved: 0,
            offset_and_flags: (self.offset | more_fragments).into(),
            identification: self.identification.into(),
        };
        write_header(WHAT, &header, buffer)
    }
}

/// Next header, body, and what follows, of a header that counts words of 8 bytes but the first.
fn split_words(bytes: &[u8]) -> Result<(u8, &[u8], &[u8]), Malformed> {
    let (head, _) = split_header::<Head>(WHAT, bytes)?;
    split_body(head, bytes, (usize::from(head.length) + 1) * 8)
}

/// As [`split_words`]; RFC 4302, section 2.2: it counts words of 4 bytes, minus 2.
fn split_authentication(bytes: &[u8]) -> Result<(u8, &[u8], &[u8]), Malformed> {
    let (head, _) = split_header::<Head>(WHAT, bytes)?;
    let length = (usize::from(head.length) + 2) * 4;
    if length < AUTHENTICATION_BYTES_MIN {
        let (what, least) = ("authentication header length", AUTHENTICATION_BYTES_MIN);
        return Err(Malformed::Length { what, least, found: length });
    }
    split_body(head, bytes, length)
}

fn split_body<'a>(
    head: &Head,
    bytes: &'a [u8],
    length: usize,
) -> Result<(u8, &'a [u8], &'a [u8]), Malformed> {
    let (header, rest) = split(WHAT, bytes, length)?;
    Ok((head.next_header, header.get(size_of::<Head>()..).unwrap_or_default(), rest))
}

/// Writes what such a header begins with; its length field is so many words less than it has.
fn emit_head(
    next_header: u8,
    words: usize,
    minus: usize,
    buffer: &mut [u8],
) -> Result<&mut [u8], NoRoom> {
    let (what, max) = ("words of an IPv6 extension header", usize::from(u8::MAX) + minus);
    let length = words.checked_sub(minus).and_then(|words| u8::try_from(words).ok());
    let length = length.ok_or(NoRoom::Field { what, max, found: words })?;
    write_header(WHAT, &Head { next_header, length }, buffer)?;
    Ok(buffer.get_mut(size_of::<Head>()..).unwrap_or_default())
}

/// Writes the bytes, and zeroes behind them.
fn fill(to: &mut [u8], bytes: impl Iterator<Item = u8>) {
    let bytes = bytes.chain(core::iter::repeat(0));
    to.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
}

/// What every extension header but the fragment header begins with.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Head {
    next_header: u8,
    length: u8,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct FragmentHeader {
    next_header: u8,
    reserved: u8,
    offset_and_flags: U16,
    identification: U32,
}

impl FragmentHeader {
    fn read(&self) -> Fragment {
        let offset_and_flags = self.offset_and_flags.get();
        Fragment {
            offset: offset_and_flags & OFFSET,
            more_fragments: offset_and_flags & MORE_FRAGMENTS != 0,
            identification: self.identification.get(),
        }
    }
}

pub(super) const WHAT: &str = "IPv6 extension header";
/// The offset counts 8 bytes and stands 3 bits to the left, so that it is one in bytes as it is.
const OFFSET: u16 = 0xfff8;
const MORE_FRAGMENTS: u16 = 1;
/// Up to and with the sequence number: RFC 4302, section 2.
const AUTHENTICATION_BYTES_MIN: usize = 12;

#[cfg(test)]
mod tests;
