//! The options of an IPv4 header: RFC 791, section 3.1, and the router alert of RFC 2113.

use crate::{Malformed, malformed::split, padding};

/// How many bytes of options a header has room for: RFC 791, section 3.1.
pub const OPTIONS_BYTES_MAX: usize = 40;

/// One option as it was received. Padding is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Option_<'a> {
    /// Each router writes its address into the next free place.
    RecordRoute(Route<'a>),
    /// The packet is to pass these routers, and may pass others. Hosts drop such packets, unless
    /// they have a reason not to: RFC 7126, section 4.3.
    LooseSourceRoute(Route<'a>),
    /// The packet is to pass these routers and no others.
    StrictSourceRoute(Route<'a>),
    /// Each router writes the time: the option's bytes behind kind and length.
    Timestamp(&'a [u8]),
    /// Routers are to look at the packet; 0 is the only value that RFC 2113 has.
    RouterAlert(u16),
    /// An option that is not read here.
    Unknown {
        /// The option's kind. With the highest bit it is copied into all fragments.
        kind: u8,
        /// Its bytes behind kind and length.
        data: &'a [u8],
    },
}

/// The addresses of a route option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route<'a> {
    /// Where the next address is read or written: a number of bytes from the option's first one,
    /// which is 1. It is behind the last address when the route is complete.
    pub pointer: u8,
    /// The places for addresses.
    pub addresses: &'a [[u8; 4]],
}

/// Goes through the options of a received header: see [`ipv4::Packet::options`].
///
/// It ends with the end-of-options kind, with the last byte, or with an error after which the next
/// option cannot be found. As every option has a byte at least, there are at most
/// [`OPTIONS_BYTES_MAX`] of them.
///
/// [`ipv4::Packet::options`]: crate::ipv4::Packet::options
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
    let what = "IPv4 option";
    let &[kind, length, ..] = bytes else {
        return Err(Malformed::Truncated { what, needed: 2, found: bytes.len() });
    };
    let (option, rest) = split(what, bytes, length.into())?;
    // A length of 0 would stay at the same place for ever.
    let data = option.get(2..).ok_or(Malformed::Length {
        what: "IPv4 option length",
        least: 2,
        found: length.into(),
    })?;
    Ok((kind, data, rest))
}

fn wrong(kind: u8, data: &[u8]) -> Malformed {
    // The kind has a byte, and so has the length; both are in one field of the error.
    let length = u8::try_from(data.len() + 2).unwrap_or(u8::MAX);
    let found = u16::from_be_bytes([kind, length]);
    Malformed::Value { what: "IPv4 option kind and length", found }
}

/// The option of this kind with this data; none when the length is not one that the kind has.
fn read(kind: u8, data: &[u8]) -> Option<Option_<'_>> {
    Some(match kind {
        RECORD_ROUTE => Option_::RecordRoute(read_route(data)?),
        LOOSE_SOURCE_ROUTE => Option_::LooseSourceRoute(read_route(data)?),
        STRICT_SOURCE_ROUTE => Option_::StrictSourceRoute(read_route(data)?),
        TIMESTAMP if data.len() >= 2 => Option_::Timestamp(data),
        TIMESTAMP => return None,
        ROUTER_ALERT => Option_::RouterAlert(u16::from_be_bytes(data.try_into().ok()?)),
        kind => Option_::Unknown { kind, data },
    })
}

fn read_route(data: &[u8]) -> Option<Route<'_>> {
    let (&pointer, places) = data.split_first()?;
    let (addresses, []) = places.as_chunks::<4>() else { return None };
    // RFC 791: the smallest pointer is 4, that of the first address.
    (pointer >= 4).then_some(Route { pointer, addresses })
}

// Kinds: https://www.iana.org/assignments/ip-parameters
const RECORD_ROUTE: u8 = 7;
const TIMESTAMP: u8 = 68;
const LOOSE_SOURCE_ROUTE: u8 = 131;
const STRICT_SOURCE_ROUTE: u8 = 137;
const ROUTER_ALERT: u8 = 148;

#[cfg(test)]
mod tests;
