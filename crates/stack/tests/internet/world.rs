//! A stack, a clock, and a neighbour whose frames are made by hand.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use portolan_stack::{Checksum, Config, Counters, Delivered, Dropped, Instant, Stack, Unsent};
use portolan_wire::{
    arp,
    ethernet::{self, Address, EtherType},
    icmpv4, icmpv6, ipv4, ipv6,
    ndp::{self, HOP_LIMIT, Option_},
    protocol, udp,
    vlan::Tags,
};

pub const MAC: Address = Address([2, 0, 0, 0, 0, 1]);
pub const PEER_MAC: Address = Address([2, 0, 0, 0, 0, 2]);
pub const V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const PEER_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
pub const GATEWAY_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 254);
pub const FAR_V4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
pub const V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
pub const PEER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);
pub const GATEWAY_V6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xfe);
pub const FAR_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 7);
/// What EUI-64 makes of [`MAC`].
pub const LOCAL_V6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, 1);

pub struct World {
    pub stack: Stack,
    pub now: Instant,
    /// Reports of multicast listener discovery that left: most tests are not about them.
    pub reports: Vec<Vec<u8>>,
}

pub fn config() -> Config {
    let addresses = ["192.0.2.1/24", "2001:db8::1/64"].map(|text| text.parse().unwrap());
    let mut config = Config::new(MAC.0, addresses.to_vec(), [7; 32]);
    config.routes = vec![
        portolan_stack::Route { network: "0.0.0.0/0".parse().unwrap(), gateway: GATEWAY_V4.into() },
        portolan_stack::Route { network: "::/0".parse().unwrap(), gateway: GATEWAY_V6.into() },
    ];
    config
}

impl World {
    /// A stack that has announced its addresses.
    pub fn new() -> Self {
        Self::with(config())
    }

    pub fn with(config: Config) -> Self {
        let mut world = Self::fresh(config);
        for _ in 0..4 {
            world.after(Duration::from_secs(2));
            world.drain();
        }
        world
    }

    /// One that has not done anything yet.
    pub fn fresh(config: Config) -> Self {
        let now = Instant::from_micros(1_000_000);
        let stack = Stack::new(config, now).expect("a good configuration");
        Self { stack, now, reports: Vec::new() }
    }

    /// One that knows its neighbours.
    pub fn acquainted() -> Self {
        let mut world = Self::new();
        world.introduce();
        world
    }

    pub fn introduce(&mut self) {
        for (address, mac) in [(PEER_V4, PEER_MAC), (GATEWAY_V4, PEER_MAC)] {
            self.hear(&arp_frame(request(address, mac, V4)));
        }
        for (address, target) in [(PEER_V6, V6), (GATEWAY_V6, LOCAL_V6)] {
            self.hear(&solicitation(address, target, Some(PEER_MAC)));
        }
        assert_eq!(self.drain().len(), 4, "four answers");
        // Those that were answered over IPv6 are asked whether they are still there.
        self.after(Duration::from_secs(5));
        assert_eq!(self.drain().len(), 2, "two questions");
        self.hear(&advertisement(PEER_V6, PEER_MAC, V6));
        self.hear(&advertisement(GATEWAY_V6, PEER_MAC, LOCAL_V6));
        assert_eq!(self.stack.poll_timeout(), None);
    }

    /// The neighbours are heard of again, whatever else leaves meanwhile.
    pub fn introduce_again(&mut self) {
        self.hear(&arp_frame(request(PEER_V4, PEER_MAC, V4)));
        self.hear(&solicitation(PEER_V6, V6, Some(PEER_MAC)));
        self.drain();
    }

    pub fn hear(&mut self, frame: &[u8]) {
        self.stack.handle_frame(frame, Checksum::Unknown, self.now, &mut |_, data| data.len());
    }

    /// The frames that leave now.
    pub fn drain(&mut self) -> Vec<Vec<u8>> {
        let mut buffer = vec![0xaa; 1_514];
        let mut frames = Vec::new();
        while let Some(departure) = self.stack.poll_transmit(self.now, &mut buffer) {
            let frame = buffer[..departure.len].to_vec();
            match frame[12..14] == [0x86, 0xdd] && frame[20] == protocol::HOP_BY_HOP {
                true => self.reports.push(frame),
                false => frames.push(frame),
            }
            assert!(frames.len() < 10_000, "it never ends");
        }
        frames
    }

