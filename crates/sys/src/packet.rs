//! Packet sockets (packet(7)): whole packets to and from links, beside the kernel's IP.
//!
//! [`PacketSender`] and [`PacketReceiver`] work above the link layer (`SOCK_DGRAM`): the kernel
//! writes and strips the Ethernet header, so what is read and written begins with the IP header on
//! every kind of link. [`LinkSocket`] works on one link, with Ethernet headers.

mod link;
mod ring;

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::{
    filter::{self, Instruction},
    option,
};
use ring::Ring;

pub use link::{LinkOptions, LinkSocket};
pub use ring::FRAME_BYTES;

/// `ETH_P_IP` of linux/if_ether.h.
pub const ETHER_TYPE_IPV4: u16 = 0x0800;
/// `ETH_P_ARP`.
pub const ETHER_TYPE_ARP: u16 = 0x0806;
/// `ETH_P_IPV6`.
pub const ETHER_TYPE_IPV6: u16 = 0x86dd;

fn open(kind: SocketType) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    // Protocol 0: it gets nothing before it is bound, with filter and ring in place.
    Ok(rustix::net::socket_with(AddressFamily::PACKET, kind, flags, None)?)
}

/// Straight to the driver: a queue that is full is then an error here, not a silent drop.
fn bypass_queueing(fd: &OwnedFd) {
    let _ignored_where_unknown =
        option::set(fd.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1);
}

/// How many packets the kernel could not deliver since the last call.
fn take_lost(fd: &OwnedFd) -> io::Result<u32> {
    let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    option::get(fd.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut stats)?;
    Ok(stats.tp_drops)
}

/// Sends packets to neighbours by [`Destination::Link`](crate::address::Destination::Link).
#[derive(Debug)]
pub struct PacketSender {
    fd: OwnedFd,
}

impl PacketSender {
    /// Opens one in the network namespace of the calling thread.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_RAW.
    pub fn open() -> io::Result<Self> {
        let fd = open(SocketType::DGRAM)?;
        bypass_queueing(&fd);
        Ok(Self { fd })
    }
}

impl AsFd for PacketSender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Receives packets of one kind from all links through memory that it shares with the kernel.
#[derive(Debug)]
pub struct PacketReceiver {
    // Before the descriptor: memory is given back first.
    ring: Ring,
    fd: OwnedFd,
}

impl PacketReceiver {
    /// Opens one in the network namespace of the calling thread, with room for `frames` packets
    /// (rounded up to whole blocks), each cut at [`FRAME_BYTES`] less some 80 for headers.
    /// `filter` stands before the first packet can come.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_RAW, `ENOMEM` where the ring does not fit into memory.
    pub fn open(ether_type: u16, filter: &[Instruction], frames: usize) -> io::Result<Self> {
        let fd = open(SocketType::DGRAM)?;
        filter::attach(&fd, filter)?;
        let ring = Ring::of(&fd, frames)?;
        crate::address::bind_packet(&fd, 0, ether_type)?;
        Ok(Self { ring, fd })
    }

    /// Hands over what came, without waiting: each packet from its IP header on, and whether it
    /// was cut.
    pub fn receive(&mut self, mut each: impl FnMut(&[u8], bool)) {
        self.ring.drain(&mut |_, bytes, is_cut| each(bytes, is_cut));
    }

    /// The same, and before it the number of the link that the packet came by: the virtual one,
    /// where it is a port of a bridge or bond or carries VLANs.
    pub fn receive_by_link(&mut self, mut each: impl FnMut(u32, &[u8], bool)) {
        self.ring.drain(&mut each);
    }

    /// How many packets the kernel could not deliver since the last call: the ring was full.
    ///
    /// # Errors
    /// The system call's error.
    pub fn take_lost(&self) -> io::Result<u32> {
        take_lost(&self.fd)
    }
}

impl AsFd for PacketReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests;
