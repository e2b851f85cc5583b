//! TAP: the other end is this host's kernel, by an interface made for it (tun(4); Linux's
//! drivers/net/tun.c).
//!
//! The kernel hands over what it would send: segments of up to 64 KiB that are longer than the MTU,
//! with partial checksums ([`Checksum::Verified`](crate::Checksum)), and takes the same. Giving its
//! end an address is the user's matter: `ip addr add 192.0.2.1/24 dev tap0`.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsFd, BorrowedFd},
};

use portolan_sys::{interface, tap};

use crate::{
    BATCH_MAX, Nic,
    error::{Error, Kind},
    frame::{Arrival, Departure, LINK_HEADER_BYTES_MAX, Offloads, PACKET_BYTES_MAX},
    vnet::{self, HEADER_BYTES},
};

/// One queue of a TAP interface. An interface that did not exist before goes when its last queue
/// is dropped.
#[derive(Debug)]
pub struct Tap {
    queue: File,
    name: String,
    origin: Origin,
    offloads: Offloads,
    arriving: Box<[u8]>,
    departing: Box<[u8]>,
    /// Bytes of `departing` that the kernel had no room for.
    waiting: usize,
}

/// Where an interface comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was made now, and goes with its last queue.
    Created,
    /// It was there before, and stays.
    Attached,
}

impl Tap {
    /// Opens as many queues of the interface `name`, in the network namespace of the calling
    /// thread, among which the kernel spreads flows. Makes the interface if there is none; in a
    /// name such as `tap%d` the kernel sets the number.
    ///
    /// # Errors
    /// [`Error::NoTun`] where there is no /dev/net/tun; [`Error::Open`] without CAP_NET_ADMIN,
    /// where another program has the interface, where it is no TAP, or has a single queue and
    /// several are asked for.
    pub fn open(name: &str, queues: usize) -> Result<Vec<Self>, Error> {
        let failed = |source| Error::Open { kind: Kind::Tap, interface: name.to_owned(), source };
        let origin = match interface::index(name) {
            Ok(_) => Origin::Attached,
            Err(_) => Origin::Created,
        };
        // What it was made with cannot be asked beforehand: a single queue takes either.
        let is_multi_queue = queues > 1;
        let (mut taps, mut name) = (Vec::new(), name.to_owned());
        for _ in 0..queues {
            let opened = Self::open_queue(&name, origin, is_multi_queue);
            let tap = match opened {
                Err(Error::Open { source, .. })
                    if !is_multi_queue && source.kind() == io::ErrorKind::InvalidInput =>
                {
                    Self::open_queue(&name, origin, true)?
                }
                opened => opened?,
            };
            name.clone_from(&tap.name);
            taps.push(tap);
        }
        if taps.is_empty() {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        }
        Ok(taps)
    }

    fn open_queue(name: &str, origin: Origin, is_multi_queue: bool) -> Result<Self, Error> {
        let failed = |source| Error::Open { kind: Kind::Tap, interface: name.to_owned(), source };
        let queue =
            tap::open().map_err(|source| Error::NoTun { interface: name.to_owned(), source })?;
        let name = tap::attach(&queue, name, is_multi_queue).map_err(failed)?;
        tap::set_header_bytes(&queue, vnet::HEADER_BYTES_FOR_TUN).map_err(failed)?;
        tap::set_offload(&queue, true).map_err(failed)?;
        let mtu = interface::mtu(&name).map_err(failed)?;
        let offloads = Offloads {
            checksum: true,
            segment_bytes_max: PACKET_BYTES_MAX,
            mtu: u16::try_from(mtu).unwrap_or(u16::MAX),
            mac: None,
        };
        let frame = HEADER_BYTES + LINK_HEADER_BYTES_MAX + PACKET_BYTES_MAX;
        let buffer = || vec![0; frame].into_boxed_slice();
        let (arriving, departing) = (buffer(), buffer());
        Ok(Self { queue, name, origin, offloads, arriving, departing, waiting: 0 })
    }

    /// The interface's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the interface was made or was there.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Brings the interface up, or takes it down.
    ///
    /// # Errors
    /// [`Error::Open`] without CAP_NET_ADMIN, [`Error::Gone`].
    pub fn set_up(&self, is_up: bool) -> Result<(), Error> {
        interface::set_up(&self.name, is_up).map_err(|source| match source.kind() {
            io::ErrorKind::PermissionDenied => {
                Error::Open { kind: Kind::Tap, interface: self.name.clone(), source }
            }
            _ => Error::of("bring up", &self.name, source),
        })
    }

    /// Writes the frame that waits; `false` if it still has to.
    fn flush(&mut self) -> Result<bool, Error> {
        let frame = self.departing.get(..self.waiting).unwrap_or_default();
        match (&self.queue).write(frame) {
            Ok(_) => {
                self.waiting = 0;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => {
                self.waiting = 0;
                Err(Error::of("transmit", &self.name, error))
            }
        }
    }
}

impl Nic for Tap {
    fn receive(&mut self, take: &mut dyn FnMut(Arrival<'_>)) -> Result<usize, Error> {
        for received in 0..BATCH_MAX {
            let len = match (&self.queue).read(&mut self.arriving) {
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(received),
                // It is said with the next call.
                Err(_) if received > 0 => return Ok(received),
                Err(error) => return Err(Error::of("receive", &self.name, error)),
            };
            let whole = self.arriving.get(..len).and_then(<[u8]>::split_first_chunk);
            if let Some((header, bytes)) = whole {
                take(Arrival { bytes, checksum: vnet::checksum(header) });
            }
        }
        Ok(BATCH_MAX)
    }

    fn transmit(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> Option<Departure>,
    ) -> Result<usize, Error> {
        let mut sent = 0;
        if self.waiting > 0 {
            if !self.flush()? {
                return Ok(0);
            }
            sent += 1;
        }
        while let Some((header, frame)) = self.departing.split_first_chunk_mut() {
            let Some(departure) = fill(frame) else { break };
            departure.check_for(&self.name, &self.offloads, frame.len())?;
            *header = vnet::header(&departure);
            self.waiting = HEADER_BYTES + departure.len;
            if !self.flush()? {
                break;
            }
            sent += 1;
        }
        Ok(sent)
    }

    fn offloads(&self) -> Offloads {
        self.offloads
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.queue.as_fd())
    }
}