    /// Hears the frame, and says what leaves for it.
    pub fn answers(&mut self, frame: &[u8]) -> Vec<Vec<u8>> {
        self.hear(frame);
        self.drain()
    }

    /// The one frame that leaves for this one.
    pub fn answer(&mut self, frame: &[u8]) -> Vec<u8> {
        let mut answers = self.answers(frame);
        assert_eq!(answers.len(), 1, "one answer; {:?}", self.reasons());
        answers.remove(0)
    }

    /// Nothing leaves for it, and it is dropped for this.
    pub fn drops(&mut self, frame: &[u8], reason: Dropped) {
        let before = self.stack.counters().dropped(reason);
        let answers = self.answers(frame);
        let after = self.stack.counters().dropped(reason);
        assert_eq!(after, before + 1, "{reason:?}; {:?}", self.reasons());
        assert!(answers.is_empty(), "{answers:02x?}");
    }

    pub fn after(&mut self, time: Duration) {
        self.now += time;
        self.stack.handle_timeout(self.now);
    }

    pub fn counters(&self) -> &Counters {
        self.stack.counters()
    }

    pub fn delivered(&self, how: Delivered) -> u64 {
        self.counters().delivered(how)
    }

    pub fn dropped(&self, reason: Dropped) -> u64 {
        self.counters().dropped(reason)
    }

    pub fn unsent(&self, reason: Unsent) -> u64 {
        self.counters().unsent(reason)
    }

    /// What is not 0.
    pub fn reasons(&self) -> Vec<(&'static str, &'static str, u64)> {
        self.counters().iter().filter(|(.., count)| *count > 0).collect()
    }
}

pub fn ethernet(destination: Address, ethertype: EtherType, payload: &[u8]) -> Vec<u8> {
    let repr = ethernet::Repr { source: PEER_MAC, destination, tags: Tags::default(), ethertype };
    let mut frame = vec![0; repr.header_len()];
    repr.emit(&mut frame).unwrap();
    frame.extend_from_slice(payload);
    frame
}

pub fn request(sender: Ipv4Addr, mac: Address, target: Ipv4Addr) -> arp::Repr {
    arp::Repr {
        operation: arp::Operation::Request,
        sender_hardware: mac,
        sender_protocol: sender,
        target_hardware: Address::default(),
        target_protocol: target,
    }
}

pub fn arp_frame(repr: arp::Repr) -> Vec<u8> {
    let mut packet = vec![0; repr.header_len()];
    repr.emit(&mut packet).unwrap();
    ethernet(Address::BROADCAST, EtherType::ARP, &packet)
}

pub fn ndp_frame(
    message: ndp::Message,
    options: &[Option_<'_>],
    source: Ipv6Addr,
    destination: Ipv6Addr,
) -> Vec<u8> {
    let repr = ndp::Repr { message, options };
    let mut bytes = vec![0; repr.header_len()];
    repr.emit(&mut bytes, source, destination).unwrap();
    let header = ipv6::Repr { hop_limit: HOP_LIMIT, ..v6_header(source, destination) };
    let packet = v6_packet(header, protocol::ICMPV6, &bytes);
    let mac = if destination.is_multicast() { Address::of_multicast_v6(destination) } else { MAC };
    ethernet(mac, EtherType::IPV6, &packet)
}

pub fn solicitation(source: Ipv6Addr, target: Ipv6Addr, mac: Option<Address>) -> Vec<u8> {
    let option = mac.map(Option_::SourceLinkLayerAddress);
    let message = ndp::Message::NeighborSolicitation { target };
    ndp_frame(message, option.as_slice(), source, ndp::solicited_node(target))
}

pub fn advertisement(target: Ipv6Addr, mac: Address, destination: Ipv6Addr) -> Vec<u8> {
    let said = ndp::NeighborAdvertisement {
        target,
        is_router: false,
        is_solicited: !destination.is_multicast(),
        overrides: true,
    };
    let option = Option_::TargetLinkLayerAddress(mac);
    ndp_frame(ndp::Message::NeighborAdvertisement(said), &[option], target, destination)
}

pub fn v4_header(source: Ipv4Addr, destination: Ipv4Addr) -> ipv4::Repr<'static> {
    ipv4::Repr {
        traffic_class: 0,
        identification: 1,
        dont_fragment: false,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: protocol::UDP,
        source,
        destination,
        options: &[],
        payload_len: 0,
    }
}

