//! Datagrams that arrive in parts at a host with several queues: each part may come by another
//! queue, and the flow is known to one of them alone.

mod spread;

use std::{
    io::{Read, Write},
    net::SocketAddr,
    os::fd::BorrowedFd,
    sync::mpsc::{Receiver, Sender, channel},
    time::Duration,
};

use portolan_host::{
    Config, Context, Ending, Error, Host, Program,
    blocking::Endpoint,
    nic::{self, Arrival, Checksum, Departure, Nic, Offloads, mem},
    stack::{Delivered, Dropped, Event, Noted},
};
use spread::spread;

const PATIENCE: Duration = Duration::from_secs(60);
const QUEUES: usize = 4;
/// With four queues one of so many flows belongs to the first one, by chance, once in 10^19 runs.
const FLOWS: usize = 32;

/// Addresses of the two hosts, of both versions.
const NETWORKS: [(&str, &str); 2] =
    [("192.0.2.1/24", "192.0.2.2/24"), ("2001:db8::1/64", "2001:db8::2/64")];

fn config(address: &str) -> Config {
    Config::new(vec![address.parse().unwrap()])
}

fn at(cidr: &str, port: u16) -> SocketAddr {
    SocketAddr::new(cidr.split('/').next().unwrap().parse().unwrap(), port)
}

/// Cuts each segment that arrives, as a router could over IPv4, and a sender over IPv6.
#[derive(Debug)]
struct Cutter<N> {
    inner: N,
    identification: u32,
}

impl<N: Nic> Nic for Cutter<N> {
    fn receive(&mut self, take: &mut dyn FnMut(Arrival<'_>)) -> Result<usize, nic::Error> {
        let Self { inner, identification } = self;
        inner.receive(&mut |arrival| {
            *identification += 1;
            for part in cut(arrival.bytes, *identification) {
                take(Arrival { bytes: &part, checksum: Checksum::Unknown });
            }
        })
    }

    fn transmit(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> Option<Departure>,
    ) -> Result<usize, nic::Error> {
        self.inner.transmit(fill)
    }

    fn offloads(&self) -> Offloads {
        self.inner.offloads()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.inner.descriptor()
    }
}

/// The segment in two parts, the later one first. What has no data stays whole, so that the
/// connection begins at its queue.
fn cut(frame: &[u8], identification: u32) -> Vec<Vec<u8>> {
    let (is_v4, is_v6) = (frame[12..14] == [8, 0], frame[12..14] == [0x86, 0xdd]);
    let header_end = 14 + if is_v4 { 20 } else { 40 };
    if !(is_v4 && frame[14 + 9] == 6 || is_v6 && frame[14 + 6] == 6) {
        return vec![frame.to_vec()];
    }
    let (header, segment) = frame.split_at(header_end);
    // Behind the longest header of TCP.
    let middle = 64;
    if segment.len() <= middle {
        return vec![frame.to_vec()];
    }
    let part = |offset: usize, bytes: &[u8], more: u16| {
        let mut part = header.to_vec();
        if is_v4 {
            part[16..18].copy_from_slice(&u16::try_from(20 + bytes.len()).unwrap().to_be_bytes());
            part[18..20].copy_from_slice(&identification.to_be_bytes()[2..]);
            let place = u16::try_from(offset / 8).unwrap() | more << 13;
            part[20..22].copy_from_slice(&place.to_be_bytes());
            part[24..26].fill(0);
            let sum: u32 = part[14..34]
                .chunks(2)
                .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
                .sum();
            let sum = (sum & 0xffff) + (sum >> 16);
            let sum = !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
            part[24..26].copy_from_slice(&sum.to_be_bytes());
        } else {
            part[18..20].copy_from_slice(&u16::try_from(8 + bytes.len()).unwrap().to_be_bytes());
            part[20] = 44;
            part.extend([6, 0]);
            part.extend((u16::try_from(offset).unwrap() | more).to_be_bytes());
            part.extend(identification.to_be_bytes());
        }
        part.extend_from_slice(bytes);
        part
    };
    vec![part(middle, &segment[middle..], 0), part(0, &segment[..middle], 1)]
}

/// RFC 791, section 3.2.
#[test]
fn segments_in_parts_find_the_connection_whatever_its_queue() {
    for (server, client) in NETWORKS {
        let (near, far) = mem::pair(&mem::Options::default());
        let cutter = Cutter { inner: near, identification: 0 };
        let host = Endpoint::start(&config(server), spread(cutter, QUEUES)).unwrap();
        let peer = Endpoint::start(&config(client), vec![far]).unwrap();
        let listener = host.listen(None, 7).unwrap();
        let data: Vec<u8> = (0..5_000).map(|nth| nth as u8).collect();
        for _ in 0..FLOWS {
            let mut there = peer.connect(at(server, 7)).unwrap();
            let mut here = listener.accept().unwrap();
            here.set_timeout(Some(PATIENCE));
            there.set_timeout(Some(PATIENCE));
            there.write_all(&data).unwrap();
            there.finish();
            let mut all = Vec::new();
            here.read_to_end(&mut all).unwrap();
            assert_eq!(all, data);
        }
        host.stop().unwrap();
        let readings = host.readings();
        assert!(readings[0].stack.noted(Noted::Reassembled) >= FLOWS as u64, "they were cut");
        let lost: u64 = readings.iter().map(|queue| queue.handed_lost).sum();
        assert_eq!(lost, 0);
        let resets: u64 = readings.iter().map(|queue| queue.tcp.resets_sent).sum();
        assert_eq!(resets, 0, "nobody was told that there is no such connection");
        // Each frame that came is counted once, wherever it was dealt with.
        let count =
            |what: &dyn Fn(&portolan_host::Readings) -> u64| readings.iter().map(what).sum();
        let frames: u64 = count(&|queue| queue.stack.frames_in);
        let fates: u64 =
            count(&|queue| queue.stack.delivered_total() + queue.stack.dropped_total());
        assert_eq!(frames, fates);
        let joined: u64 = count(&|queue| queue.stack.noted(Noted::Reassembled));
        let parts: u64 = count(&|queue| queue.stack.delivered(Delivered::Fragment));
        assert_eq!(parts, joined, "one of two parts waited for the other");
    }
}

/// Binds a port on its queue, and tells which queue got what.
struct Telling {
    to: Sender<(usize, SocketAddr, usize)>,
}

impl Program for Telling {
    fn begin(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        context.bind(None, 7).map(drop)
    }

