use super::*;

#[test]
fn a_partial_checksum_counts_from_the_segment() {
    let partial = stack::PartialChecksum { start: 34, offset: 50 };
    let from = stack::Departure { len: 60, checksum: Some(partial), segmentation: None };
    let wanted = nic::PartialChecksum { start: 34, offset: 16 };
    assert_eq!(departure(from).checksum, Some(wanted), "RFC 9293, section 3.1: byte 16");
}

#[test]
fn headers_fit_beside_the_payload() {
    let of = nic::Offloads { checksum: true, segment_bytes_max: 65_535, mtu: 1_500, mac: None };
    assert_eq!(offloads(&of).segment_bytes_max, 65_435);
    assert_eq!(offloads(&nic::Offloads { checksum: false, ..of }).segment_bytes_max, 0);
}
