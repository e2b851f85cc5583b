//! What a frame that leaves carries besides its bytes: what the device is to do.

/// What the device can do for frames that leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offloads {
    /// It completes the checksum of TCP segments.
    pub checksum: bool,
    /// The largest TCP segment in bytes that it cuts into frames (TSO); 0 if it cuts none.
    pub segment_bytes_max: usize,
}

/// A frame that leaves: it lies at the front of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Its length in bytes, Ethernet header included.
    pub len: usize,
    /// The checksum that the device has to complete; none if it is whole.
    pub checksum: Option<PartialChecksum>,
    /// How the device has to cut the frame; none if it is to be sent as it is.
    pub segmentation: Option<Segmentation>,
}

/// Over which bytes the device sums, and where it writes. Both count from the frame's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialChecksum {
    /// The first byte that is summed; all up to the frame's end are.
    pub start: u16,
    /// Where the checksum is. It holds the sum of the pseudo header.
    pub offset: u16,
}

/// How a large TCP segment is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// Length of all headers in bytes, which each frame gets.
    pub header_len: u16,
    /// How many bytes of payload each frame gets; the last one may get fewer.
    pub payload: u16,
    /// Whether the packet is IPv6.
    pub ipv6: bool,
    /// Whether the segment has CWR set, which only the first frame may have: RFC 3168.
    pub ecn: bool,
}
