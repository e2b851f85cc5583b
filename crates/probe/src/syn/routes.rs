//! How this host would send to a target: from which address, over which link, to which neighbour.
//!
//! The kernel is asked once for each stretch of addresses that no route and no rule divides; what
//! it said holds for [`FRESH`], since routes change.

mod netlink;

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use netlink::{Questions, Table};
use portolan_sys::clock;
use rustix::io::Errno;

/// How long what the kernel said is taken for granted.
const FRESH: Duration = Duration::from_secs(1);

/// Stretches that are remembered; those beyond begin anew.
const STRETCHES_MAX: usize = 4096;

/// The way to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The address that the host sends from.
    pub source: IpAddr,
    /// The link's number.
    pub interface: u32,
    /// Who comes next on the link.
    pub hop: Hop,
    /// It says nothing about other addresses of the stretch.
    pub is_alone: bool,
}

/// Who comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// That is the kernel's to find out, or a link without Ethernet addresses.
    Kernel,
    /// A neighbour whose Ethernet address the kernel knows: a router, or a target of which the
    /// address was set by hand.
    Neighbour([u8; 6]),
    /// The target itself, on an Ethernet link where it can be asked for by ARP.
    OnLink {
        /// The link's own Ethernet address.
        own: [u8; 6],
    },
}

/// What the host's routing says, remembered.
#[derive(Debug)]
pub struct Routes {
    questions: Questions,
    /// What decides about routes; `None` if it cannot be told, or is too much to be told again and
    /// again.
    table: Option<Table>,
    /// By the beginning of the stretch.
    known: HashMap<u128, Result<Route, i32>>,
    /// The last target, which is often the next.
    last: Option<(IpAddr, Result<Route, i32>)>,
    known_at: Duration,
}

impl Routes {
    /// Opens the way to the kernel's routing, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The system call's error.
    pub fn open() -> io::Result<Self> {
        let mut questions = Questions::open()?;
        let (table, known_at) = (questions.table(), clock::coarse());
        if table.as_ref().is_some_and(|table| table.has_port_rules) {
            let what = "rules of this host's routing look at ports (ip rule), which the kernel \
                        does not do for packets that are not its own";
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        let table = table.filter(|table| !table.is_too_large());
        Ok(Self { questions, table, known: HashMap::new(), last: None, known_at })
    }

    /// Whether the kernel sends to a target by the way that it told, whatever a packet holds.
    pub fn is_steady(&self) -> bool {
        self.table.as_ref().is_some_and(|table| !table.branches)
    }

    /// The way to `target`; `errno` if there is none.
    pub fn to(&mut self, target: IpAddr, zone: u32) -> Result<Route, i32> {
        // Nobody connects to many hosts at once (`tcp_v4_connect` in net/ipv4/tcp_ipv4.c).
        if is_group(target) {
            return Err(Errno::NETUNREACH.raw_os_error());
        }
        if clock::coarse().saturating_sub(self.known_at) > FRESH {
            self.refresh();
        }
        if let Some((_, route)) = self.last.filter(|(last, _)| *last == target && zone == 0) {
            return route;
        }
        // A zone says which link it is, whatever the routes say.
        if zone != 0 {
            return self.questions.route(target, zone);
        }
        let stretch = self.stretch(target);
        let route = match self.known.get(&stretch) {
            Some(&route) => route,
            None => self.questions.route(target, 0),
        };
        // What is refused now may be possible when it is asked again.
        let Ok(found) = route else { return route };
        if self.known.len() >= STRETCHES_MAX {
            self.known.clear();
        }
        if !found.is_alone {
            self.known.insert(stretch, route);
        }
        self.last = Some((target, route));
        route
    }

    fn refresh(&mut self) {
        self.known.clear();
        self.last = None;
        if self.table.is_some() {
            self.table = self.questions.table().filter(|table| !table.is_too_large());
        }
        self.known_at = clock::coarse();
    }

    /// Where the stretch begins that `target` lies in.
    fn stretch(&self, target: IpAddr) -> u128 {
        let number = number(target);
        // Among several addresses of IPv6 the source is chosen by the target (RFC 6724).
        let divides = |table: &&Table| !table.branches && target.is_ipv4();
        let Some(Table { edges, .. }) = self.table.as_ref().filter(divides) else { return number };
        let after = edges.partition_point(|&edge| edge <= number);
        after.checked_sub(1).map_or(0, |before| edges[before])
    }
}

/// Whether it stands for several hosts.
fn is_group(target: IpAddr) -> bool {
    target.is_multicast() || target == IpAddr::V4(Ipv4Addr::BROADCAST)
}

/// An address of either family on one line: IPv4 as IPv4-mapped IPv6.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

#[cfg(test)]
mod tests;
