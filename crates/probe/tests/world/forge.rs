//! A host that answers SYNs with packets of the test's choice instead of a kernel.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use portolan_sys::{
    address::Destination,
    datagrams::Outbox,
    filter::Instruction,
    packet::{ETHER_TYPE_IPV4, ETHER_TYPE_IPV6, PacketReceiver, PacketSender},
};
use portolan_wire::{
    Seq, icmpv4, icmpv6, ipv4, ipv6, protocol,
    tcp::{self, Flags, Options},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Meanwhile, NEAR_MAC, World, ip};

/// A SYN that arrived.
pub struct Syn {
    /// The packet as it came.
    pub packet: Vec<u8>,
    /// Who asks.
    pub from: SocketAddr,
    /// Who is asked.
    pub to: SocketAddr,
    pub sequence: Seq,
}

/// A packet about a SYN, from its IP header on.
pub type Forge = fn(&Syn) -> Vec<u8>;

/// Answers each SYN with `packets`, until it is stopped; says how many SYNs came.
///
/// The targets, of which the kernel swallows everything, are 10.77.0.0/16 and fd77::/64.
pub struct Forger {
    syns: Arc<AtomicU64>,
    _thread: Meanwhile<()>,
}

impl Forger {
    pub fn new(world: &World, packets: Vec<Forge>) -> Self {
        let syns = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&syns);
        let thread = world.run(move || {
            let interface = interface("far");
            // Open before the test goes on.
            let rings = [ETHER_TYPE_IPV4, ETHER_TYPE_IPV6]
                .map(|kind| PacketReceiver::open(kind, &EVERYTHING, 1 << 12).unwrap());
            let sender = PacketSender::open().unwrap();
            Meanwhile::start(move |stopped| {
                let mut forging = Forging { interface, sender, packets, count };
                let mut rings = rings;
                while !stopped.now() {
                    for ring in &mut rings {
                        ring.receive(|bytes, _| forging.hear(bytes));
                    }
                    let fds = [
                        PollFd::new(&rings[0], PollFlags::IN),
                        PollFd::new(&rings[1], PollFlags::IN),
                    ];
                    let moment = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
                    let _ = poll(&mut { fds }, Some(&moment));
                }
            })
        });
        Self { syns, _thread: thread }
    }

    /// How many SYNs came.
    pub fn syns(&self) -> u64 {
        self.syns.load(Ordering::SeqCst)
    }
}

impl World {
    /// The kernel of far swallows what is sent to the targets.
    pub fn swallows(&self) {
        self.run(|| ip(&["route add blackhole 10.77.0.0/16", "route add blackhole fd77::/64"]));
    }
}

struct Forging {
    interface: u32,
    sender: PacketSender,
    packets: Vec<Forge>,
    count: Arc<AtomicU64>,
}

impl Forging {
    fn hear(&mut self, bytes: &[u8]) {
        let Some(syn) = Syn::parse(bytes) else { return };
        let ether_type = if syn.to.is_ipv4() { ETHER_TYPE_IPV4 } else { ETHER_TYPE_IPV6 };
        let to = Destination::Link { interface: self.interface, ether_type, address: NEAR_MAC };
        let mut outbox = Outbox::<512>::default();
        for forge in &self.packets {
            let packet = forge(&syn);
            outbox.push(&to, |buffer| {
                buffer[..packet.len()].copy_from_slice(&packet);
                packet.len()
            });
        }
        let all = self.packets.len();
        // Before the test can have heard of it.
        self.count.fetch_add(1, Ordering::SeqCst);
        assert_eq!(outbox.send(&self.sender).unwrap(), all, "all of them are sent");
    }
}

