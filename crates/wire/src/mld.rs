//! Multicast listener discovery, the messages of ICMPv6 that tell which groups are listened to:
//! RFC 3810 (version 2), RFC 2710 (version 1).

use core::net::Ipv6Addr;

use crate::{
    Malformed, NoRoom,
    checksum::full,
    icmpv6::{self, Kind},
    ipv6::{
        self,
        extension::{Extension, options},
    },
    malformed::split,
    protocol::ICMPV6,
};

/// The hop limit of every message, which therefore passes no router.
pub const HOP_LIMIT: u8 = 1;

/// To whom reports of version 2 go: RFC 3810, section 5.2.14.
pub const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);

/// What a message says, without its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A router asks who listens.
    Query(Query<'a>),
    /// A host tells, in records, to what it listens.
    Report,
    /// The same of version 1: it listens to this group.
    ReportV1(Ipv6Addr),
    /// Of version 1: it does not listen to this group any more.
    Done(Ipv6Addr),
}

/// What a router asks: RFC 3810, section 5.1; RFC 2710, section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query<'a> {
    /// What only version 2 has; none in a query of version 1.
    pub extended: Option<Extended<'a>>,
    /// The longest time until the answer, as it is encoded: see
    /// [`response_ms`](Self::response_ms).
    pub response_code: u16,
    /// The group that is asked for; the unspecified address for all.
    pub group: Ipv6Addr,
}

/// What a query of version 2 has besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extended<'a> {
    /// Whether routers that hear it leave their timers alone.
    pub suppresses: bool,
    /// How often the querier sends what may be lost: 0 to 7, 0 for more than that.
    pub robustness: u8,
    /// How often it asks, as it is encoded: section 5.1.9.
    pub interval_code: u8,
    /// The sources that it asks for; none if it asks for the group as such.
    pub sources: &'a [[u8; 16]],
}

impl Query<'_> {
    /// The longest time until the answer in milliseconds: section 5.1.3. From 32,768 on the code
    /// is a floating-point number, but in version 1.
    pub const fn response_ms(&self) -> u32 {
        let code = self.response_code as u32;
        if code < 0x8000 || self.extended.is_none() {
            return code;
        }
        let (exponent, mantissa) = (code >> 12 & 7, code & 0x0fff);
        (mantissa | 0x1000) << (exponent + 3)
    }
}

/// What a record says about its group: RFC 3810, section 5.2.12.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RecordKind(pub u8);

impl RecordKind {
    /// The sources alone are listened to: the answer to a query.
    pub const MODE_IS_INCLUDE: Self = Self(1);
    /// All but the sources are listened to: the answer to a query.
    pub const MODE_IS_EXCLUDE: Self = Self(2);
    /// From now on the sources alone are; without any, the host leaves the group.
    pub const CHANGE_TO_INCLUDE_MODE: Self = Self(3);
    /// From now on all but the sources are; without any, the host joins the group.
    pub const CHANGE_TO_EXCLUDE_MODE: Self = Self(4);
    /// From now on the sources are, too.
    pub const ALLOW_NEW_SOURCES: Self = Self(5);
    /// From now on the sources are not.
    pub const BLOCK_OLD_SOURCES: Self = Self(6);
}

/// What a report says about one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// What it says.
    pub kind: RecordKind,
    /// The group.
    pub group: Ipv6Addr,
    /// The sources.
    pub sources: &'a [[u8; 16]],
}

impl Record<'_> {
    /// Length of the record in bytes, without auxiliary data, of which there is none yet.
    pub const fn header_len(&self) -> usize {
        RECORD_BYTES + 16 * self.sources.len()
    }
}

/// A view on a message whose form was checked.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    message: Message<'a>,
    records: &'a [u8],
    count: u16,
}

impl<'a> Packet<'a> {
    /// Reads an ICMPv6 message; neither its checksum nor its carrier is looked at, see
    /// [`check_carrier`](Self::check_carrier).
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the type is no multicast listener discovery, when the message is cut, or
    /// when the length of a query is that of no version (RFC 3810, section 8.1).
    pub fn parse(message: &icmpv6::Packet<'a>) -> Result<Self, Malformed> {
        let [a, b, c, d] = message.rest();
        let (first, second) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let body = message.payload();
        let alone = |message| Self { message, records: &[], count: 0 };
        Ok(match message.kind() {
            Kind::MULTICAST_LISTENER_QUERY => alone(Message::Query(read_query(first, body)?)),
            Kind::MULTICAST_LISTENER_REPORT => {
                alone(Message::ReportV1(split_address("MLD report", body)?.0))
            }
            Kind::MULTICAST_LISTENER_DONE => {
                alone(Message::Done(split_address("MLD done", body)?.0))
            }
            Kind::MULTICAST_LISTENER_REPORT_V2 => {
                let packet = Self { message: Message::Report, records: body, count: second };
                packet.walk().try_for_each(|record| record.map(drop))?;
                packet
            }
            Kind(found) => {
                return Err(Malformed::Value { what: "MLD type", found: found.into() });
            }
        })
    }

