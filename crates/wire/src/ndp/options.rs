//! The options of neighbour discovery: RFC 4861, section 4.6, on Ethernet (RFC 2464, section 6),
//! and those of RFC 8106.

use core::net::Ipv6Addr;

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    network_endian::{U16, U32},
};

use crate::{Malformed, NoRoom, ethernet::Address, malformed::split};

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Option_<'a> {
    /// The hardware address of the message's sender.
    SourceLinkLayerAddress(Address),
    /// The hardware address of the message's target.
    TargetLinkLayerAddress(Address),
    /// A prefix that is on this link, or from which addresses are made.
    Prefix(Prefix),
    /// The beginning of the packet that caused a redirect, with zeroes behind it.
    RedirectedHeader(&'a [u8]),
    /// The MTU of the link in bytes.
    Mtu(u32),
    /// Servers that resolve names: RFC 8106, section 5.1.
    RecursiveDns {
        /// For how long they may be used, in seconds; all ones for ever, 0 no longer.
        lifetime_s: u32,
        /// Their addresses, for [`Ipv6Addr::from`].
        servers: &'a [[u8; 16]],
    },
    /// An option that is not read here, or one with a length that its kind does not have.
    Unknown {
        /// The option's kind.
        kind: u8,
        /// Its bytes behind kind and length.
        data: &'a [u8],
    },
}

/// What a prefix information option says: RFC 4861, section 4.6.2. Lifetimes are in seconds, and
/// all ones for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The address of which the first bits are the prefix.
    pub prefix: Ipv6Addr,
    /// How many bits are the prefix: 0 to 128, unless the sender is broken.
    pub prefix_len: u8,
    /// Whether addresses with the prefix are on this link; otherwise nothing is said about it.
    pub on_link: bool,
    /// Whether hosts make addresses with the prefix: RFC 4862.
    pub autonomous: bool,
    /// For how long the prefix is on this link and addresses with it are valid.
    pub valid_lifetime_s: u32,
    /// For how long addresses with it are preferred.
    pub preferred_lifetime_s: u32,
}

impl Option_<'_> {
    /// Length of the option in bytes, with its padding: a multiple of 8.
    pub const fn len(&self) -> usize {
        let bytes = match self {
            Self::SourceLinkLayerAddress(_) | Self::TargetLinkLayerAddress(_) | Self::Mtu(_) => 8,
            Self::Prefix(_) => 2 + size_of::<PrefixFields>(),
            Self::RedirectedHeader(packet) => 8 + packet.len(),
            Self::RecursiveDns { servers, .. } => 8 + 16 * servers.len(),
            Self::Unknown { data, .. } => 2 + data.len(),
        };
        bytes.next_multiple_of(8)
    }

    /// Never: an option has 8 bytes at least.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// How many words of 8 bytes it has, for its length field.
    pub(super) fn words(&self) -> Result<u8, NoRoom> {
        let found = self.len();
        let (what, max) = ("length of an NDP option", WORDS_MAX * 8);
        u8::try_from(found / 8).map_err(|_| NoRoom::Field { what, max, found })
    }

    /// Writes the option, which has so many words, at the front of the buffer, which has that room.
    pub(super) fn emit(&self, words: u8, buffer: &mut [u8]) {
        let mut put = |kind: u8, parts: [&[u8]; 2]| {
            let [first, second] = parts.map(|part| part.iter().copied());
            let bytes = [kind, words].into_iter().chain(first).chain(second);
            let bytes = bytes.chain(core::iter::repeat(0));
            buffer.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        };
        match self {
            Self::SourceLinkLayerAddress(address) => put(SOURCE_ADDRESS, [&address.0, &[]]),
            Self::TargetLinkLayerAddress(address) => put(TARGET_ADDRESS, [&address.0, &[]]),
            Self::Prefix(prefix) => put(PREFIX, [PrefixFields::from(prefix).as_bytes(), &[]]),
            Self::RedirectedHeader(packet) => put(REDIRECTED_HEADER, [&[0; 6], packet]),
            Self::Mtu(mtu) => put(MTU, [&[0; 2], &mtu.to_be_bytes()]),
            Self::RecursiveDns { lifetime_s, servers } => {
                let [a, b, c, d] = lifetime_s.to_be_bytes();
                put(RECURSIVE_DNS, [&[0, 0, a, b, c, d], servers.as_flattened()]);
            }
            Self::Unknown { kind, data } => put(*kind, [data, &[]]),
        }
    }
}

