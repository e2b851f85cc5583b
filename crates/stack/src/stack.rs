//! The type [`Stack`].

use core::{net::IpAddr, time::Duration};

use portolan_wire::ethernet;

use crate::{
    Config, ConfigError, Conflict, Counters, Event, Instant,
    counters::Noted,
    frame::Offloads,
    icmp::{error::Problem, limit::Limiter, mld::Listener},
    ip::{
        address::{self, Addresses},
        carrier::Carrier,
        fragment::Identifications,
        joined::Joined,
        path_mtu::PathMtus,
        reassembly::Reassembly,
        route::Routes,
    },
    keyed::Keyed,
    neighbor::{
        cache::{self, Cache},
        waiting::Waiting,
    },
    outbox::Outbox,
    random::{Keys, Random},
    tcp::Tcp,
    udp::Udp,
};

mod errors;
mod internet;
mod link;
mod programs;
mod solicit;
mod transmit;

/// An internet host with one link.
///
/// It does nothing by itself. Its owner tells it what happens, by [`handle_frame`] and
/// [`handle_timeout`], and what the program wants, by the verbs: [`udp_bind`], [`udp_send`] and the
/// like. After any of these, until each answers none, the owner calls [`poll_event`] and
/// [`poll_transmit`]; then he sleeps until a frame comes, or the moment of [`poll_timeout`]. Events
/// and frames may be polled in any order, and as seldom as he likes: what waits is bounded.
///
/// [`handle_frame`]: Self::handle_frame
/// [`handle_timeout`]: Self::handle_timeout
/// [`udp_bind`]: Self::udp_bind
/// [`udp_send`]: Self::udp_send
/// [`poll_event`]: Self::poll_event
/// [`poll_transmit`]: Self::poll_transmit
/// [`poll_timeout`]: Self::poll_timeout
pub struct Stack {
    mac: ethernet::Address,
    offloads: Offloads,
    counters: Counters,
    addresses: Addresses,
    routes: Routes,
    neighbors: Cache,
    waiting: Waiting,
    outbox: Outbox,
    path_mtus: PathMtus,
    identifications: Identifications,
    reassembly: Reassembly,
    /// A datagram that another stack of this host may own.
    joined: Option<Joined>,
    shares_flows: bool,
    limiter: Limiter,
    groups: Listener,
    udp: Udp,
    tcp: Tcp,
    /// How often routers are still asked for, and when next; none when they are not.
    router_solicitations: Option<(u8, Instant)>,
    /// A conflict that the program was not told yet.
    conflict: Option<Conflict>,
    /// Whether it is this stack that announces the host's addresses.
    speaks: bool,
    discovers_routers: bool,
    /// Whether the last frame was none of TCP.
    message_left: bool,
    /// Whether more may be sent at once, after many segments that had nowhere to go.
    is_interrupted: bool,
}

impl Stack {
    /// A host that has just come onto its link.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] when the configuration contradicts itself.
    pub fn new(config: Config, now: Instant) -> Result<Self, ConfigError> {
        let config = config.complete()?;
        let keys = Keys::new(config.secret);
        let key = |purpose| Keyed::new(&mut Random::new(&keys, purpose));
        let limits = config.limits;
        let addresses = Addresses::new(&config.addresses, config.duplicates, now);
        let groups = addresses.groups().filter(|_| config.speaks);
        let groups = Listener::new(groups, Random::new(&keys, MLD), now);
        let routes = Routes::new(config.routes);
        let has_v6 = config.addresses.iter().any(|cidr| cidr.address().is_ipv6());
        let mut tcp = config.tcp;
        tcp.checksum_offload = config.offloads.checksum;
        tcp.segment_bytes_max = config.offloads.segment_bytes_max;
        let asks = config.discover_routers && has_v6 && !routes.has_gateway_v6();
        Ok(Self {
            mac: ethernet::Address(config.mac),
            offloads: config.offloads,
            counters: Counters::default(),
            addresses,
            routes,
            neighbors: Cache::new(limits.neighbors, key(NEIGHBORS)),
            waiting: Waiting::default(),
            outbox: Outbox::new(limits.outbox_packets, limits.outbox_bytes),
            path_mtus: PathMtus::new(config.mtu, limits.path_mtus, key(PATH_MTUS)),
            identifications: Identifications::new(key(FRAGMENTS)),
            reassembly: Reassembly::new(limits.reassembly_bytes),
            joined: None,
            shares_flows: config.shares_flows,
            limiter: Limiter::new(key(ICMP), Random::new(&keys, ICMP_JITTER)),
            groups,
            udp: Udp::new(
                limits.udp_bindings,
                limits.udp_queue_bytes,
                key(UDP),
                Random::new(&keys, UDP_PORTS),
            ),
            tcp: Tcp::new(tcp, &keys, now),
            router_solicitations: asks.then_some((ROUTER_SOLICITATIONS, now)),
            conflict: None,
            speaks: config.speaks,
            discovers_routers: config.discover_routers,
            message_left: false,
            is_interrupted: false,
        })
    }