    /// What the message says, without its records.
    pub fn message(&self) -> Message<'a> {
        self.message
    }

    /// Goes through the records of a report.
    pub fn records(&self) -> impl Iterator<Item = Record<'a>> + use<'a> {
        // An error would have been found by `parse`.
        self.walk().map_while(Result::ok)
    }

    fn walk(&self) -> impl Iterator<Item = Result<Record<'a>, Malformed>> + use<'a> {
        let mut rest = self.records;
        let mut is_over = false;
        (0..self.count).map_while(move |_| {
            if is_over {
                return None;
            }
            let read = read_record(rest);
            is_over = read.is_err();
            rest = read.as_ref().map_or(&[], |(_, behind)| *behind);
            Some(read.map(|(record, _)| record))
        })
    }

    /// Whether the message may be believed in this packet: RFC 3810, sections 5.1.14, 5.2.13 and
    /// 6.2: it is of this link, and its hop-by-hop options alert routers.
    ///
    /// # Errors
    ///
    /// [`Malformed::Forbidden`], which names the rule.
    pub fn check_carrier(&self, carrier: &ipv6::Packet<'_>) -> Result<(), Malformed> {
        let unless = |holds: bool, what| match holds {
            true => Ok(()),
            false => Err(Malformed::Forbidden { what }),
        };
        let source = carrier.source();
        // RFC 3590: who has no address yet reports all the same.
        let is_anonymous = source.is_unspecified() && !matches!(self.message, Message::Query(_));
        unless(carrier.hop_limit() == HOP_LIMIT, "MLD with a hop limit other than 1")?;
        let what = "MLD from an address that is not link-local";
        unless(source.is_unicast_link_local() || is_anonymous, what)?;
        unless(alerts_routers(carrier), "MLD without a router alert")
    }
}

fn alerts_routers(carrier: &ipv6::Packet<'_>) -> bool {
    let mut headers = carrier.extensions().map_while(Result::ok);
    headers.any(|located| match located.header.extension {
        Extension::HopByHop(bytes) => {
            let mut options = options::Iter::new(bytes).map_while(Result::ok);
            options.any(|option| option.router_alert() == Some(0))
        }
        _ => false,
    })
}

/// A message with its records, which only a report has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr<'a> {
    /// What it says.
    pub message: Message<'a>,
    /// The records.
    pub records: &'a [Record<'a>],
}

impl Repr<'_> {
    /// Length of the message in bytes: the ICMPv6 header and what follows it.
    pub fn header_len(&self) -> usize {
        let body = match self.message {
            Message::Query(Query { extended: Some(extended), .. }) => {
                EXTENDED_BYTES + 16 * extended.sources.len()
            }
            Message::Report => self.records.iter().map(Record::header_len).sum(),
            Message::Query(_) | Message::ReportV1(_) | Message::Done(_) => 16,
        };
        icmpv6::HEADER_BYTES + body
    }

    /// Writes the message, with its checksum, at the front of the buffer, which has at least
    /// [`header_len`](Self::header_len) bytes.
    ///
    /// # Errors
    ///
    /// [`NoRoom::Buffer`] when it has fewer, [`NoRoom::Field`] when there are more than 65,535
    /// records or sources; nothing is written then.
    pub fn emit(
        &self,
        buffer: &mut [u8],
        source: Ipv6Addr,
        destination: Ipv6Addr,
    ) -> Result<(), NoRoom> {
        let (needed, found) = (self.header_len(), buffer.len());
        let no_room = NoRoom::Buffer { what: "MLD message", needed, found };
        let (kind, rest) = self.head()?;
        for record in self.records {
            count("sources of an MLD record", record.sources.len())?;
        }
        let buffer = buffer.get_mut(..needed).ok_or(no_room)?;
        let bytes = [kind.0, 0, 0, 0].into_iter().chain(rest);
        let mut to = buffer.iter_mut();
        let mut put = |bytes: &mut dyn Iterator<Item = u8>| {
            // In this order: the shorter one is asked first, and no place is lost.
            bytes.zip(to.by_ref()).for_each(|(byte, to)| *to = byte);
        };
        put(&mut bytes.into_iter());
        match self.message {
            Message::Query(Query { extended, group, .. }) => {
                put(&mut group.octets().into_iter());
                if let Some(extended) = extended {
                    let [high, low] = count("sources", extended.sources.len())?.to_be_bytes();
                    let suppresses = if extended.suppresses { SUPPRESSES } else { 0 };
                    let flags = suppresses | extended.robustness & ROBUSTNESS;
                    put(&mut [flags, extended.interval_code, high, low].into_iter());
                    put(&mut extended.sources.iter().flatten().copied());
                }
            }
            Message::ReportV1(group) | Message::Done(group) => {
                put(&mut group.octets().into_iter());
            }
            Message::Report => {
                for Record { kind, group, sources } in self.records {
                    let [high, low] = count("sources", sources.len())?.to_be_bytes();
                    put(&mut [kind.0, 0, high, low].into_iter());
                    put(&mut group.octets().into_iter());
                    put(&mut sources.iter().flatten().copied());
                }
            }
        }
        let checksum = full(buffer, ICMPV6, source.into(), destination.into());
        if let Some(field) = buffer.get_mut(2..4) {
            field.copy_from_slice(&checksum.to_be_bytes());
        }
        Ok(())
    }

    /// The type, and the word behind the checksum.
    fn head(&self) -> Result<(Kind, [u8; 4]), NoRoom> {
        Ok(match self.message {
            Message::Query(query) => {
                if let Some(extended) = query.extended {
                    count("sources of an MLD query", extended.sources.len())?;
                }
                let [high, low] = query.response_code.to_be_bytes();
                (Kind::MULTICAST_LISTENER_QUERY, [high, low, 0, 0])
            }
            Message::Report => {
                let [high, low] =
                    count("records of an MLD report", self.records.len())?.to_be_bytes();
                (Kind::MULTICAST_LISTENER_REPORT_V2, [0, 0, high, low])
            }
            Message::ReportV1(_) => (Kind::MULTICAST_LISTENER_REPORT, [0; 4]),
            Message::Done(_) => (Kind::MULTICAST_LISTENER_DONE, [0; 4]),
        })
    }
}

