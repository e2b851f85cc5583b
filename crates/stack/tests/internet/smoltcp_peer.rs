//! Another implementation on the same link: smoltcp finds our address, by ARP and by neighbour
//! discovery, pings us, and exchanges datagrams and a stream with us.

use std::{collections::VecDeque, net::SocketAddr, time::Duration};

use portolan_stack::Checksum;
use smoltcp::{
    iface::{Config, Interface, SocketSet, SocketStorage},
    phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken},
    socket::{icmp, tcp, udp},
    time::Instant,
    wire::{
        EthernetAddress, HardwareAddress, Icmpv4Packet, Icmpv4Repr, Icmpv6Packet, Icmpv6Repr,
        IpAddress, IpCidr, IpEndpoint,
    },
};

use crate::world::*;

/// The link, as smoltcp sees it.
#[derive(Default)]
struct Link {
    to_peer: VecDeque<Vec<u8>>,
    to_us: VecDeque<Vec<u8>>,
}

struct Arrived(Vec<u8>);
struct Leaving<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        self.0.push_back(frame);
        result
    }
}

impl Device for Link {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived, Leaving<'_>)> {
        let frame = self.to_peer.pop_front()?;
        Some((Arrived(frame), Leaving(&mut self.to_us)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        Some(Leaving(&mut self.to_us))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1_514;
        capabilities
    }
}

/// A buffer for the rest of the test, as smoltcp is built without a heap here.
fn kept<T: Clone>(value: T, count: usize) -> &'static mut [T] {
    vec![value; count].leak()
}

struct Both {
    us: World,
    peer: Interface,
    sockets: SocketSet<'static>,
    link: Link,
}

impl Both {
    fn new() -> Self {
        let mut link = Link::default();
        let config = Config::new(HardwareAddress::Ethernet(EthernetAddress(PEER_MAC.0)));
        let mut peer = Interface::new(config, &mut link, Instant::ZERO);
        peer.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(IpAddress::from(PEER_V4), 24)).unwrap();
            addresses.push(IpCidr::new(IpAddress::from(PEER_V6), 64)).unwrap();
        });
        let storage = vec![SocketStorage::EMPTY];
        Self { us: World::new(), peer, sockets: SocketSet::new(storage.leak()), link }
    }

    /// Lets both work for so many milliseconds.
    fn run(&mut self, millis: u32) {
        for _ in 0..millis {
            self.us.after(Duration::from_millis(1));
            let now = i64::try_from(self.us.now.as_micros()).unwrap();
            self.peer.poll(Instant::from_micros(now), &mut self.link, &mut self.sockets);
            let World { stack, now, .. } = &mut self.us;
            for frame in self.link.to_us.drain(..) {
                stack.handle_frame(&frame, Checksum::Unknown, *now, &mut |_, _| 0);
            }
            self.link.to_peer.extend(self.us.drain());
        }
    }
}

#[test]
fn it_pings_us() {
    let mut both = Both::new();
    let buffer = || icmp::PacketBuffer::new(kept(icmp::PacketMetadata::EMPTY, 4), kept(0, 8_192));
    let handle = both.sockets.add(icmp::Socket::new(buffer(), buffer()));
    let socket = both.sockets.get_mut::<icmp::Socket>(handle);
    socket.bind(icmp::Endpoint::Ident(7)).unwrap();
    let checksums = smoltcp::phy::ChecksumCapabilities::default();
    let data = [9; 1_000];
    let request = Icmpv4Repr::EchoRequest { ident: 7, seq_no: 1, data: &data };
    let bytes = socket.send(request.buffer_len(), IpAddress::from(V4)).unwrap();
    request.emit(&mut Icmpv4Packet::new_unchecked(bytes), &checksums);
    let request = Icmpv6Repr::EchoRequest { ident: 7, seq_no: 2, data: &data };
    let bytes = socket.send(request.buffer_len(), IpAddress::from(V6)).unwrap();
    request.emit(&PEER_V6, &V6, &mut Icmpv6Packet::new_unchecked(bytes), &checksums);
    // It asks for one neighbour in a second.
    both.run(2_000);
    let socket = both.sockets.get_mut::<icmp::Socket>(handle);
    let (bytes, from) = socket.recv().expect("an answer over IPv4");
    assert_eq!(from, IpAddress::from(V4));
    let packet = Icmpv4Packet::new_checked(bytes).unwrap();
    let reply = Icmpv4Repr::parse(&packet, &checksums).unwrap();
    assert_eq!(reply, Icmpv4Repr::EchoReply { ident: 7, seq_no: 1, data: &data });
    let (bytes, from) = socket.recv().expect("an answer over IPv6");
    assert_eq!(from, IpAddress::from(V6));
    let packet = Icmpv6Packet::new_checked(bytes).unwrap();
    let reply = Icmpv6Repr::parse(&V6, &PEER_V6, &packet, &checksums).unwrap();
    assert_eq!(reply, Icmpv6Repr::EchoReply { ident: 7, seq_no: 2, data: &data });
}