    fn event(&mut self, context: &mut Context<'_>, event: Event) {
        let Event::Udp(id) = event else { return };
        let mut buffer = [0; 65_535];
        while let Some(received) = context.stack.udp_receive(id, &mut buffer).unwrap() {
            let _ = self.to.send((context.queue, received.source, received.len));
        }
    }

    fn end(&mut self, _context: &mut Context<'_>, _how: Ending) {}
}

fn telling(server: &str, device: mem::Mem) -> (Host, Receiver<(usize, SocketAddr, usize)>) {
    let (to, told) = channel();
    let queues = spread(device, QUEUES).into_iter();
    let queues = queues.map(|queue| (queue, Telling { to: to.clone() })).collect();
    (Host::start(&config(server), queues).unwrap(), told)
}

/// RFC 791, section 3.2.
#[test]
fn long_datagrams_come_to_the_queue_of_the_short_ones() {
    for (server, client) in NETWORKS {
        let (near, far) = mem::pair(&mem::Options::default());
        let (mut host, told) = telling(server, near);
        let peer = Endpoint::start(&config(client), vec![far]).unwrap();
        let mut seen = [0; QUEUES];
        for port in 2_000..2_000 + u16::try_from(FLOWS).unwrap() {
            let datagrams = peer.bind(None, port).unwrap();
            let mut queues = Vec::new();
            for len in [10, 8_000, 65_000] {
                datagrams.send_to(&vec![7; len], at(server, 7)).unwrap();
                let (queue, source, received) = told.recv_timeout(PATIENCE).unwrap();
                assert_eq!((source.port(), received), (port, len));
                queues.push(queue);
            }
            assert!(queues.iter().all(|queue| *queue == queues[0]), "{port}: {queues:?}");
            seen[queues[0]] += 1;
        }
        assert!(seen[1..].iter().any(|count| *count > 0), "{seen:?}");
        host.stop().unwrap();
        let dropped = |queue: &portolan_host::Readings| queue.stack.dropped(Dropped::UdpPort);
        assert_eq!(host.readings().iter().map(dropped).sum::<u64>(), 0);
        // One queue speaks for the host on the link.
        if server.contains("::") {
            let told = |queue: &portolan_host::Readings| queue.stack.noted(Noted::MldReport) > 0;
            let told: Vec<_> = host.readings().iter().map(told).collect();
            assert_eq!(told, [true, false, false, false]);
        }
    }
}
