//! A flood of SYNs at a whole stack, over IPv4 and IPv6: T9, RFC 4987.
//!
//! Time goes by in slots of 10 microseconds. In each, the device of the server takes one frame that
//! leaves, and brings one that arrives: without a flood one of the client; with it, in every second
//! slot, a SYN from anywhere. A connection over which the server sends as much as it can fills all
//! slots that leave; the rate that it keeps is the bytes that arrive in as many slots with the
//! flood, by those without it.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use portolan_stack::{
    Checksum, Config, Delivered, Departure, Event, Instant, Route, Stack,
    tcp::{ConnectionId, ListenerId, Ready, State},
};
use portolan_wire::{
    Seq,
    ethernet::{self, Address, EtherType},
    icmpv4, ipv4, ipv6, protocol,
    tcp::{Flags, Options, Repr, Timestamps},
    vlan::Tags,
};

const PORT: u16 = 80;
const BACKLOG: usize = 128;
const SLOT: Duration = Duration::from_micros(10);
/// Names of hosts on the link: also the last octets of their addresses.
const SERVER: u8 = 1;
const CLIENT: u8 = 2;
const ROUTER: u8 = 254;

/// Where the SYNs of the flood seem to come from; or it is one of pings.
#[derive(Clone, Copy, PartialEq)]
enum From {
    FarV4,
    FarV6,
    LinkV6,
    PingV4,
}

impl From {
    fn is_v6(self) -> bool {
        matches!(self, Self::FarV6 | Self::LinkV6)
    }
}

struct World {
    server: Stack,
    client: Stack,
    router: Stack,
    listener: ListenerId,
    now: Instant,
    from: From,
    random: u64,
    buffer: Vec<u8>,
    /// Bytes that arrived at the client.
    bytes: u64,
}

fn mac(host: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, host]
}

fn config(is_v6: bool, host: u8) -> Config {
    let address =
        if is_v6 { format!("2001:db8::{host:x}/64") } else { format!("192.0.2.{host}/24") };
    let mut config = Config::new(mac(host), vec![address.parse().unwrap()], [host; 32]);
    if host == SERVER {
        let (network, gateway) =
            if is_v6 { ("::/0", "2001:db8::fe") } else { ("0.0.0.0/0", "192.0.2.254") };
        let (network, gateway) = (network.parse().unwrap(), gateway.parse().unwrap());
        config.routes = vec![Route { network, gateway }];
    }
    config
}

impl World {
    fn new(from: From) -> Self {
        let now = Instant::from_micros(1_000_000);
        let is_v6 = from.is_v6();
        let stack = |host| Stack::new(config(is_v6, host), now).unwrap();
        let mut server = stack(SERVER);
        let listener = server.tcp().listen(None, PORT, BACKLOG).unwrap();
        Self {
            server,
            client: stack(CLIENT),
            router: stack(ROUTER),
            listener,
            now,
            from,
            random: 1,
            buffer: vec![0; 2_048],
            bytes: 0,
        }
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// A slot of the frames that leave the server.
    fn leave(&mut self) -> bool {
        let Some(Departure { len, .. }) = self.server.poll_transmit(self.now, &mut self.buffer)
        else {
            return false;
        };
        let frame = &self.buffer[..len];
        let bytes = &mut self.bytes;
        for host in [&mut self.client, &mut self.router] {
            host.handle_frame(frame, Checksum::Verified, self.now, &mut |_, data| {
                *bytes += data.len() as u64;
                data.len()
            });
        }
        true
    }

    /// A slot of those that arrive: one of the client, or of the router.
    fn arrive(&mut self) -> bool {
        let Self { client, router, server, buffer, now, .. } = self;
        for host in [router, client] {
            if let Some(Departure { len, .. }) = host.poll_transmit(*now, buffer) {
                server.handle_frame(&buffer[..len], Checksum::Unknown, *now, &mut |_, _| 0);
                return true;
            }
        }
        false
    }

    fn tick(&mut self) {
        self.now += SLOT;
        for host in [&mut self.server, &mut self.client, &mut self.router] {
            if host.poll_timeout().is_some_and(|at| at <= self.now) {
                host.handle_timeout(self.now);
            }
        }
    }

    /// Time goes by in quiet.
    fn rest(&mut self, slots: usize) {
        for _ in 0..slots {
            self.arrive();
            self.leave();
            self.tick();
        }
    }

    fn syn(&mut self) -> Vec<u8> {
        let random = self.random();
        let low = self.random();
        let options = Options {
            mss: Some(1_460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: low as u32, echo: 0 }),
            ..Options::default()
        };
        let repr = Repr {
            source_port: (random >> 32) as u16 | 1,
            destination_port: PORT,
            sequence: Seq((random >> 8) as u32),
            acknowledgment: Seq(0),
            flags: Flags::SYN,
            window: 65_535,
            urgent_pointer: 0,
            options,
        };
        self.frame(repr, random as u32, low)
    }

