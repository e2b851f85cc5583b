//! `struct virtio_net_hdr`, which stands before every frame of a TAP or packet socket
//! (linux/virtio_net.h; virtio 1.2, 5.1.6). Its numbers are in the host's byte order.

use crate::frame::{Checksum, Departure};

/// Its length in bytes.
pub(crate) const HEADER_BYTES: usize = 10;

/// The same for `TUNSETVNETHDRSZ`.
pub(crate) const HEADER_BYTES_FOR_TUN: i32 = 10;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum is partial.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_F_DATA_VALID`: the checksum was checked.
const DATA_VALID: u8 = 2;
/// `VIRTIO_NET_HDR_GSO_TCPV4`.
const SEGMENTS_IPV4: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_TCPV6`.
const SEGMENTS_IPV6: u8 = 4;
/// `VIRTIO_NET_HDR_GSO_ECN`.
const SEGMENTS_ECN: u8 = 0x80;

/// The header of a frame that goes.
pub(crate) fn header(departure: &Departure) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let [flags, kind, h0, h1, p0, p1, s0, s1, o0, o1] = &mut header;
    if let Some(checksum) = departure.checksum {
        *flags = NEEDS_CHECKSUM;
        [*s0, *s1] = checksum.start.to_ne_bytes();
        [*o0, *o1] = checksum.offset.to_ne_bytes();
    }
    if let Some(cut) = departure.segmentation {
        *kind = if cut.ipv6 { SEGMENTS_IPV6 } else { SEGMENTS_IPV4 };
        if cut.ecn {
            *kind |= SEGMENTS_ECN;
        }
        [*h0, *h1] = cut.header_len.to_ne_bytes();
        [*p0, *p1] = cut.payload.to_ne_bytes();
    }
    header
}

/// What the header of a frame that came says about its checksum.
pub(crate) fn checksum(header: &[u8; HEADER_BYTES]) -> Checksum {
    match header[0] & (NEEDS_CHECKSUM | DATA_VALID) {
        0 => Checksum::Unknown,
        _ => Checksum::Verified,
    }
}

#[cfg(test)]
mod tests;
