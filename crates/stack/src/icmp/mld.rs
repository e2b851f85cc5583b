//! Multicast listener discovery: a switch or router hears which groups this host is in, and when.
//!
//! The groups are the solicited nodes of its addresses: RFC 4861, section 7.2.1, wants a node in
//! them, and a switch that watches reports forwards no neighbour solicitation to who has sent
//! none. All nodes is never reported (RFC 3810, section 6). No group has sources that are left
//! out, so every record is one of EXCLUDE without sources.

use core::{net::Ipv6Addr, time::Duration};

use alloc::vec::Vec;

use portolan_wire::{
    NoRoom, icmpv6,
    ipv6::extension::{self, Extension, options::ROUTER_ALERT_MULTICAST_LISTENER},
    mld::{ALL_ROUTERS, HOP_LIMIT, Message, Query, RECORD_BYTES, Record, RecordKind, Repr},
    protocol::{HOP_BY_HOP, ICMPV6},
};

use crate::{Instant, ip::output::Header, random::Random};

/// What is to be told now: of version 1, one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    groups: [Ipv6Addr; GROUPS_MAX],
    count: usize,
    version: Version,
    /// Whether this is news, or the answer to a query.
    is_change: bool,
}

/// Which version the routers of this link speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    address: Ipv6Addr,
    /// When it is told.
    at: Option<Instant>,
}

/// The groups of this host, and when they are told.
#[derive(Debug)]
pub struct Listener {
    groups: Vec<Group>,
    /// How often all of them are still told unasked, and when next.
    changes: Option<(u8, Instant)>,
    /// When a query for all of them is answered.
    general_at: Option<Instant>,
    /// Until when a router is taken to speak version 1 alone: RFC 3810, section 8.2.1.
    version_1_until: Instant,
    /// Whether what is told next is news.
    is_change: bool,
    /// Before then nothing is told: who asks without end gets no more answers than others.
    allowed_at: Instant,
    /// Whether a report had no source address: RFC 3590.
    was_anonymous: bool,
    random: Random,
}

impl Listener {
    /// In these groups, some of which may be the same, from now on.
    pub fn new(groups: impl Iterator<Item = Ipv6Addr>, random: Random, now: Instant) -> Self {
        let mut groups: Vec<_> = groups.collect();
        groups.sort_unstable();
        groups.dedup();
        Self {
            changes: (!groups.is_empty()).then_some((ROBUSTNESS, now)),
            groups: groups.into_iter().map(|address| Group { address, at: None }).collect(),
            general_at: None,
            version_1_until: Instant::ZERO,
            is_change: false,
            allowed_at: Instant::ZERO,
            was_anonymous: false,
            random,
        }
    }

    /// There is a link-local address now: what was told without one, which switches alone take, is
    /// told again (RFC 3590, section 4).
    pub fn address_is_usable(&mut self, now: Instant) {
        if core::mem::take(&mut self.was_anonymous) {
            self.changes = Some((ROBUSTNESS, now));
        }
    }

    /// A report goes without a source address.
    pub fn is_anonymous(&mut self) {
        self.was_anonymous = true;
    }

    /// A router asks: RFC 3810, section 6.2; RFC 2710, section 4. Sources are not looked at: who
    /// asks for some learns that all are listened to.
    pub fn handle_query(&mut self, query: &Query<'_>, now: Instant) {
        let longest = Duration::from_millis(query.response_ms().into());
        if query.extended.is_none() {
            if self.version(now) == Version::Two {
                // Section 8.2.1: with the version, all that was to be told changes.
                (self.general_at, self.changes) = (None, None);
                self.groups.iter_mut().for_each(|group| group.at = None);
            }
            self.version_1_until = now + QUERY_INTERVAL * ROBUSTNESS.into() + longest;
        }
        let is_general = query.group.is_unspecified();
        if is_general && query.extended.is_some() {
            let at = now + self.delay(longest);
            self.general_at = Some(self.general_at.map_or(at, |general| general.min(at)));
            return;
        }
        for nth in 0..self.groups.len() {
            let at = now + self.delay(longest);
            let Some(group) = self.groups.get_mut(nth) else { return };
            if is_general || group.address == query.group {
                group.at = Some(group.at.map_or(at, |earlier| earlier.min(at)));
            }
        }
    }

    /// Another host tells, in version 1, that it is in a group: RFC 2710, section 4. There one is
    /// enough.
    pub fn handle_report(&mut self, group: Ipv6Addr, now: Instant) {
        if self.version(now) == Version::One {
            let mut same = self.groups.iter_mut().filter(|own| own.address == group);
            same.by_ref().for_each(|own| own.at = None);
        }
    }

    fn delay(&mut self, longest: Duration) -> Duration {
        let millis = u32::try_from(longest.as_millis()).unwrap_or(u32::MAX);
        Duration::from_millis(self.random.below(millis.saturating_add(1)).into())
    }

