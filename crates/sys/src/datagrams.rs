//! Many datagrams with one system call: `sendmmsg(2)` and `recvmmsg(2)`, without allocation.

use std::{
    io, mem,
    net::SocketAddr,
    os::fd::{AsFd, AsRawFd, RawFd},
};

use crate::address::{self, Destination};

/// How many datagrams go with one call.
pub const BATCH: usize = 64;

/// Datagrams of at most `BYTES` bytes that wait to be sent together.
#[derive(Debug)]
pub struct Outbox<const BYTES: usize> {
    waiting: Vec<Parcel<BYTES>>,
}

#[derive(Debug)]
struct Parcel<const BYTES: usize> {
    destination: libc::sockaddr_storage,
    destination_len: libc::socklen_t,
    len: usize,
    bytes: [u8; BYTES],
}

impl<const BYTES: usize> Default for Outbox<BYTES> {
    fn default() -> Self {
        Self { waiting: Vec::with_capacity(BATCH) }
    }
}

impl<const BYTES: usize> Outbox<BYTES> {
    /// How many datagrams wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether no more can be added before it is sent.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.waiting.len() == BATCH
    }

    /// Adds a datagram, which `write` puts into a buffer of `BYTES` bytes, returning its length.
    ///
    /// # Panics
    /// When it is full.
    pub fn push(&mut self, destination: &Destination, write: impl FnOnce(&mut [u8]) -> usize) {
        assert!(!self.is_full(), "an outbox is sent before it overflows");
        let (destination, destination_len) = destination.to_kernel();
        let mut parcel = Parcel { destination, destination_len, len: 0, bytes: [0; BYTES] };
        parcel.len = write(&mut parcel.bytes).min(BYTES);
        self.waiting.push(parcel);
    }

    /// Sends what waits, in order, as far as the kernel takes it. Returns how many it took; those
    /// no longer wait.
    ///
    /// # Errors
    /// Why the first one was not taken.
    pub fn send(&mut self, fd: impl AsFd) -> io::Result<usize> {
        let fd = fd.as_fd().as_raw_fd();
        let sent = match self.waiting.as_slice() {
            [] => return Ok(0),
            [one] => one.send(fd)?,
            _ => self.send_several(fd)?,
        };
        self.waiting.drain(..sent);
        Ok(sent)
    }

    fn send_several(&mut self, fd: RawFd) -> io::Result<usize> {
        // SAFETY: all-zero bytes are valid for both.
        let (mut slices, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (mem::zeroed(), mem::zeroed()) };
        let parts = slices.iter_mut().zip(&mut headers);
        for ((slice, header), parcel) in parts.zip(&mut self.waiting) {
            slice.iov_base = parcel.bytes.as_mut_ptr().cast();
            slice.iov_len = parcel.len;
            header.msg_hdr.msg_name = (&raw mut parcel.destination).cast();
            header.msg_hdr.msg_namelen = parcel.destination_len;
            header.msg_hdr.msg_iov = slice;
            header.msg_hdr.msg_iovlen = 1;
        }
        let count = libc::c_uint::try_from(self.waiting.len()).unwrap_or(0);
        // SAFETY: `count` headers point at names and bytes of `self.waiting` and at `slices`, all
        // of which live, unmoved, until the call returns.
        let sent = unsafe { libc::sendmmsg(fd, headers.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// Takes all out, unsent.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Takes the first out, unsent.
    pub fn drop_first(&mut self) {
        if !self.waiting.is_empty() {
            self.waiting.remove(0);
        }
    }
}

impl<const BYTES: usize> Parcel<BYTES> {
    /// Sends this one alone, which is cheaper than a batch of one.
    fn send(&self, fd: RawFd) -> io::Result<usize> {
        let name = (&raw const self.destination).cast();
        let (bytes, len) = (self.bytes.as_ptr().cast(), self.len);
        // SAFETY: `len` bytes and the name's length are within what `self` owns.
        let sent =
            unsafe { libc::sendto(fd, bytes, len, libc::MSG_DONTWAIT, name, self.destination_len) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(1) }
    }

    /// Receives one datagram, and who sent it if that `is_wanted`; whether it was cut.
    fn receive(&mut self, fd: RawFd, is_wanted: bool) -> io::Result<bool> {
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        let bytes = self.bytes.as_mut_ptr().cast();
        self.destination_len = if is_wanted { NAME_BYTES } else { 0 };
        let (name, name_len) = match is_wanted {
            true => ((&raw mut self.destination).cast(), &raw mut self.destination_len),
            false => (std::ptr::null_mut(), std::ptr::null_mut()),
        };
        // SAFETY: the kernel writes at most `BYTES` bytes to `bytes`, and an address to `name` and
        // its length behind the last pointer unless both are null; `self` owns all of them.
        let got = unsafe { libc::recvfrom(fd, bytes, BYTES, flags, name, name_len) };
        let len = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
        self.len = len.min(BYTES);
        Ok(len > BYTES)
    }

    fn received(&self, is_cut: bool) -> Received<'_> {
        Received {
            source: address::from_kernel(&self.destination, self.destination_len),
            bytes: &self.bytes[..self.len],
            is_cut,
        }
    }
}

/// Length of what addresses are received into.
#[allow(clippy::cast_possible_truncation, reason = "128")]
const NAME_BYTES: libc::socklen_t = size_of::<libc::sockaddr_storage>() as libc::socklen_t;

/// Room for datagrams of at most `BYTES` bytes that are received together.
pub struct Inbox<const BYTES: usize> {
    parcels: Vec<Parcel<BYTES>>,
}

impl<const BYTES: usize> Default for Inbox<BYTES> {
    fn default() -> Self {
        let parcel = || Parcel {
            // SAFETY: all-zero bytes are a valid address of no family.
            destination: unsafe { mem::zeroed() },
            destination_len: 0,
            len: 0,
            bytes: [0; BYTES],
        };
        Self { parcels: (0..BATCH).map(|_| parcel()).collect() }
    }
}

impl<const BYTES: usize> std::fmt::Debug for Inbox<BYTES> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Inbox").field("parcels", &self.parcels.len()).finish()
    }
}

