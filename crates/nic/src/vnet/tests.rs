use super::*;
use crate::frame::{PartialChecksum, Segmentation};

#[test]
fn a_whole_frame_has_an_empty_header() {
    assert_eq!(header(&Departure::whole(60)), [0; 10]);
}

/// The layout of `struct virtio_net_hdr` on a little-endian host.
#[cfg(target_endian = "little")]
#[test]
fn everything_is_where_the_kernel_looks_for_it() {
    let checksum = Some(PartialChecksum { start: 0x0122, offset: 16 });
    let departure = Departure { len: 9_000, checksum, segmentation: None };
    assert_eq!(header(&departure), [1, 0, 0, 0, 0, 0, 0x22, 1, 16, 0]);
    let cut = |ipv6, ecn| {
        let segmentation = Some(Segmentation { header_len: 0x0142, payload: 1_460, ipv6, ecn });
        header(&Departure { segmentation, ..departure })
    };
    assert_eq!(cut(false, false), [1, 1, 0x42, 1, 0xb4, 5, 0x22, 1, 16, 0]);
    assert_eq!(cut(true, false)[1], 4);
    assert_eq!(cut(false, true)[1], 0x81);
    assert_eq!(cut(true, true)[1], 0x84);
}

#[test]
fn partial_and_checked_are_verified() {
    let of = |flags| checksum(&[flags, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(of(0), Checksum::Unknown);
    assert_eq!(of(1), Checksum::Verified);
    assert_eq!(of(2), Checksum::Verified);
    assert_eq!(of(4), Checksum::Unknown, "the flag of something else");
}