impl Syn {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (source, destination, segment): (IpAddr, IpAddr, _) = match bytes.first()? >> 4 {
            4 => {
                let packet = ipv4::Packet::parse(bytes).ok()?;
                let is_tcp = packet.protocol() == protocol::TCP;
                let segment = is_tcp.then_some(packet.payload())?;
                (packet.source().into(), packet.destination().into(), segment)
            }
            _ => {
                let packet = ipv6::Packet::parse(bytes).ok()?;
                let upper = packet.upper_layer().ok()?;
                let segment = (upper.protocol == protocol::TCP).then_some(upper.payload)?;
                (packet.source().into(), packet.destination().into(), segment)
            }
        };
        let segment = tcp::Packet::parse(segment).ok()?;
        (segment.flags() == Flags::SYN).then(|| Self {
            packet: bytes.to_vec(),
            from: SocketAddr::new(source, segment.source_port()),
            to: SocketAddr::new(destination, segment.destination_port()),
            sequence: segment.sequence(),
        })
    }

    /// A segment back with these flags that acknowledges so much beyond the SYN's number.
    pub fn answer(&self, flags: Flags, beyond: u32) -> Vec<u8> {
        let acknowledgment = self.sequence + beyond;
        let segment = self.segment(flags, acknowledgment);
        self.packet(self.to.ip(), protocol::TCP, &segment)
    }

    /// The right answer of an open port.
    pub fn syn_ack(&self) -> Vec<u8> {
        self.answer(Flags::SYN.union(Flags::ACK), 1)
    }

    /// A segment from the target.
    pub fn segment(&self, flags: Flags, acknowledgment: Seq) -> Vec<u8> {
        let header = tcp::Repr {
            source_port: self.to.port(),
            destination_port: self.from.port(),
            sequence: Seq(4_711),
            acknowledgment,
            flags,
            window: 1_000,
            urgent_pointer: 0,
            options: Options { mss: Some(1_400), ..Options::default() },
        };
        let mut bytes = vec![0; header.header_len()];
        header.emit(&mut bytes, self.to.ip(), self.from.ip()).unwrap();
        bytes
    }

    /// That the port is unreachable, quoting `quoted`.
    pub fn error(&self, quoted: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 8];
        bytes.extend_from_slice(quoted);
        match (self.to.ip(), self.from.ip()) {
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let header = icmpv6::Repr::DestinationUnreachable { code: 4 };
                header.emit(&mut bytes, from, to).unwrap();
                self.packet(from.into(), protocol::ICMPV6, &bytes)
            }
            (from, _) => {
                let header = icmpv4::Repr::DestinationUnreachable { code: 3, next_hop_mtu: 0 };
                header.emit(&mut bytes).unwrap();
                self.packet(from, protocol::ICMPV4, &bytes)
            }
        }
    }

    /// Where TCP begins in the SYN.
    pub fn header_len(&self) -> usize {
        if self.to.is_ipv4() { 20 } else { 40 }
    }

    /// The whole packet.
    pub fn packet(&self, source: IpAddr, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let payload_len = payload.len();
        let mut bytes = vec![0; self.header_len()];
        match (source, self.from.ip()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => ipv4::Repr {
                traffic_class: 0,
                identification: 1,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset: 0,
                ttl: 60,
                protocol,
                source,
                destination,
                options: &[],
                payload_len,
            }
            .emit(&mut bytes),
            (IpAddr::V6(source), IpAddr::V6(destination)) => ipv6::Repr {
                traffic_class: 0,
                flow_label: 0,
                next_header: protocol,
                hop_limit: 60,
                source,
                destination,
                payload_len,
            }
            .emit(&mut bytes),
            _ => panic!("one family"),
        }
        .unwrap();
        bytes.extend_from_slice(payload);
        bytes
    }
}

/// The number of a device of this thread's namespace.
fn interface(device: &str) -> u32 {
    let any =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None);
    rustix::net::netdevice::name_to_index(any.unwrap(), device).unwrap()
}

/// A filter that takes packets whole.
const EVERYTHING: [Instruction; 1] =
    [Instruction { code: 0x06, jump_true: 0, jump_false: 0, operand: 0x4_0000 }];