/// A datagram that came.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Who sent it; `None` where the address is not of IP, or was not wanted.
    pub source: Option<SocketAddr>,
    /// What it holds.
    pub bytes: &'a [u8],
    /// It was longer than there was room.
    pub is_cut: bool,
}

impl<const BYTES: usize> Inbox<BYTES> {
    /// Receives one datagram, without waiting, where more are not expected; its source only if
    /// that `is_wanted`.
    ///
    /// # Errors
    /// `EAGAIN` where there is nothing; the socket's pending error, if it has one.
    pub fn receive_one(&mut self, fd: impl AsFd, is_wanted: bool) -> io::Result<Received<'_>> {
        let [parcel, ..] = self.parcels.as_mut_slice() else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let is_cut = parcel.receive(fd.as_fd().as_raw_fd(), is_wanted)?;
        Ok(parcel.received(is_cut))
    }

    /// Receives what is there, without waiting, [`BATCH`] at most, and hands it to `each`.
    /// Returns how many there were.
    ///
    /// # Errors
    /// `EAGAIN` where there is nothing; the socket's pending error, if it has one.
    pub fn receive(
        &mut self,
        fd: impl AsFd,
        mut each: impl FnMut(Received<'_>),
    ) -> io::Result<usize> {
        // SAFETY: all-zero bytes are valid for both.
        let (mut slices, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (mem::zeroed(), mem::zeroed()) };
        let parts = slices.iter_mut().zip(&mut headers);
        for ((slice, header), parcel) in parts.zip(&mut self.parcels) {
            slice.iov_base = parcel.bytes.as_mut_ptr().cast();
            slice.iov_len = BYTES;
            header.msg_hdr.msg_name = (&raw mut parcel.destination).cast();
            header.msg_hdr.msg_namelen = NAME_BYTES;
            header.msg_hdr.msg_iov = slice;
            header.msg_hdr.msg_iovlen = 1;
        }
        let fd = fd.as_fd().as_raw_fd();
        let (flags, no_wait) = (libc::MSG_DONTWAIT, std::ptr::null_mut());
        let count = libc::c_uint::try_from(self.parcels.len()).unwrap_or(0);
        // SAFETY: `count` headers point at names and bytes of `self.parcels` and at `slices`, all
        // of which live, unmoved, until the call returns; the time is null, which is allowed.
        let got = unsafe { libc::recvmmsg(fd, headers.as_mut_ptr(), count, flags, no_wait) };
        let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
        for (header, parcel) in headers.iter().zip(&mut self.parcels).take(got) {
            parcel.len = usize::try_from(header.msg_len).unwrap_or(0).min(BYTES);
            parcel.destination_len = header.msg_hdr.msg_namelen;
            each(parcel.received(header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0));
        }
        Ok(got)
    }
}

#[cfg(test)]
mod tests;
