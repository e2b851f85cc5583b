//! Frames that leave.

use core::net::IpAddr;

use portolan_wire::{
    ethernet::{self, EtherType, HEADER_BYTES},
    ipv4, ipv6, protocol,
    vlan::Tags,
};

use super::{Stack, solicit::Resolved};
use crate::{
    Instant,
    counters::{Noted, Unsent},
    frame::{Departure, PartialChecksum, Segmentation},
    ip::{
        fragment::{Piece, piece},
        output::{Header, header_len},
    },
    outbox::{Envelope, Message, Offload, Origin, Packet},
    tcp::{Outgoing, Room},
};

/// What became of a message.
enum Sent {
    /// A frame is in the buffer.
    Frame(Departure),
    /// Nothing is, and the next message may be tried.
    Nothing,
}

impl Stack {
    /// Writes the next frame to the front of the buffer; none if nothing is to be sent now. Call it
    /// until then.
    ///
    /// The buffer has room for the link's MTU and an Ethernet header at least; with segmentation by
    /// the device, for its largest segment. What does not fit is lost, and counted.
    pub fn poll_transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<Departure> {
        self.is_interrupted = false;
        // A message and a segment by turns, so that a flood of pings or of questions does not
        // silence connections, nor they the answers.
        let message = if self.message_left { None } else { self.poll_message(now, buffer) };
        self.message_left = message.is_some();
        let departure = message
            .or_else(|| self.poll_segment(now, buffer))
            .or_else(|| self.poll_message(now, buffer))?;
        self.counters.left(departure.len);
        Some(departure)
    }

    fn poll_message(&mut self, now: Instant, buffer: &mut [u8]) -> Option<Departure> {
        while let Some(message) = self.outbox.pop() {
            if let Sent::Frame(departure) = self.send(message, now, buffer) {
                return Some(departure);
            }
        }
        None
    }

    fn poll_segment(&mut self, now: Instant, buffer: &mut [u8]) -> Option<Departure> {
        // As many segments as this may be lost or have to wait before the owner is asked again.
        for _ in 0..SEGMENTS_MAX {
            if let Sent::Frame(departure) = self.send_segment(now, buffer)? {
                return Some(departure);
            }
            // The question for its neighbour goes first.
            if let Some(departure) = self.poll_message(now, buffer) {
                return Some(departure);
            }
        }
        self.is_interrupted = true;
        None
    }

    fn send(&mut self, mut message: Message, now: Instant, buffer: &mut [u8]) -> Sent {
        let packet = match &mut message.envelope {
            Envelope::Link { hardware, ethertype } => {
                let (hardware, ethertype) = (*hardware, *ethertype);
                return self.send_link(hardware, ethertype, message, buffer);
            }
            Envelope::Ip(packet) => packet,
        };
        let destination = packet.header.destination;
        let resolved = match packet.hardware {
            Some(hardware) => Resolved::To(hardware),
            None => {
                let next_hop = self.routes.next_hop(destination, &self.addresses, now);
                let Some(next_hop) = next_hop else {
                    return self.lose(message, Unsent::NoRoute);
                };
                match self.resolve(next_hop, now) {
                    Resolved::Later => {
                        if let Some(lost) = self.waiting.push(next_hop, message) {
                            return self.lose(lost, Unsent::NeighborWaitingFull);
                        }
                        return Sent::Nothing;
                    }
                    resolved => resolved,
                }
            }
        };
        match resolved {
            Resolved::To(hardware) => self.send_ip(message, hardware, now, buffer),
            Resolved::Full => self.lose(message, Unsent::NeighborsFull),
            Resolved::Silent | Resolved::Later => {
                self.fail_message(message, now);
                Sent::Nothing
            }
        }
    }

    fn send_link(
        &mut self,
        hardware: ethernet::Address,
        ethertype: EtherType,
        message: Message,
        buffer: &mut [u8],
    ) -> Sent {
        let len = HEADER_BYTES + message.bytes.len();
        let to = buffer.get_mut(HEADER_BYTES..len);
        let Some(to) = to else { return self.lose(message, Unsent::Buffer) };
        to.copy_from_slice(&message.bytes);
        if self.write_link(hardware, ethertype, buffer).is_none() {
            return self.lose(message, Unsent::Buffer);
        }
        self.outbox.recycle(message.bytes);
        Sent::Frame(Departure { len, checksum: None, segmentation: None })
    }