    /// A frame of the flood.
    fn strange(&mut self) -> Vec<u8> {
        let mut frame = self.syn();
        if self.from == From::PingV4 {
            // The packet of the SYN, but of ICMP, and with a ping in it.
            let start = 14 + 20;
            let echo = icmpv4::Echo { identifier: 1, sequence: 1 };
            frame[start..].fill(0);
            icmpv4::Repr::EchoRequest(echo).emit(&mut frame[start..]).unwrap();
            let header = ipv4::Packet::parse(&frame[14..]).unwrap();
            let header = ipv4::Repr {
                traffic_class: 0,
                identification: 1,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset: 0,
                ttl: 64,
                protocol: protocol::ICMPV4,
                source: header.source(),
                destination: header.destination(),
                options: &[],
                payload_len: frame.len() - start,
            };
            header.emit(&mut frame[14..]).unwrap();
        }
        frame
    }

    fn frame(&self, repr: Repr, network: u32, host: u64) -> Vec<u8> {
        let len = repr.header_len();
        let ethertype = if self.from.is_v6() { EtherType::IPV6 } else { EtherType::IPV4 };
        let (source, destination) = (Address(mac(ROUTER)), Address(mac(SERVER)));
        let link = ethernet::Repr { source, destination, tags: Tags::default(), ethertype };
        let start = link.header_len();
        let mut frame = vec![0; start];
        link.emit(&mut frame).unwrap();
        let (source, destination): (IpAddr, IpAddr) = if !self.from.is_v6() {
            let source = Ipv4Addr::from_bits(11 << 24 | network & 0xff_ffff);
            let header = ipv4::Repr {
                traffic_class: 0,
                identification: 1,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset: 0,
                ttl: 64,
                protocol: protocol::TCP,
                source,
                destination: Ipv4Addr::new(192, 0, 2, SERVER),
                options: &[],
                payload_len: len,
            };
            frame.resize(start + header.header_len(), 0);
            header.emit(&mut frame[start..]).unwrap();
            (source.into(), header.destination.into())
        } else {
            let network = if self.from == From::LinkV6 { 0 } else { 1 + u128::from(network) };
            let source = (0x2001_0db8 << 96) | network << 64 | u128::from(host | 0x1000);
            let header = ipv6::Repr {
                traffic_class: 0,
                flow_label: 0,
                next_header: protocol::TCP,
                hop_limit: 64,
                source: Ipv6Addr::from_bits(source),
                destination: Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(SERVER)),
                payload_len: len,
            };
            frame.resize(start + ipv6::HEADER_BYTES, 0);
            header.emit(&mut frame[start..]).unwrap();
            (header.source.into(), header.destination.into())
        };
        let start = frame.len();
        frame.resize(start + len, 0);
        repr.emit(&mut frame[start..], source, destination).unwrap();
        frame
    }

    fn remote(&self) -> SocketAddr {
        let text = if self.from.is_v6() { "[2001:db8::1]:80" } else { "192.0.2.1:80" };
        text.parse().unwrap()
    }

    /// The next connection that the server can accept.
    fn accept(&mut self) -> Option<ConnectionId> {
        self.server.tcp().accept(self.listener, self.now).unwrap()
    }

    /// Over so many slots, the server sends over `id` all it can. With `is_flooded`, a SYN comes in
    /// every second slot, and in every 50,000th somebody new tries to connect; says who.
    fn run(&mut self, slots: usize, id: ConnectionId, is_flooded: bool) -> Vec<ConnectionId> {
        let data = [7; 16_384];
        let mut newcomers = Vec::new();
        for slot in 0..slots {
            if slot % 8 == 0 {
                self.server.tcp().write(id, &data, self.now).unwrap();
            }
            if is_flooded && slot % 50_000 == 25_000 {
                newcomers.push(self.client.connect(self.remote(), self.now).unwrap());
            }
            if is_flooded && slot % 2 == 0 {
                let strange = self.strange();
                self.server.handle_frame(&strange, Checksum::Unknown, self.now, &mut |_, _| 0);
            } else {
                self.arrive();
            }
            self.leave();
            self.tick();
            while let Some(event) = self.server.poll_event() {
                assert!(!is_closed(&event, id), "the connection has ended");
            }
            while self.client.poll_event().is_some() {}
        }
        newcomers
    }
}