pub fn v4_packet(header: ipv4::Repr<'_>, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let repr = ipv4::Repr { protocol, payload_len: payload.len(), ..header };
    let mut packet = vec![0; repr.header_len()];
    repr.emit(&mut packet).unwrap();
    packet.extend_from_slice(payload);
    packet
}

pub fn v4_frame(header: ipv4::Repr<'_>, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mac = if header.destination.is_broadcast() { Address::BROADCAST } else { MAC };
    ethernet(mac, EtherType::IPV4, &v4_packet(header, protocol, payload))
}

pub fn v6_header(source: Ipv6Addr, destination: Ipv6Addr) -> ipv6::Repr {
    ipv6::Repr {
        traffic_class: 0,
        flow_label: 0,
        next_header: protocol::UDP,
        hop_limit: 64,
        source,
        destination,
        payload_len: 0,
    }
}

pub fn v6_packet(header: ipv6::Repr, next_header: u8, payload: &[u8]) -> Vec<u8> {
    let repr = ipv6::Repr { next_header, payload_len: payload.len(), ..header };
    let mut packet = vec![0; repr.header_len()];
    repr.emit(&mut packet).unwrap();
    packet.extend_from_slice(payload);
    packet
}

pub fn v6_frame(header: ipv6::Repr, next_header: u8, payload: &[u8]) -> Vec<u8> {
    let to = header.destination;
    let mac = if to.is_multicast() { Address::of_multicast_v6(to) } else { MAC };
    ethernet(mac, EtherType::IPV6, &v6_packet(header, next_header, payload))
}

pub fn datagram(source: IpAddr, destination: IpAddr, port: u16, payload: &[u8]) -> Vec<u8> {
    let repr = udp::Repr { source_port: 4_000, destination_port: port };
    let mut bytes = vec![0; repr.header_len()];
    bytes.extend_from_slice(payload);
    repr.emit(&mut bytes, source, destination).unwrap();
    bytes
}

pub const ECHO: icmpv4::Echo = icmpv4::Echo { identifier: 0x1234, sequence: 7 };

pub fn ping_v4(data: &[u8]) -> Vec<u8> {
    let mut bytes = [&[0; icmpv4::HEADER_BYTES], data].concat();
    icmpv4::Repr::EchoRequest(ECHO).emit(&mut bytes).unwrap();
    bytes
}

pub fn ping_v6(source: Ipv6Addr, destination: Ipv6Addr, data: &[u8]) -> Vec<u8> {
    let mut bytes = [&[0; icmpv6::HEADER_BYTES], data].concat();
    icmpv6::Repr::EchoRequest(ECHO).emit(&mut bytes, source, destination).unwrap();
    bytes
}

/// A frame of IPv4 that left, checked.
pub fn read_v4(frame: &[u8]) -> (ethernet::Packet<'_>, ipv4::Packet<'_>) {
    let frame = ethernet::Packet::parse(frame).unwrap();
    assert_eq!(frame.source(), MAC);
    assert_eq!(frame.ethertype(), EtherType::IPV4);
    let packet = ipv4::Packet::parse(frame.payload()).unwrap();
    assert!(packet.checksum_is_right());
    (frame, packet)
}

/// A frame of IPv6 that left.
pub fn read_v6(frame: &[u8]) -> (ethernet::Packet<'_>, ipv6::Packet<'_>) {
    let frame = ethernet::Packet::parse(frame).unwrap();
    assert_eq!(frame.source(), MAC);
    assert_eq!(frame.ethertype(), EtherType::IPV6);
    (frame, ipv6::Packet::parse(frame.payload()).unwrap())
}

/// The message of ICMP for IPv4 in a frame that left.
pub fn read_icmp_v4(frame: &[u8]) -> icmpv4::Packet<'_> {
    let (_, packet) = read_v4(frame);
    assert_eq!(packet.protocol(), protocol::ICMPV4);
    let message = icmpv4::Packet::parse(packet.payload()).unwrap();
    assert!(message.checksum_is_right());
    message
}

/// The message of ICMPv6 in a frame that left.
pub fn read_icmp_v6(frame: &[u8]) -> icmpv6::Packet<'_> {
    let (_, packet) = read_v6(frame);
    let upper = packet.upper_layer().unwrap();
    assert_eq!(upper.protocol, protocol::ICMPV6);
    let message = icmpv6::Packet::parse(upper.payload).unwrap();
    let check = message.check(packet.source(), packet.destination());
    assert_eq!(check, portolan_wire::Check::Right);
    message
}