    fn version(&self, now: Instant) -> Version {
        if now < self.version_1_until { Version::One } else { Version::Two }
    }

    /// What is to be told now. Call it until there is nothing.
    pub fn pop(&mut self, now: Instant) -> Option<Report> {
        if now < self.allowed_at {
            return None;
        }
        if let Some((left, at)) = self.changes
            && now >= at
        {
            let again = now + self.delay(UNSOLICITED_INTERVAL);
            self.changes = (left > 1).then_some((left - 1, again));
            self.is_change = true;
            self.tell_all(now);
        }
        if self.general_at.is_some_and(|at| now >= at) {
            self.general_at = None;
            self.tell_all(now);
        }
        let version = self.version(now);
        let most = if version == Version::One { 1 } else { GROUPS_MAX };
        let is_due = |group: &&mut Group| group.at.is_some_and(|at| now >= at);
        let mut groups = [Ipv6Addr::UNSPECIFIED; GROUPS_MAX];
        let mut count = 0;
        for (to, group) in groups.iter_mut().zip(self.groups.iter_mut().filter(is_due)).take(most) {
            (*to, group.at) = (group.address, None);
            count += 1;
        }
        if count == 0 {
            return None;
        }
        let is_change = self.is_change;
        if !self.groups.iter().any(|group| group.at.is_some_and(|at| now >= at)) {
            (self.is_change, self.allowed_at) = (false, now + REPORT_INTERVAL);
        }
        Some(Report { groups, count, version, is_change })
    }

    fn tell_all(&mut self, now: Instant) {
        self.groups.iter_mut().for_each(|group| group.at = Some(now));
    }

    /// When something is to be told.
    pub fn deadline(&self) -> Option<Instant> {
        let groups = self.groups.iter().filter_map(|group| group.at);
        let all = groups.chain(self.general_at).chain(self.changes.map(|(_, at)| at));
        all.min().map(|at| at.max(self.allowed_at))
    }
}

impl Report {
    /// Writes the message, with the hop-by-hop options in front of it, into the empty buffer; says
    /// where it goes.
    ///
    /// # Errors
    ///
    /// [`NoRoom`], which cannot be, as the buffer grows.
    pub fn write(&self, source: Ipv6Addr, buffer: &mut Vec<u8>) -> Result<Ipv6Addr, NoRoom> {
        let [first, ..] = self.groups;
        let kind = match self.is_change {
            true => RecordKind::CHANGE_TO_EXCLUDE_MODE,
            false => RecordKind::MODE_IS_EXCLUDE,
        };
        let records = self.groups.map(|group| Record { kind, group, sources: &[] });
        let records = records.get(..self.count).unwrap_or_default();
        let (repr, destination) = match self.version {
            Version::One => (Repr { message: Message::ReportV1(first), records: &[] }, first),
            Version::Two => (Repr { message: Message::Report, records }, ALL_ROUTERS),
        };
        let extension = Extension::HopByHop(&ROUTER_ALERT_MULTICAST_LISTENER);
        let options = extension::Repr { next_header: ICMPV6, extension };
        let options_len = options.header_len();
        buffer.resize(options_len + repr.header_len(), 0);
        options.emit(buffer)?;
        let message = buffer.get_mut(options_len..).unwrap_or_default();
        repr.emit(message, source, destination)?;
        Ok(destination)
    }
}

/// The header of a packet that carries what [`Report::write`] has written.
pub const fn header(source: Ipv6Addr, destination: Ipv6Addr) -> Header {
    Header {
        source: core::net::IpAddr::V6(source),
        destination: core::net::IpAddr::V6(destination),
        protocol: HOP_BY_HOP,
        traffic_class: 0,
        hop_limit: HOP_LIMIT,
        dont_fragment: true,
    }
}

/// Whether messages of this kind belong to multicast listener discovery.
pub const fn is_mld(kind: icmpv6::Kind) -> bool {
    matches!(
        kind,
        icmpv6::Kind::MULTICAST_LISTENER_QUERY
            | icmpv6::Kind::MULTICAST_LISTENER_REPORT
            | icmpv6::Kind::MULTICAST_LISTENER_DONE
            | icmpv6::Kind::MULTICAST_LISTENER_REPORT_V2
    )
}

/// As many records as fit into a packet of 1,280 bytes with its hop-by-hop options.
const GROUPS_MAX: usize = (1_280 - 40 - 8 - icmpv6::HEADER_BYTES) / RECORD_BYTES;
// RFC 3810, sections 9.1, 9.2 and 9.11.
const ROBUSTNESS: u8 = 2;
const QUERY_INTERVAL: Duration = Duration::from_secs(125);
const UNSOLICITED_INTERVAL: Duration = Duration::from_secs(1);
/// No RFC says how often one may be asked. A querier asks once in two minutes, and a few times
/// within a second when somebody leaves a group.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;
