//! A ring of frames that the kernel fills (`PACKET_RX_RING`, version 2: a frame is visible as soon
//! as it is written, where version 3 holds back whole blocks).

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering},
};

use rustix::mm::{MapFlags, ProtFlags};

use crate::option;

/// Bytes of a frame: the kernel's headers and the packet, cut.
pub const FRAME_BYTES: usize = 512;

/// Bytes of a block, which the kernel allocates in one piece.
const BLOCK_BYTES: usize = 1 << 16;

/// Where the kernel writes a frame's `sockaddr_ll`: behind the header, aligned to 16 bytes
/// (`TPACKET_ALIGNMENT` of linux/if_packet.h).
const SENDER_OFFSET: usize = size_of::<libc::tpacket2_hdr>().next_multiple_of(16);

/// The frames, mapped.
#[derive(Debug)]
pub struct Ring {
    memory: NonNull<u8>,
    len: usize,
    next: usize,
}

// SAFETY: the mapping belongs to the value alone and is not tied to a thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Sets up a ring of at least `frames` on a packet socket and maps it.
    pub fn of(fd: &OwnedFd, frames: usize) -> io::Result<Self> {
        let raw = fd.as_raw_fd();
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        option::set(raw, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        let blocks = (frames * FRAME_BYTES).div_ceil(BLOCK_BYTES).max(1);
        let len = blocks * BLOCK_BYTES;
        let number = |value: usize| libc::c_uint::try_from(value).unwrap_or(libc::c_uint::MAX);
        let request = libc::tpacket_req {
            tp_block_size: number(BLOCK_BYTES),
            tp_block_nr: number(blocks),
            tp_frame_size: number(FRAME_BYTES),
            tp_frame_nr: number(len / FRAME_BYTES),
        };
        option::set(raw, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no other memory.
        let memory = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, fd, 0)
        }?;
        let memory = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { memory, len, next: 0 })
    }

    /// Hands over every frame that the kernel has filled, one round of the ring at most: the number
    /// of the link that it came by, the packet, and whether it was cut.
    pub fn drain(&mut self, each: &mut dyn FnMut(u32, &[u8], bool)) {
        for _ in 0..self.len / FRAME_BYTES {
            let offset = self.next * FRAME_BYTES;
            // SAFETY: `next` is less than the number of frames, so the frame lies in the mapping.
            let frame = unsafe { self.memory.add(offset) };
            // SAFETY: a frame begins with its status, a 32-bit word that the kernel writes too;
            // frames are aligned to 16 bytes (TPACKET_ALIGNMENT).
            let status = unsafe { AtomicU32::from_ptr(frame.as_ptr().cast()) };
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return;
            }
            // SAFETY: the status says that the frame is ours until it is given back; the header
            // is plain numbers.
            let header = unsafe { frame.cast::<libc::tpacket2_hdr>().read() };
            let start = usize::from(header.tp_net);
            let len = usize::try_from(header.tp_snaplen).unwrap_or(0);
            if start >= SENDER_OFFSET + size_of::<libc::sockaddr_ll>() && start + len <= FRAME_BYTES
            {
                // SAFETY: behind the header the kernel has written where the packet came from,
                // which is plain numbers; it ends before the packet, as was just seen.
                let sender = unsafe { frame.add(SENDER_OFFSET).cast::<libc::sockaddr_ll>().read() };
                let interface = u32::try_from(sender.sll_ifindex).unwrap_or(0);
                // SAFETY: the range lies in the frame, which the kernel does not write while it
                // is ours.
                let bytes = unsafe { std::slice::from_raw_parts(frame.add(start).as_ptr(), len) };
                each(interface, bytes, header.tp_snaplen < header.tp_len);
            }
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % (self.len / FRAME_BYTES);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nothing borrows from it any more.
        let _ = unsafe { rustix::mm::munmap(self.memory.as_ptr().cast(), self.len) };
    }
}