    /// Does what is due. Calling it earlier or more often than [`poll_timeout`](Self::poll_timeout)
    /// says is no error.
    pub fn handle_timeout(&mut self, now: Instant) {
        // RFC 4862, section 5.4.2: before it is asked whether another host has the address.
        self.report_groups(now);
        while let Some(action) = self.addresses.pop(now) {
            match action {
                _ if !self.speaks => {}
                address::Action::Probe(address) => self.send_probe(address),
                address::Action::Announce(address) => {
                    self.send_announcement(address);
                    self.groups.address_is_usable(now);
                }
            }
        }
        if let Some((left, at)) = self.router_solicitations
            && now >= at
        {
            let asked = self.send_router_solicitation();
            let left = left - u8::from(asked);
            self.router_solicitations = (left > 0).then_some((left, now + ROUTER_INTERVAL));
        }
        while let Some(action) = self.neighbors.pop(now) {
            match action {
                cache::Action::Solicit { address, hardware } => {
                    self.send_solicitation(address, hardware);
                }
                cache::Action::GiveUp { address } => self.give_up(address, now),
            }
        }
        while let Some(expired) = self.reassembly.expire(now) {
            self.counters.note(Noted::ReassemblyTimeout);
            // RFC 4443, section 3.3: only if the first fragment is there to be quoted.
            if !expired.head.is_empty() {
                let carrier = Carrier { packet: &expired.head, ..expired.carrier };
                self.send_error(&carrier, Problem::Incomplete, now);
            }
        }
        self.tcp.handle_timeout(now);
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called next; none if only a frame or
    /// a verb can bring news.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.is_interrupted {
            return Some(Instant::ZERO);
        }
        let deadlines = [
            self.addresses.deadline(),
            self.router_solicitations.map(|(_, at)| at),
            self.groups.deadline(),
            self.neighbors.deadline(),
            self.reassembly.deadline(),
            self.tcp.poll_timeout(),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// What the program has to know. Call it until there is nothing.
    pub fn poll_event(&mut self) -> Option<Event> {
        if let Some(event) = self.tcp.poll_event() {
            return Some(Event::Tcp(event));
        }
        if let Some(id) = self.udp.poll_event() {
            return Some(Event::Udp(id));
        }
        self.conflict.take().map(Event::AddressConflict)
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The addresses that are in use; those of which it is not sure yet that no other host has them
    /// are not among them.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses.usable()
    }

    /// The largest IP packet in bytes that goes to this address, as far as is known.
    #[must_use]
    pub fn path_mtu(&self, destination: IpAddr, now: Instant) -> u16 {
        self.path_mtus.get(destination, now)
    }

    /// A neighbour does not answer: what waits for it is thrown away, and its senders told.
    fn give_up(&mut self, neighbor: IpAddr, now: Instant) {
        self.counters.note(Noted::NeighborFailed);
        while let Some(message) = self.waiting.take(neighbor) {
            self.fail_message(message, now);
        }
    }
}

/// RFC 4861, section 10.
const ROUTER_SOLICITATIONS: u8 = 3;
const ROUTER_INTERVAL: Duration = Duration::from_secs(4);

// What random numbers are for: see [`Random::new`].
const NEIGHBORS: u64 = 0x100;
const PATH_MTUS: u64 = 0x101;
const FRAGMENTS: u64 = 0x102;
const ICMP: u64 = 0x103;
const ICMP_JITTER: u64 = 0x104;
const UDP: u64 = 0x105;
const UDP_PORTS: u64 = 0x106;
const MLD: u64 = 0x107;