    fn write_link(
        &self,
        destination: ethernet::Address,
        ethertype: EtherType,
        buffer: &mut [u8],
    ) -> Option<()> {
        let tags = Tags::default();
        let repr = ethernet::Repr { source: self.mac, destination, tags, ethertype };
        repr.emit(buffer).ok()
    }

    /// Sends a packet, or its next fragment.
    fn send_ip(
        &mut self,
        mut message: Message,
        hardware: ethernet::Address,
        now: Instant,
        buffer: &mut [u8],
    ) -> Sent {
        let Envelope::Ip(packet) = &mut message.envelope else { return Sent::Nothing };
        let destination = packet.header.destination;
        let mtu = self.path_mtus.get(destination, now);
        let is_segmented = packet.offload.segmentation.is_some();
        let total = message.bytes.len();
        let is_whole = is_segmented || header_len(destination) + total <= usize::from(mtu);
        let is_first = packet.fragments.is_none();
        // RFC 6864, section 4: what a router may cut has to have an identification.
        let is_lasting = destination.is_ipv6() || packet.header.dont_fragment;
        let is_segment = packet.header.protocol == protocol::TCP;
        if is_first && ((is_whole && is_lasting) || is_segment) {
            let Some(departure) =
                self.write_packet(&packet.header, packet.offload, hardware, &message.bytes, buffer)
            else {
                return self.lose(message, Unsent::Buffer);
            };
            self.outbox.recycle(message.bytes);
            return Sent::Frame(departure);
        }
        let source = packet.header.source;
        let (offset, identification) = match packet.fragments {
            Some(fragments) => fragments,
            None => (0, self.identifications.next(source, destination)),
        };
        let piece = match is_first && is_whole {
            true => Piece { offset: 0, len: total, more: false },
            false => piece(total, offset, mtu, destination.is_ipv6()),
        };
        let (end, header) = (piece.offset + piece.len, packet.header);
        packet.fragments = Some((end, identification));
        let written = (|| {
            let ip = buffer.get_mut(HEADER_BYTES..)?;
            let header_len = header.emit_fragment(piece, identification, ip).ok()?;
            let to = ip.get_mut(header_len..header_len + piece.len)?;
            to.copy_from_slice(message.bytes.get(piece.offset..end)?);
            self.write_link(hardware, ethertype(destination), buffer)?;
            Some(HEADER_BYTES + header_len + piece.len)
        })();
        let Some(len) = written else { return self.lose(message, Unsent::Buffer) };
        if piece.more || piece.offset > 0 {
            self.counters.note(Noted::FragmentSent);
        }
        if piece.more {
            self.outbox.continue_with(message);
        } else {
            self.outbox.recycle(message.bytes);
        }
        Sent::Frame(Departure { len, checksum: None, segmentation: None })
    }

    fn write_packet(
        &self,
        header: &Header,
        offload: Offload,
        hardware: ethernet::Address,
        bytes: &[u8],
        buffer: &mut [u8],
    ) -> Option<Departure> {
        let start = HEADER_BYTES + header_len(header.destination);
        buffer.get_mut(start..start + bytes.len())?.copy_from_slice(bytes);
        self.write_headers(header, offload, hardware, bytes.len(), buffer)
    }

    /// Writes the headers before an upper layer's packet that is already in its place.
    fn write_headers(
        &self,
        header: &Header,
        offload: Offload,
        hardware: ethernet::Address,
        len: usize,
        buffer: &mut [u8],
    ) -> Option<Departure> {
        let header_len = header.emit(len, buffer.get_mut(HEADER_BYTES..)?).ok()?;
        self.write_link(hardware, ethertype(header.destination), buffer)?;
        let start = u16::try_from(HEADER_BYTES + header_len).ok()?;
        let checksum =
            offload.checksum.then_some(PartialChecksum { start, offset: start + TCP_CHECKSUM_AT });
        let segmentation = offload
            .segmentation
            .map(|one| Segmentation { header_len: one.header_len + start, ..one });
        Some(Departure { len: usize::from(start) + len, checksum, segmentation })
    }

