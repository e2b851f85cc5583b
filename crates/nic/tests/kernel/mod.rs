//! The kernel's TCP at the other end of a TAP: it takes segments longer than the MTU with partial
//! checksums, and sends such.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
};

use portolan_nic::{Checksum, Departure, Nic, PartialChecksum, Segmentation, Tap};

use crate::conformance::{self, frame, in_namespace, ip, receive_batch};

const SYN: u8 = 2;
const PUSH: u8 = 8;
const ACK: u8 = 16;

const PORT: u16 = 8_080;
const OWN_PORT: u16 = 12_345;

/// Payload of the segments that the kernel makes of a long one.
const PAYLOAD: u16 = 1_460;

fn add(bytes: &[u8]) -> u32 {
    bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum()
}

fn fold(mut sum: u32) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap().to_be_bytes()
}

fn inverted([high, low]: [u8; 2]) -> [u8; 2] {
    [!high, !low]
}

/// The least of a client: 192.0.2.2 towards the kernel's 192.0.2.1.
struct Client {
    tap: Tap,
    next: u32,
    expected: u32,
}

/// A segment that came.
struct Segment {
    flags: u8,
    number: u32,
    payload: Vec<u8>,
    checksum: Checksum,
}

impl Client {
    /// Sends a segment; `checksum` whole, or partial with the cutting left to the kernel.
    fn send(&mut self, flags: u8, payload: &[u8], is_partial: bool) {
        let options: &[u8] = if flags & SYN == 0 { &[] } else { &[2, 4, 5, 0xb4] };
        let tcp_len = 20 + options.len() + payload.len();
        let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
        bytes.extend(u16::try_from(20 + tcp_len).unwrap().to_be_bytes());
        bytes.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 2, 192, 0, 2, 1]);
        let header = inverted(fold(add(&bytes[14..34])));
        bytes[24..26].copy_from_slice(&header);
        bytes.extend(OWN_PORT.to_be_bytes());
        bytes.extend(PORT.to_be_bytes());
        bytes.extend(self.next.to_be_bytes());
        bytes.extend(self.expected.to_be_bytes());
        let words = u8::try_from((20 + options.len()) / 4).unwrap() << 4;
        bytes.extend([words, flags, 0xff, 0xff, 0, 0, 0, 0]);
        bytes.extend(options);
        bytes.extend(payload);
        let pseudo = add(&bytes[26..34]) + 6 + u32::try_from(tcp_len).unwrap();
        let field = match is_partial {
            true => fold(pseudo),
            false => inverted(fold(pseudo + add(&bytes[34..]))),
        };
        bytes[50..52].copy_from_slice(&field);
        let (start, offset, header_len) = (34, 16, 54);
        let cut = Segmentation { header_len, payload: PAYLOAD, ipv6: false, ecn: false };
        let mut next = Some(Departure {
            len: bytes.len(),
            checksum: is_partial.then_some(PartialChecksum { start, offset }),
            segmentation: (is_partial && payload.len() > usize::from(PAYLOAD)).then_some(cut),
        });
        let fill = &mut |buffer: &mut [u8]| {
            conformance::put(buffer, &bytes);
            next.take()
        };
        assert_eq!(self.tap.transmit(fill).unwrap(), 1);
        self.next += u32::try_from(payload.len()).unwrap() + u32::from(flags & SYN != 0);
    }

    /// Segments that have come by now, or after a moment.
    fn receive(&mut self) -> Vec<Segment> {
        let mut frames = Vec::new();
        receive_batch(&mut self.tap, &mut frames);
        let tcp = frames.into_iter().filter(|it| it.bytes[12..14] == [8, 0] && it.bytes[23] == 6);
        let segment = |it: conformance::Got| {
            let len = 14 + usize::from(u16::from_be_bytes([it.bytes[16], it.bytes[17]]));
            let start = 34 + usize::from(it.bytes[46] >> 4) * 4;
            Segment {
                flags: it.bytes[47],
                number: u32::from_be_bytes(it.bytes[38..42].try_into().unwrap()),
                payload: it.bytes[start..len].to_vec(),
                checksum: it.checksum,
            }
        };
        tcp.map(segment).collect()
    }

    fn connect(&mut self) {
        self.send(SYN, &[], false);
        let answer = loop {
            if let Some(segment) = self.receive().pop() {
                break segment;
            }
        };
        assert_eq!(answer.flags, SYN | ACK);
        self.expected = answer.number.wrapping_add(1);
        self.send(ACK, &[], false);
    }
}

/// A connection between a client on a TAP and the kernel.
fn connected() -> (Client, TcpStream) {
    let tap = Tap::open("tap0", 1).unwrap().remove(0);
    ip("link set tap0 address 02:00:00:00:00:01");
    tap.set_up(true).unwrap();
    ip("addr add 192.0.2.1/24 dev tap0");
    ip("neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev tap0");
    let listener = TcpListener::bind(("192.0.2.1", PORT)).unwrap();
    let mut client = Client { tap, next: 1_000, expected: 0 };
    client.connect();
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(conformance::PATIENCE)).unwrap();
    (client, stream)
}

#[test]
fn a_long_segment_with_a_partial_checksum_reaches_a_program() {
    in_namespace(|| {
        let (mut client, mut stream) = connected();
        let payload = frame(40 << 10, 1);
        client.send(ACK | PUSH, &payload, true);
        let mut read = vec![0; payload.len()];
        stream.read_exact(&mut read).unwrap();
        assert!(read == payload);
        // And a short one, whose checksum the kernel need not complete to believe it.
        client.send(ACK | PUSH, b"short", true);
        stream.read_exact(&mut read[..5]).unwrap();
        assert_eq!(read[..5], *b"short");
    });
}

#[test]
fn the_kernel_sends_segments_longer_than_the_mtu() {
    in_namespace(|| {
        let (mut client, mut stream) = connected();
        let written = frame(40 << 10, 1);
        stream.write_all(&written).unwrap();
        let mut read: Vec<u8> = Vec::new();
        let mut longest = 0;
        while read.len() < written.len() {
            for segment in client.receive() {
                // The frame never left the machine.
                assert_eq!(segment.checksum, Checksum::Verified);
                // What the kernel sends again is not wanted twice.
                if segment.number == client.expected {
                    longest = longest.max(segment.payload.len());
                    read.extend(&segment.payload);
                    client.expected += u32::try_from(segment.payload.len()).unwrap();
                }
                client.send(ACK, &[], false);
            }
        }
        assert!(read == written);
        assert!(longest > usize::from(PAYLOAD), "{longest} bytes at most");
    });
}