/// Goes through the options of a message whose options were checked. As each has 8 bytes at least,
/// their number is bounded by that.
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
    type Item = Option_<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, data, rest) = split_option(self.rest).ok()??;
        self.rest = rest;
        Some(read(kind, data).unwrap_or(Option_::Unknown { kind, data }))
    }
}

/// Whether the options fill the bytes. RFC 4861, section 6.1 and others: a message with an option
/// of length 0 is discarded as a whole.
pub(super) fn check(mut bytes: &[u8]) -> Result<(), Malformed> {
    while let Some((_, _, rest)) = split_option(bytes)? {
        bytes = rest;
    }
    Ok(())
}

/// A kind, the data of that option, and the bytes behind it.
type Split<'a> = (u8, &'a [u8], &'a [u8]);

fn split_option(bytes: &[u8]) -> Result<Option<Split<'_>>, Malformed> {
    let what = "NDP option";
    let (kind, words) = match *bytes {
        [] => return Ok(None),
        [_] => return Err(Malformed::Truncated { what, needed: 2, found: 1 }),
        [kind, words, ..] => (kind, words),
    };
    let (option, rest) = split(what, bytes, usize::from(words) * 8)?;
    let data = option.get(2..).ok_or(Malformed::Length {
        what: "NDP option length",
        least: 8,
        found: 0,
    })?;
    Ok(Some((kind, data, rest)))
}

/// The option of this kind with this data; none when it is not read here, or when the length is not
/// one that the kind has.
fn read(kind: u8, data: &[u8]) -> Option<Option_<'_>> {
    Some(match kind {
        SOURCE_ADDRESS => Option_::SourceLinkLayerAddress(Address(data.try_into().ok()?)),
        TARGET_ADDRESS => Option_::TargetLinkLayerAddress(Address(data.try_into().ok()?)),
        PREFIX => Option_::Prefix(PrefixFields::ref_from_bytes(data).ok()?.into()),
        // RFC 4861, section 4.6.3: an IP header and 8 bytes at least follow, but that is for the
        // reader to find out.
        REDIRECTED_HEADER => Option_::RedirectedHeader(data.get(6..)?),
        MTU => {
            let &[_, _, a, b, c, d] = data else { return None };
            Option_::Mtu(u32::from_be_bytes([a, b, c, d]))
        }
        RECURSIVE_DNS => {
            let &[_, _, a, b, c, d, ref servers @ ..] = data else { return None };
            let (servers, []) = servers.as_chunks::<16>() else { return None };
            // RFC 8106, section 5.3.1: one server at least.
            let _ = servers.first()?;
            Option_::RecursiveDns { lifetime_s: u32::from_be_bytes([a, b, c, d]), servers }
        }
        _ => return None,
    })
}

/// What follows kind and length of a prefix option.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct PrefixFields {
    prefix_len: u8,
    flags: u8,
    valid_lifetime: U32,
    preferred_lifetime: U32,
    reserved: [U16; 2],
    prefix: [u8; 16],
}

impl From<&PrefixFields> for Prefix {
    fn from(fields: &PrefixFields) -> Self {
        Self {
            prefix: fields.prefix.into(),
            prefix_len: fields.prefix_len,
            on_link: fields.flags & ON_LINK != 0,
            autonomous: fields.flags & AUTONOMOUS != 0,
            valid_lifetime_s: fields.valid_lifetime.get(),
            preferred_lifetime_s: fields.preferred_lifetime.get(),
        }
    }
}

impl From<&Prefix> for PrefixFields {
    fn from(prefix: &Prefix) -> Self {
        let on_link = if prefix.on_link { ON_LINK } else { 0 };
        let autonomous = if prefix.autonomous { AUTONOMOUS } else { 0 };
        Self {
            prefix_len: prefix.prefix_len,
            flags: on_link | autonomous,
            valid_lifetime: prefix.valid_lifetime_s.into(),
            preferred_lifetime: prefix.preferred_lifetime_s.into(),
            reserved: [U16::ZERO; 2],
            prefix: prefix.prefix.octets(),
        }
    }
}

/// As many as the length field holds.
const WORDS_MAX: usize = u8::MAX as usize;
const ON_LINK: u8 = 0x80;
const AUTONOMOUS: u8 = 0x40;

// Kinds: https://www.iana.org/assignments/icmpv6-parameters
const SOURCE_ADDRESS: u8 = 1;
const TARGET_ADDRESS: u8 = 2;
const PREFIX: u8 = 3;
const REDIRECTED_HEADER: u8 = 4;
const MTU: u8 = 5;
const RECURSIVE_DNS: u8 = 25;

#[cfg(test)]
mod tests;