fn count(what: &'static str, found: usize) -> Result<u16, NoRoom> {
    u16::try_from(found).map_err(|_| NoRoom::Field { what, max: u16::MAX.into(), found })
}

/// RFC 3810, section 8.1: the version shows in the length.
fn read_query(response_code: u16, body: &[u8]) -> Result<Query<'_>, Malformed> {
    let (group, behind) = split_address("MLD query", body)?;
    if behind.is_empty() {
        return Ok(Query { extended: None, response_code, group });
    }
    let (head, behind) = split("MLD query", behind, EXTENDED_BYTES - 16)?;
    let &[flags, interval_code, high, low] = head else {
        return Err(Malformed::Truncated { what: "MLD query", needed: 4, found: head.len() });
    };
    let (sources, _) = split_sources(behind, u16::from_be_bytes([high, low]))?;
    let extended = Extended {
        suppresses: flags & SUPPRESSES != 0,
        robustness: flags & ROBUSTNESS,
        interval_code,
        sources,
    };
    Ok(Query { extended: Some(extended), response_code, group })
}

fn read_record(bytes: &[u8]) -> Result<(Record<'_>, &[u8]), Malformed> {
    let (head, rest) = split(RECORD, bytes, 4)?;
    let &[kind, auxiliary, high, low] = head else {
        return Err(Malformed::Truncated { what: RECORD, needed: 4, found: head.len() });
    };
    let (group, rest) = split_address(RECORD, rest)?;
    let (sources, rest) = split_sources(rest, u16::from_be_bytes([high, low]))?;
    // Section 5.2.6: in words of 4 bytes; section 5.2.11: it is skipped.
    let (_, rest) = split(RECORD, rest, usize::from(auxiliary) * 4)?;
    Ok((Record { kind: RecordKind(kind), group, sources }, rest))
}

fn split_sources(bytes: &[u8], count: u16) -> Result<(&[[u8; 16]], &[u8]), Malformed> {
    let (sources, rest) = split("MLD sources", bytes, usize::from(count) * 16)?;
    Ok((sources.as_chunks().0, rest))
}

fn split_address<'a>(
    what: &'static str,
    bytes: &'a [u8],
) -> Result<(Ipv6Addr, &'a [u8]), Malformed> {
    let (address, rest) = split(what, bytes, 16)?;
    let octets = address.first_chunk().copied().unwrap_or_default();
    Ok((Ipv6Addr::from_octets(octets), rest))
}

const RECORD: &str = "MLD record";
/// A record without sources.
pub const RECORD_BYTES: usize = 20;
/// A query of version 2 without sources, behind the ICMPv6 header.
const EXTENDED_BYTES: usize = 20;
const SUPPRESSES: u8 = 0x08;
const ROBUSTNESS: u8 = 0x07;

#[cfg(test)]
mod tests;
