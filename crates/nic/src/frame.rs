//! What stands beside the bytes of a frame.

use crate::error::{Error, Refusal};

/// The longest Ethernet header: one VLAN tag, 18 bytes.
pub const LINK_HEADER_BYTES_MAX: usize = 18;

/// A frame that came.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The frame from its Ethernet header on, without the checksum at its end. It may be longer
    /// than the MTU: devices and kernels put segments of one flow together.
    pub bytes: &'a [u8],
    /// Whether anybody has looked at the checksum of its TCP segment or UDP datagram.
    pub checksum: Checksum,
}

/// What is known about the checksum of what a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// Nothing: whoever reads it has to check.
    Unknown,
    /// The device has checked it, or the frame never left the machine. In the latter case the
    /// field holds only the sum over the pseudo header: it must not be checked again.
    Verified,
}

/// A frame that goes, as whoever wrote it into a buffer describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Its bytes, from the Ethernet header on.
    pub len: usize,
    /// The checksum that the device is to complete, if it is.
    pub checksum: Option<PartialChecksum>,
    /// How the device is to cut it, if it is. The checksum is then partial, too.
    pub segmentation: Option<Segmentation>,
}

impl Departure {
    /// A frame of `len` bytes for which there is nothing to do.
    #[must_use]
    pub const fn whole(len: usize) -> Self {
        Self { len, checksum: None, segmentation: None }
    }

    /// Whether a device with these offloads and buffers of `room` bytes can take it.
    pub(crate) fn check(&self, offloads: &Offloads, room: usize) -> Result<(), Refusal> {
        let longest = match self.segmentation {
            Some(_) => offloads.segment_bytes_max,
            None => usize::from(offloads.mtu),
        };
        let len_max = room.min(longest + LINK_HEADER_BYTES_MAX);
        let ends = |at: &PartialChecksum| usize::from(at.start) + usize::from(at.offset) + 2;
        match (&self.checksum, &self.segmentation) {
            (Some(_), _) if !offloads.checksum => Err(Refusal::Checksum),
            (_, Some(_)) if offloads.segment_bytes_max == 0 => Err(Refusal::Segmentation),
            (None, Some(_)) => Err(Refusal::SegmentationWithoutChecksum),
            _ if self.len > len_max => Err(Refusal::TooLong { len: self.len, len_max }),
            (Some(at), _) if ends(at) > self.len => Err(Refusal::Outside),
            (_, Some(cut)) if cut.payload == 0 || usize::from(cut.header_len) > self.len => {
                Err(Refusal::Outside)
            }
            _ => Ok(()),
        }
    }

    /// The same, as the error of `interface`.
    pub(crate) fn check_for(
        &self,
        interface: &str,
        offloads: &Offloads,
        room: usize,
    ) -> Result<(), Error> {
        let refused = |refusal| Error::Refused { interface: interface.to_owned(), refusal };
        self.check(offloads, room).map_err(refused)
    }
}

/// A checksum that the device completes: the field holds the sum over the pseudo header, and the
/// device adds the bytes from `start` to the end of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialChecksum {
    /// Where the TCP or UDP header begins, in bytes from the frame's first.
    pub start: u16,
    /// Where the field is, in bytes from `start`: 16 for TCP, 6 for UDP.
    pub offset: u16,
}

/// A TCP segment that the device cuts into several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// Bytes before the payload, from the Ethernet header on.
    pub header_len: u16,
    /// Bytes of payload in each segment but the last.
    pub payload: u16,
    /// Carried by IPv6; else by IPv4.
    pub ipv6: bool,
    /// The segment has the flag CWR, which only the first piece may keep (RFC 3168 6.1.2).
    pub ecn: bool,
}

/// What a device does for whoever sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offloads {
    /// It completes partial checksums.
    pub checksum: bool,
    /// The longest packet, from its IP header on, that it cuts into segments; 0 if it cuts none.
    pub segment_bytes_max: usize,
    /// The longest packet that it sends as it is, from its IP header on.
    pub mtu: u16,
    /// The Ethernet address that the device has, which others find it by. `None` where any may be
    /// taken; at a [`crate::Tap`] any but the one that the kernel's end has.
    pub mac: Option<[u8; 6]>,
}

impl Offloads {
    /// How long a buffer is that has room for every frame allowed.
    #[must_use]
    pub fn frame_bytes_max(&self) -> usize {
        self.segment_bytes_max.max(usize::from(self.mtu)) + LINK_HEADER_BYTES_MAX
    }
}

/// The longest packet of IP that has a length of 16 bits, in bytes.
pub(crate) const PACKET_BYTES_MAX: usize = 65_535;

#[cfg(test)]
mod tests;
