//! The options of hop-by-hop and destination options headers: RFC 8200, section 4.2.

use crate::{Malformed, malformed::split};

/// The router alert of a multicast listener report: RFC 2711, and RFC 3810, section 5.
pub const ROUTER_ALERT_MULTICAST_LISTENER: [u8; 4] = [ROUTER_ALERT, 2, 0, 0];

/// One option as it was received. Padding is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Option_<'a> {
    /// Where the option begins, in bytes from the first one of the extension header, as the pointer
    /// of an ICMPv6 parameter problem needs it.
    pub offset: usize,
    /// The kind of the option.
    pub kind: Kind,
    /// Its bytes behind kind and length.
    pub data: &'a [u8],
}

impl Option_<'_> {
    /// Which packets a router is to look at, if this is its alert: RFC 2711. 0 for those of
    /// multicast listener discovery.
    pub fn router_alert(&self) -> Option<u16> {
        let is_alert = self.kind.0 == ROUTER_ALERT;
        is_alert.then_some(())?;
        Some(u16::from_be_bytes(self.data.try_into().ok()?))
    }
}

/// The kind of an option: <https://www.iana.org/assignments/ipv6-parameters>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind(pub u8);

impl Kind {
    /// What a node does that does not know the option.
    pub const fn unrecognized(self) -> Unrecognized {
        match self.0 >> 6 {
            0 => Unrecognized::Skip,
            1 => Unrecognized::Discard,
            2 => Unrecognized::Report,
            _ => Unrecognized::ReportUnlessMulticast,
        }
    }
}

/// What a node does that does not know an option: the two highest bits of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrecognized {
    /// It skips the option.
    Skip,
    /// It discards the packet.
    Discard,
    /// It discards the packet, and sends an ICMPv6 parameter problem, code 2.
    Report,
    /// The same, but it says nothing if the packet was for a multicast address.
    ReportUnlessMulticast,
}

/// Goes through the options of a header. It ends with the last byte or with an error. As every
/// option has a byte at least, there are at most 2,046 of them; RFC 8504, section 5.3, lets hosts
/// have a limit below that.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    offset: usize,
    rest: &'a [u8],
}

impl<'a> Iter<'a> {
    /// Through what [`Extension::HopByHop`](super::Extension::HopByHop) or
    /// [`Extension::DestinationOptions`](super::Extension::DestinationOptions) holds.
    pub fn new(bytes: &'a [u8]) -> Self {
        // They follow the next header field and the length.
        Self { offset: 2, rest: bytes }
    }
}

impl<'a> Iterator for Iter<'a> {
    /// An error is the last item: what follows a malformed option cannot be found.
    type Item = Result<Option_<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            if let [PAD_1, rest @ ..] = self.rest {
                (self.rest, self.offset) = (rest, self.offset + 1);
                continue;
            }
            let (option, rest) = match split_option(self.rest) {
                Ok(split) => split,
                Err(error) => {
                    self.rest = &[];
                    return Some(Err(error));
                }
            };
            let offset = self.offset;
            (self.rest, self.offset) = (rest, offset + option.len());
            if let &[kind, _, ref data @ ..] = option
                && kind != PAD_N
            {
                return Some(Ok(Option_ { offset, kind: Kind(kind), data }));
            }
        }
    }
}

/// The option at the front, which is not [`PAD_1`], and the bytes behind it.
fn split_option(bytes: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let what = "IPv6 option";
    let &[_, length, ..] = bytes else {
        return Err(Malformed::Truncated { what, needed: 2, found: bytes.len() });
    };
    split(what, bytes, usize::from(length) + 2)
}

/// Writes options, and padding up to the end of the buffer, which is less than 8 bytes longer.
pub(super) fn emit_padded(options: &[u8], buffer: &mut [u8]) {
    let padding = buffer.len().saturating_sub(options.len());
    let head = match padding {
        1 => [PAD_1, 0],
        // The length does not count itself and the kind.
        _ => [PAD_N, u8::try_from(padding.saturating_sub(2)).unwrap_or(u8::MAX)],
    };
    super::fill(buffer, options.iter().copied().chain(head));
}

const PAD_1: u8 = 0;
const PAD_N: u8 = 1;
const ROUTER_ALERT: u8 = 5;

#[cfg(test)]
mod tests;
