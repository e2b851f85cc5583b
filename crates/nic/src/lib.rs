//! Frames in and out.
//!
//! The crate's one idea: whatever carries frames is a [`Nic`] of two verbs. `receive` hands over a
//! batch of frames where they lie; `transmit` asks for frames and offers buffers to write them
//! into. Neither ever waits: who has nothing to do waits for `descriptor`. Frames are opaque bytes
//! that begin with an Ethernet header; what a device does for its user (checksums, cutting long
//! segments) is a plain value beside them.
//!
//! | device | what is at the other end |
//! |---|---|
//! | [`Mem`] | another value in the same process |
//! | [`Tap`] | this host's kernel, by an interface made for it |
//! | [`Packet`] | the network behind an interface of the kernel's, or a veth's other end |
//!
//! [`Fault`] and [`Pcap`] wrap any of them: one does damage, one writes everything down.
//!
//! Read in this order: `frame.rs`, `error.rs`, `mem.rs`, `vnet.rs`, `tap.rs`, `packet.rs`,
//! `fault.rs` (`fault/rates.rs`, `fault/random.rs`), `pcap.rs` (`pcap/format.rs`).

#![forbid(unsafe_code)]

use std::os::fd::BorrowedFd;

mod error;
pub mod fault;
mod frame;
pub mod mem;
pub mod packet;
mod pcap;
mod tap;
mod vnet;

pub use error::{Error, Refusal};
pub use fault::Fault;
pub use frame::{
    Arrival, Checksum, Departure, LINK_HEADER_BYTES_MAX, Offloads, PartialChecksum, Segmentation,
};
pub use mem::Mem;
pub use packet::Packet;
pub use pcap::Pcap;
pub use tap::{Origin, Tap};

/// A network interface, or one of its queues: what carries frames.
///
/// Each value belongs to one thread at a time. After an error it may be called again: errors say
/// what happened to one frame ([`Error::Refused`]) or to the link ([`Error::LinkDown`]), which may
/// come up again.
pub trait Nic {
    /// Hands over frames that have arrived, in order, [`BATCH_MAX`] at most, and returns how many
    /// there were; 0 when none waits. Never blocks.
    ///
    /// # Errors
    /// When the device cannot be read; what was handed over before stays so.
    fn receive(&mut self, take: &mut dyn FnMut(Arrival<'_>)) -> Result<usize, Error>;

    /// Offers `fill` one buffer after the other until it answers `None` or the device is full, and
    /// returns how many frames the device took. A buffer has room for the longest frame that
    /// [`Offloads`] allow; what it holds before is undefined. Never blocks.
    ///
    /// That the device is full is no error: `fill` has not answered `None` then, and the caller
    /// tries again when `descriptor` is writable. What was filled is the device's: frames that it
    /// had no room for go first with the next call, also with one that fills nothing.
    ///
    /// # Errors
    /// [`Error::Refused`] for a frame that is too long or asks for what the device does not do:
    /// that frame is dropped, those before it are on their way. Else when the device cannot be
    /// written to, where frames that wait in it are dropped.
    fn transmit(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> Option<Departure>,
    ) -> Result<usize, Error>;

    /// What the device does for whoever sends, and how long frames may be.
    fn offloads(&self) -> Offloads;

    /// A descriptor that is readable while frames wait, and writable while the device is not full;
    /// `None` where there is none and one has to ask by [`Nic::receive`].
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;
}

/// How many frames one call of [`Nic::receive`] hands over at most; twice as many where a [`Fault`]
/// doubles them.
pub const BATCH_MAX: usize = 64;

impl<N: Nic + ?Sized> Nic for &mut N {
    fn receive(&mut self, take: &mut dyn FnMut(Arrival<'_>)) -> Result<usize, Error> {
        (**self).receive(take)
    }

    fn transmit(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> Option<Departure>,
    ) -> Result<usize, Error> {
        (**self).transmit(fill)
    }

    fn offloads(&self) -> Offloads {
        (**self).offloads()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        (**self).descriptor()
    }
}

impl<N: Nic + ?Sized> Nic for Box<N> {
    fn receive(&mut self, take: &mut dyn FnMut(Arrival<'_>)) -> Result<usize, Error> {
        (**self).receive(take)
    }

    fn transmit(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> Option<Departure>,
    ) -> Result<usize, Error> {
        (**self).transmit(fill)
    }

    fn offloads(&self) -> Offloads {
        (**self).offloads()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        (**self).descriptor()
    }
}