#[test]
fn it_answers_our_datagrams() {
    let mut both = Both::new();
    let buffer = || udp::PacketBuffer::new(kept(udp::PacketMetadata::EMPTY, 4), kept(0, 8_192));
    let handle = both.sockets.add(udp::Socket::new(buffer(), buffer()));
    both.sockets.get_mut::<udp::Socket>(handle).bind(7).unwrap();
    let port = both.us.stack.udp_bind(None, 5_000).unwrap();
    for remote in [SocketAddr::from((PEER_V4, 7)), (PEER_V6, 7).into()] {
        let now = both.us.now;
        both.us.stack.udp_send(port, remote, b"are you there?", now).unwrap();
        both.run(100);
        let socket = both.sockets.get_mut::<udp::Socket>(handle);
        let (bytes, from) = socket.recv().expect("our datagram");
        assert_eq!(bytes, b"are you there?");
        let (bytes, to) = (bytes.to_vec(), from.endpoint);
        assert_eq!(to.port, 5_000);
        socket.send_slice(&bytes, to).unwrap();
        both.run(100);
        let mut bytes = [0; 32];
        let received = both.us.stack.udp_receive(port, &mut bytes).unwrap().expect("its answer");
        assert_eq!((received.source, received.len), (remote, 14));
    }
}

#[test]
fn it_exchanges_a_stream_with_us() {
    for to in [IpAddress::from(V4), IpAddress::from(V6)] {
        let mut both = Both::new();
        let buffer = || tcp::SocketBuffer::new(kept(0, 65_535));
        let handle = both.sockets.add(tcp::Socket::new(buffer(), buffer()));
        let listener = both.us.stack.tcp().listen(None, 80, 16).unwrap();
        let socket = both.sockets.get_mut::<tcp::Socket>(handle);
        socket.connect(both.peer.context(), IpEndpoint::new(to, 80), 40_000).unwrap();
        both.run(100);
        let now = both.us.now;
        let id = both.us.stack.tcp().accept(listener, now).unwrap().expect("a connection");
        let data: Vec<u8> = (0..50_000_u32).map(|at| (at / 5) as u8).collect();
        let socket = both.sockets.get_mut::<tcp::Socket>(handle);
        assert_eq!(socket.send_slice(&data), Ok(data.len()));
        both.run(2_000);
        let mut received = vec![0; 65_535];
        let now = both.us.now;
        let len = both.us.stack.tcp().read(id, &mut received, now).unwrap();
        assert_eq!(&received[..len], &data);
        assert_eq!(both.us.stack.tcp().write(id, &data, now), Ok(data.len()));
        both.us.stack.tcp().finish(id, now).unwrap();
        both.run(2_000);
        let socket = both.sockets.get_mut::<tcp::Socket>(handle);
        assert_eq!(socket.recv_slice(&mut received), Ok(data.len()));
        assert_eq!(&received[..data.len()], &data);
        assert!(!socket.may_recv(), "it has seen our end");
        socket.close();
        both.run(500);
        let socket = both.sockets.get_mut::<tcp::Socket>(handle);
        assert!(!socket.is_active(), "{}", socket.state());
    }
}
