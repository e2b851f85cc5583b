//! Packet sockets: the other end is the network behind an interface of the kernel's (packet(7)).
//!
//! The kernel still has the interface: it hands a copy of every frame to the socket and goes on
//! with the original. It keeps silent as long as none of its own addresses is meant, so give the
//! interface none of those that this side uses (`ip addr flush dev veth0`), and keep it from
//! taking one of IPv6 by itself (`sysctl net.ipv6.conf.veth0.disable_ipv6=1`); with forwarding on,
//! it would also forward. Where an address has to be shared, a rule of the firewall keeps the
//! kernel from answering with RST: `nft add rule ... tcp dport 8080 drop`, in a chain of `input`,
//! which packet sockets come before.
//!
//! VLAN tags are not seen: the kernel takes them off before. Open the VLAN's own interface.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};

use portolan_sys::{
    frames::{self, BATCH, Frame},
    interface,
    packet::{LinkOptions, LinkSocket},
};

use crate::{
    Nic,
    error::{Error, Kind},
    frame::{Arrival, Departure, LINK_HEADER_BYTES_MAX, Offloads, PACKET_BYTES_MAX},
    vnet::{self, HEADER_BYTES},
};

/// How packet sockets are opened.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Leave checksums and the cutting of long segments to the kernel and the device, and say so
    /// in [`Offloads`].
    pub offloads: bool,
    /// Also take frames for other Ethernet addresses: [`Offloads::mac`] is `None` then.
    pub is_promiscuous: bool,
    /// What the kernel may queue for each socket, in bytes; frames beyond are lost and counted.
    pub receive_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { offloads: true, is_promiscuous: false, receive_bytes: 8 << 20 }
    }
}

/// A packet socket on an interface, or one of several among which the kernel spreads flows.
#[derive(Debug)]
pub struct Packet {
    socket: LinkSocket,
    name: String,
    offloads: Offloads,
    arriving: Vec<Frame>,
    departing: Vec<Frame>,
    /// How many of `departing` the kernel had no room for, which are its first.
    waiting: usize,
}

impl Packet {
    /// Opens as many sockets on the interface `name`, in the network namespace of the calling
    /// thread; both directions of a flow are on the same one.
    ///
    /// # Errors
    /// [`Error::Open`] without CAP_NET_RAW or where there is no such interface,
    /// [`Error::LinkDown`] where it is down.
    pub fn open(name: &str, queues: usize, options: &Options) -> Result<Vec<Self>, Error> {
        let failed =
            |source| Error::Open { kind: Kind::Packet, interface: name.to_owned(), source };
        let index = interface::index(name).map_err(failed)?;
        if !interface::is_up(name).map_err(failed)? {
            return Err(Error::LinkDown { interface: name.to_owned() });
        }
        let mtu = interface::mtu(name).map_err(failed)?;
        let address = interface::ethernet_address(name).map_err(failed)?;
        let offloads = Offloads {
            checksum: options.offloads,
            segment_bytes_max: if options.offloads { PACKET_BYTES_MAX } else { 0 },
            mtu: u16::try_from(mtu).unwrap_or(u16::MAX),
            mac: address.filter(|_| !options.is_promiscuous),
        };
        let link = LinkOptions {
            is_promiscuous: options.is_promiscuous,
            receive_bytes: options.receive_bytes,
        };
        let sockets = LinkSocket::open(index, queues, &link).map_err(failed)?;
        if sockets.is_empty() {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        }
        let open = |socket| Self::with_socket(socket, name, offloads);
        Ok(sockets.into_iter().map(open).collect())
    }

    fn with_socket(socket: LinkSocket, name: &str, offloads: Offloads) -> Self {
        let frames = |bytes: usize| vec![Frame::with_capacity(HEADER_BYTES + bytes); BATCH];
        Self {
            socket,
            name: name.to_owned(),
            offloads,
            // Whatever is sent: the kernel puts segments together.
            arriving: frames(PACKET_BYTES_MAX + LINK_HEADER_BYTES_MAX),
            departing: frames(offloads.frame_bytes_max()),
            waiting: 0,
        }
    }

    /// How many frames the kernel could not deliver since the last call: there was no room.
    ///
    /// # Errors
    /// [`Error::Io`]; not expected.
    pub fn take_lost(&self) -> Result<u32, Error> {
        self.socket.take_lost().map_err(|source| Error::of("receive", &self.name, source))
    }

    /// Sends what waits, in order. How many the kernel took.
    fn flush(&mut self) -> Result<usize, Error> {
        let mut sent = 0;
        while self.waiting > 0 {
            match frames::send(&self.socket, &self.departing[..self.waiting]) {
                Ok(count) => {
                    self.departing[..self.waiting].rotate_left(count);
                    self.waiting -= count;
                    sent += count;
                }
                Err(error) if is_full(&error) => break,
                Err(error) => {
                    self.waiting = 0;
                    return Err(Error::of("transmit", &self.name, error));
                }
            }
        }
        Ok(sent)
    }
}

/// `EAGAIN`: the socket's buffer is full; `ENOBUFS`: the device's queue is.
fn is_full(error: &io::Error) -> bool {
    const ENOBUFS: i32 = 105;
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(ENOBUFS)
}

impl Nic for Packet {
    fn receive(&mut self, take: &mut dyn FnMut(Arrival<'_>)) -> Result<usize, Error> {
        let received = match frames::receive(&self.socket, &mut self.arriving) {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
            Err(error) => return Err(Error::of("receive", &self.name, error)),
        };
        for frame in &self.arriving[..received] {
            if let Some((header, bytes)) = frame.bytes[..frame.len].split_first_chunk() {
                take(Arrival { bytes, checksum: vnet::checksum(header) });
            }
        }
        Ok(received)
    }

    fn transmit(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> Option<Departure>,
    ) -> Result<usize, Error> {
        let mut sent = self.flush()?;
        let mut refused = None;
        while self.waiting == 0 {
            while let Some(frame) = self.departing.get_mut(self.waiting) {
                let Some((header, bytes)) = frame.bytes.split_first_chunk_mut() else { break };
                let Some(departure) = fill(bytes) else { break };
                if let Err(error) = departure.check_for(&self.name, &self.offloads, bytes.len()) {
                    refused = Some(error);
                    break;
                }
                *header = vnet::header(&departure);
                frame.len = HEADER_BYTES + departure.len;
                self.waiting += 1;
            }
            let is_last = self.waiting < self.departing.len();
            sent += self.flush()?;
            if is_last {
                break;
            }
        }
        refused.map_or(Ok(sent), Err)
    }

    fn offloads(&self) -> Offloads {
        self.offloads
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
}
