//! Whole frames, with the Ethernet header, from and to one link (`SOCK_RAW`).

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use rustix::net::{SocketType, sockopt};

use crate::{
    filter::{self, Instruction},
    option,
};

/// `ETH_P_ALL` of linux/if_ether.h: frames of every kind.
const ETHER_TYPE_ALL: u16 = 0x0003;

/// How a [`LinkSocket`] is set up.
#[derive(Clone, Copy, Debug)]
pub struct LinkOptions {
    /// Also frames for other Ethernet addresses (`PACKET_MR_PROMISC`).
    pub is_promiscuous: bool,
    /// What the kernel may queue for each socket, in bytes.
    pub receive_bytes: usize,
}

/// Receives the frames that come by a link, and sends frames by it. Every frame has a
/// `struct virtio_net_hdr` of 10 bytes before it. It does not wait.
///
/// Frames go straight to the device. Sending ends with `ENOBUFS` when the device is full, has no
/// carrier, or cannot cut a segment itself: the kernel does not do that on this way
/// (`__dev_direct_xmit` in net/core/dev.c).
#[derive(Debug)]
pub struct LinkSocket {
    fd: OwnedFd,
}

impl LinkSocket {
    /// Opens `count` sockets on the link with the number `interface`, in the network namespace of
    /// the calling thread, among which the kernel spreads flows by their hash, so that both
    /// directions of a flow meet (`PACKET_FANOUT_HASH`).
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_RAW, `ENODEV` where there is no such link, `ENETDOWN` where it is
    /// down, `EINVAL` for more than 65,536 sockets.
    pub fn open(interface: u32, count: usize, options: &LinkOptions) -> io::Result<Vec<Self>> {
        let sockets = (0..count).map(|_| Self::open_deaf(interface, options));
        let sockets: Vec<Self> = sockets.collect::<io::Result<_>>()?;
        if let [first, further @ ..] = sockets.as_slice()
            && !further.is_empty()
        {
            let group = first.join(None)?;
            for socket in further {
                socket.join(Some(group))?;
            }
        }
        // From here on each gets its share, and not before: it would be everybody's.
        for socket in &sockets {
            filter::attach(&socket.fd, &EVERYTHING)?;
        }
        Ok(sockets)
    }

    /// Opens one that wants no frame yet.
    fn open_deaf(interface: u32, options: &LinkOptions) -> io::Result<Self> {
        let fd = super::open(SocketType::RAW)?;
        filter::attach(&fd, &NOTHING)?;
        let raw = fd.as_raw_fd();
        option::set(raw, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
        option::set(raw, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        super::bypass_queueing(&fd);
        // Beyond the system's limit for those who may; up to it for the rest.
        if sockopt::set_socket_recv_buffer_size_force(&fd, options.receive_bytes).is_err() {
            sockopt::set_socket_recv_buffer_size(&fd, options.receive_bytes)?;
        }
        crate::address::bind_packet(&fd, interface, ETHER_TYPE_ALL)?;
        // Neighbours ask by groups that the kernel itself has not joined.
        let promiscuous = options.is_promiscuous.then_some(libc::PACKET_MR_PROMISC);
        for kind in [Some(libc::PACKET_MR_ALLMULTI), promiscuous].into_iter().flatten() {
            let membership = libc::packet_mreq {
                mr_ifindex: i32::try_from(interface).unwrap_or(0),
                mr_type: u16::try_from(kind).unwrap_or(0),
                mr_alen: 0,
                mr_address: [0; 8],
            };
            option::set(raw, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        }
        Ok(Self { fd })
    }

    /// Joins a group, a new one without a number; returns the number.
    fn join(&self, group: Option<u16>) -> io::Result<u16> {
        let fd = self.fd.as_raw_fd();
        // A group does not ask its sockets whether they want what is sent.
        let kind = libc::PACKET_FANOUT_HASH | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING;
        let unique = if group.is_none() { libc::PACKET_FANOUT_FLAG_UNIQUEID } else { 0 };
        let request = u32::from(group.unwrap_or(0)) | (kind | unique) << 16;
        let request = libc::c_int::from_ne_bytes(request.to_ne_bytes());
        option::set(fd, libc::SOL_PACKET, libc::PACKET_FANOUT, &request)?;
        let mut joined: libc::c_int = 0;
        option::get(fd, libc::SOL_PACKET, libc::PACKET_FANOUT, &mut joined)?;
        // The lower half is the number.
        u16::try_from(joined & 0xffff).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// How many frames the kernel could not deliver since the last call: there was no room.
    ///
    /// # Errors
    /// The system call's error.
    pub fn take_lost(&self) -> io::Result<u32> {
        super::take_lost(&self.fd)
    }
}

impl AsFd for LinkSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// `BPF_RET | BPF_K`: how many bytes of a frame are wanted.
const fn wanted(bytes: u32) -> Instruction {
    Instruction { code: 0x06, jump_true: 0, jump_false: 0, operand: bytes }
}

const NOTHING: [Instruction; 1] = [wanted(0)];

/// All that came, whatever the kernel thinks of being asked to leave out the rest.
const EVERYTHING: [Instruction; 4] = [
    // `BPF_LD | BPF_W | BPF_ABS` at `SKF_AD_OFF + SKF_AD_PKTTYPE` of linux/filter.h.
    Instruction { code: 0x20, jump_true: 0, jump_false: 0, operand: 0xffff_f004 },
    // `BPF_JMP | BPF_JEQ | BPF_K`: `PACKET_OUTGOING`.
    Instruction { code: 0x15, jump_true: 1, jump_false: 0, operand: 4 },
    wanted(u32::MAX),
    wanted(0),
];

#[cfg(test)]
mod tests;
