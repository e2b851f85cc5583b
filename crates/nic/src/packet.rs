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
//! Frames go straight to the device, past the queueing discipline. A device that is full takes them
//! later; the descriptor does not tell when, so try again after a moment.
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
    error::{Error, Kind, Refusal},
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
    index: u32,
    /// It was down when it was looked at last. The kernel says so once, and not that it went
    /// afterwards.
    is_down: bool,
    offloads: Offloads,
    arriving: Vec<Frame>,
    departing: Vec<Frame>,
    /// How many of `departing` the kernel had no room for, which are its first.
    waiting: usize,
    /// How often the device has not taken the first of them.
    refusals: u32,
    /// The device clears CWR in all pieces of a segment but the first.
    cuts_ecn: bool,
}

/// The longest packet that devices cut, from its IP header on: what nearly all can, which is less
/// than 64 KiB with the Ethernet header (`gso_max_size` in `ip -details link`).
const SEGMENT_BYTES_MAX: usize = 60 << 10;

/// So often a frame is offered to a device that is full, before it is taken for one that the device
/// never takes.
const REFUSALS_MAX: u32 = 10_000;

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
        // Where the device cannot be asked it is not asked for more than checksums either, which
        // the kernel completes where the device does not.
        let features = interface::features(name).unwrap_or_default();
        let can = |feature: &str| features.contains(feature);
        let segments = can("tx-tcp-segmentation") && can("tx-tcp6-segmentation");
        let offloads = Offloads {
            checksum: options.offloads,
            segment_bytes_max: if options.offloads && segments { SEGMENT_BYTES_MAX } else { 0 },
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
        let cuts_ecn = can("tx-tcp-ecn-segmentation");
        let frames = |bytes: usize| vec![Frame::with_capacity(HEADER_BYTES + bytes); BATCH];
        let open = |socket| Self {
            socket,
            name: name.to_owned(),
            index,
            is_down: false,
            offloads,
            // Whatever is sent: the kernel puts segments together.
            arriving: frames(PACKET_BYTES_MAX + LINK_HEADER_BYTES_MAX),
            departing: frames(offloads.frame_bytes_max()),
            waiting: 0,
            refusals: 0,
            cuts_ecn,
        };
        Ok(sockets.into_iter().map(open).collect())
    }

    /// What an error of a system call means.
    fn error(&mut self, verb: &'static str, source: io::Error) -> Error {
        match Error::of(verb, &self.name, source) {
            Error::LinkDown { .. } => {
                self.is_down = true;
                self.look().err().unwrap_or_else(|| self.down())
            }
            error => error,
        }
    }

    fn down(&self) -> Error {
        Error::LinkDown { interface: self.name.clone() }
    }

    /// Whether an interface that was down still is, or is gone.
    fn look(&mut self) -> Result<(), Error> {
        if interface::index(&self.name).ok() != Some(self.index) {
            return Err(Error::Gone { interface: self.name.clone() });
        }
        self.is_down = !interface::is_up(&self.name).unwrap_or(false);
        if self.is_down { Err(self.down()) } else { Ok(()) }
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
            let error = match frames::send(&self.socket, &self.departing[..self.waiting]) {
                Ok(count) => {
                    self.take_out(count);
                    sent += count;
                    continue;
                }
                Err(error) => error,
            };
            if !self.is_full(&error) {
                self.waiting = 0;
                return Err(self.error("transmit", error));
            }
            self.refusals += 1;
            if self.refusals > REFUSALS_MAX {
                self.take_out(1);
                let (interface, refusal) = (self.name.clone(), Refusal::NeverTaken);
                return Err(Error::Refused { interface, refusal });
            }
            break;
        }
        Ok(sent)
    }

    /// The first `count` of those that wait do so no more.
    fn take_out(&mut self, count: usize) {
        self.departing[..self.waiting].rotate_left(count);
        self.waiting -= count;
        self.refusals = 0;
    }

    /// `EAGAIN`: the socket's buffer is full; `ENOBUFS`: the device's queue is, or it has no
    /// carrier, which does not pass by itself.
    fn is_full(&self, error: &io::Error) -> bool {
        const ENOBUFS: i32 = 105;
        match error.raw_os_error() {
            Some(ENOBUFS) => interface::is_running(&self.name).unwrap_or(false),
            _ => error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

impl Nic for Packet {
    fn receive(&mut self, take: &mut dyn FnMut(Arrival<'_>)) -> Result<usize, Error> {
        let received = match frames::receive(&self.socket, &mut self.arriving) {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if self.is_down {
                    self.look()?;
                }
                return Ok(0);
            }
            Err(error) => return Err(self.error("receive", error)),
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
                let Some(mut departure) = fill(bytes) else { break };
                if let Err(error) = departure.check_for(&self.name, &self.offloads, bytes.len()) {
                    refused = Some(error);
                    break;
                }
                if let Some(cut) = &mut departure.segmentation {
                    // Else CWR stands in all pieces, which says the same several times.
                    cut.ecn &= self.cuts_ecn;
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