fn is_closed(event: &Event, connection: ConnectionId) -> bool {
    use portolan_stack::tcp::Event::Connection;
    matches!(event, Event::Tcp(Connection { id, ready })
        if *id == connection && ready.contains(Ready::CLOSED))
}

fn flood(from: From, syns: usize) {
    let mut world = World::new(from);
    let there = world.client.connect(world.remote(), world.now).unwrap();
    world.rest(100);
    let here = world.accept().expect("a connection");
    // Another one that is half-open: its SYN with ACK is on its way.
    let slow = world.client.connect(world.remote(), world.now).unwrap();
    assert!(world.arrive() && world.leave());
    let held: Vec<_> = std::iter::from_fn(|| {
        let mut frame = vec![0; 2_048];
        let departure = world.client.poll_transmit(world.now, &mut frame)?;
        frame.truncate(departure.len);
        Some(frame)
    })
    .collect();
    assert_eq!(world.client.tcp().info(slow).unwrap().state, State::Established);
    let slots = 2 * syns;
    let quiet_slots = slots / 10;
    world.run(quiet_slots, here, false);
    let quiet = std::mem::take(&mut world.bytes) * 10;

    let mut newcomers = Vec::new();
    let allocated = allocation_counter::measure(|| {
        newcomers = world.run(slots, here, true);
    });
    let flooded = world.bytes;
    let counters = *world.server.tcp().counters();
    println!(
        "{flooded} bytes arrived, and {quiet} without the flood; {} more bytes of memory; {} \
         cookies left, {} did not",
        allocated.bytes_max, counters.cookies_sent, counters.replies_dropped
    );
    assert!(flooded * 2 >= quiet, "{flooded} of {quiet} bytes");
    // The backlog's connections, the queues that grow once, and what is on its way.
    assert!(allocated.bytes_max < 2 << 20, "{} bytes", allocated.bytes_max);
    assert!(counters.cookies_sent as usize > syns * 9 / 10, "{counters:?}");
    assert!(counters.segments_sent as usize <= 3 * slots);

    // The one that was half-open before is taken without a cookie, and those who came get through.
    world.server.handle_frame(&held[0], Checksum::Unknown, world.now, &mut |_, _| 0);
    let mut accepted: Vec<_> = std::iter::from_fn(|| world.accept()).collect();
    // Of the answers to SYNs, some are lost in the flood; after 1, 3, 7, 15 and 31 seconds they try
    // again.
    let mut waiting: Vec<_> = newcomers.iter().chain([&slow, &there]).collect();
    for _ in 0..60 {
        waiting.retain(|id| world.client.tcp().info(**id).unwrap().state != State::Established);
        if waiting.is_empty() {
            break;
        }
        world.run(100_000, here, true);
        accepted.extend(std::iter::from_fn(|| world.accept()));
    }
    assert!(waiting.is_empty(), "{} never got through", waiting.len());
    assert!(accepted.len() > newcomers.len(), "{} of {}", accepted.len(), newcomers.len());
    assert!(world.server.tcp().counters().cookies_accepted as usize >= newcomers.len());

    // When it is over, nothing is left of it.
    for id in std::iter::once(here).chain(accepted) {
        world.server.tcp().abort(id, world.now).unwrap();
    }
    for _ in 0..100 {
        world.now += Duration::from_secs(1);
        world.rest(500);
        while let Some(id) = world.accept() {
            world.server.tcp().abort(id, world.now).unwrap();
        }
    }
    let tcp = world.server.tcp();
    assert_eq!((tcp.connections(), tcp.timers(), tcp.blocks_in_use()), (0, 0, 0));
}

#[test]
fn t9_half_a_million_syns_over_ipv4() {
    flood(From::FarV4, 500_000);
}

#[test]
fn t9_half_a_million_syns_over_ipv6() {
    flood(From::FarV6, 500_000);
}

/// Each answer to a neighbour who is not there would ask for it: few of them do.
#[test]
fn syns_from_all_over_the_link() {
    flood(From::LinkV6, 100_000);
}

/// What is no segment of TCP leaves by turns with those.
#[test]
fn pings() {
    let mut world = World::new(From::PingV4);
    world.client.connect(world.remote(), world.now).unwrap();
    world.rest(100);
    let here = world.accept().expect("a connection");
    world.run(20_000, here, false);
    let quiet = std::mem::take(&mut world.bytes);
    world.run(20_000, here, true);
    assert!(world.bytes * 2 >= quiet, "{} of {quiet} bytes", world.bytes);
    assert_eq!(world.server.counters().delivered(Delivered::Echo), 10_000);
}