    /// Sends the next segment of TCP; none if there is none.
    fn send_segment(&mut self, now: Instant, buffer: &mut [u8]) -> Option<Sent> {
        // An IPv4 packet, its header included, ends with the last byte that its length can say.
        let end = buffer.len().min(HEADER_BYTES + usize::from(u16::MAX));
        let outgoing = self.tcp.poll_transmit_behind(
            now,
            &mut Room {
                buffer: buffer.get_mut(..end)?,
                headers_v4: HEADER_BYTES + ipv4::HEADER_BYTES,
                headers_v6: HEADER_BYTES + ipv6::HEADER_BYTES,
            },
        )?;
        let Outgoing { source, destination, len, .. } = outgoing;
        let start = HEADER_BYTES + header_len(destination);
        let header = Header {
            source,
            destination,
            protocol: protocol::TCP,
            traffic_class: outgoing.diffserv << 2 | outgoing.ecn.bits(),
            hop_limit: outgoing.hop_limit,
            // RFC 1191: so that routers tell what they do not take.
            dont_fragment: true,
        };
        let offload = self.offload(&outgoing, buffer.get(start..start + len)?);
        let Some(next_hop) = self.routes.next_hop(destination, &self.addresses, now) else {
            return Some(self.lose_segment(Unsent::NoRoute));
        };
        match self.resolve(next_hop, now) {
            Resolved::To(hardware) => {
                let departure = self.write_headers(&header, offload, hardware, len, buffer);
                Some(departure.map_or_else(|| self.lose_segment(Unsent::Buffer), Sent::Frame))
            }
            Resolved::Later => {
                let mut bytes = self.outbox.buffer();
                bytes.extend_from_slice(buffer.get(start..start + len)?);
                let packet = Packet { header, hardware: None, fragments: None, offload };
                let envelope = Envelope::Ip(packet);
                let message = Message { envelope, bytes, origin: Origin::Tcp };
                let message = match self.waiting.replace(next_hop, message) {
                    Ok(older) => {
                        self.outbox.recycle(older.bytes);
                        return Some(Sent::Nothing);
                    }
                    Err(message) => message,
                };
                if let Some(lost) = self.waiting.push(next_hop, message) {
                    self.lose(lost, Unsent::NeighborWaitingFull);
                }
                Some(Sent::Nothing)
            }
            Resolved::Silent => {
                let segment = buffer.get(start..start + len)?;
                self.fail_packet(&header, segment, Origin::Tcp, now);
                Some(self.lose_segment(Unsent::NeighborSilent))
            }
            Resolved::Full => Some(self.lose_segment(Unsent::NeighborsFull)),
        }
    }

    fn offload(&self, outgoing: &Outgoing, segment: &[u8]) -> Offload {
        let flags = segment.get(TCP_FLAGS_AT).copied().unwrap_or(0);
        let segmentation = outgoing.segment_payload.map(|payload| Segmentation {
            header_len: u16::try_from(outgoing.header_len).unwrap_or(u16::MAX),
            payload,
            ipv6: outgoing.destination.is_ipv6(),
            ecn: flags & TCP_CWR != 0,
        });
        Offload { checksum: self.offloads.checksum, segmentation }
    }

    fn lose(&mut self, message: Message, reason: Unsent) -> Sent {
        self.outbox.recycle(message.bytes);
        self.lose_segment(reason)
    }

    fn lose_segment(&mut self, reason: Unsent) -> Sent {
        self.counters.not_sent(reason);
        Sent::Nothing
    }
}

const fn ethertype(destination: IpAddr) -> EtherType {
    match destination {
        IpAddr::V4(_) => EtherType::IPV4,
        IpAddr::V6(_) => EtherType::IPV6,
    }
}

const SEGMENTS_MAX: usize = 64;
// RFC 9293, section 3.1.
const TCP_FLAGS_AT: usize = 13;
const TCP_CWR: u8 = 0x80;
const TCP_CHECKSUM_AT: u16 = 16;
