//! Where packets go next: on-link prefixes, gateways, and routers that advertise themselves.

use core::{
    net::{IpAddr, Ipv6Addr},
    time::Duration,
};

use alloc::vec::Vec;

use super::address::{Addresses, Cidr, is_link_scope};
use crate::Instant;

/// Packets to a network go by a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The network; `0.0.0.0/0` or `::/0` for all that is not nearer.
    pub network: Cidr,
    /// The gateway's address, which is on the link.
    pub gateway: IpAddr,
}

/// All routes: a few, which are gone through.
#[derive(Debug)]
pub struct Routes {
    configured: Vec<Route>,
    routers: Vec<Learnt<Ipv6Addr>>,
    prefixes: Vec<Learnt<Cidr>>,
}

/// What a router advertised, and until when that holds.
#[derive(Clone, Copy, Debug)]
struct Learnt<T> {
    what: T,
    until: Instant,
}

impl Routes {
    /// The routes of the configuration.
    pub fn new(configured: Vec<Route>) -> Self {
        Self { configured, routers: Vec::new(), prefixes: Vec::new() }
    }

    /// The neighbour to whom a packet goes; none without a route. Broadcast and multicast addresses
    /// are their own next hop.
    pub fn next_hop(
        &self,
        destination: IpAddr,
        addresses: &Addresses,
        now: Instant,
    ) -> Option<IpAddr> {
        let is_here = destination.is_multicast()
            || matches!(destination, IpAddr::V4(address) if address.is_broadcast())
            || is_link_scope(destination)
            || addresses.is_on_link(destination)
            || self.prefixes.iter().any(|p| now < p.until && p.what.contains(destination));
        if is_here {
            return Some(destination);
        }
        let fitting = self.configured.iter().filter(|route| route.network.contains(destination));
        // The first of those with the longest prefix.
        let best = fitting.reduce(|best, next| {
            if next.network.prefix_len() > best.network.prefix_len() { next } else { best }
        });
        let learnt = || {
            let valid = self.routers.iter().find(|router| now < router.until);
            valid.filter(|_| destination.is_ipv6()).map(|router| IpAddr::V6(router.what))
        };
        best.map(|route| route.gateway).or_else(learnt)
    }

    /// Whether there is a gateway for IPv6 by configuration.
    pub fn has_gateway_v6(&self) -> bool {
        self.configured.iter().any(|route| route.gateway.is_ipv6())
    }

    /// A router is a default router for so long; no longer one with a lifetime of 0: RFC 4861,
    /// section 6.3.4.
    pub fn learn_router(&mut self, router: Ipv6Addr, lifetime: Duration, now: Instant) {
        learn(&mut self.routers, ROUTERS_MAX, router, lifetime, now);
    }

    /// A prefix is on this link for so long. That of link-local addresses always is.
    pub fn learn_prefix(&mut self, prefix: Cidr, lifetime: Duration, now: Instant) {
        let is_v6 = prefix.address().is_ipv6() && !is_link_scope(prefix.address());
        // A prefix of a few bits would draw all traffic to neighbours that are not there.
        if is_v6 && prefix.prefix_len() >= PREFIX_LEN_MIN {
            learn(&mut self.prefixes, PREFIXES_MAX, prefix, lifetime, now);
        }
    }

    /// A neighbour that was a router is none any more: RFC 4861, section 7.2.5.
    pub fn forget_router(&mut self, router: Ipv6Addr) {
        self.routers.retain(|known| known.what != router);
    }
}

/// Keeps what a router said; when there is no room, what holds longer stays.
fn learn<T: PartialEq>(
    list: &mut Vec<Learnt<T>>,
    limit: usize,
    what: T,
    lifetime: Duration,
    now: Instant,
) {
    list.retain(|known| known.what != what && now < known.until);
    if !lifetime.is_zero() && list.len() < limit {
        list.push(Learnt { what, until: now + lifetime });
    }
}

const ROUTERS_MAX: usize = 8;
const PREFIXES_MAX: usize = 16;
const PREFIX_LEN_MIN: u8 = 16;

#[cfg(test)]
mod tests;
