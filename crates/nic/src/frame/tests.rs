use super::*;

const OFFLOADS: Offloads =
    Offloads { checksum: true, segment_bytes_max: 60_000, mtu: 1_500, mac: None };
const AT: PartialChecksum = PartialChecksum { start: 34, offset: 16 };
const CUT: Segmentation = Segmentation { header_len: 54, payload: 1_446, ipv6: false, ecn: false };

#[test]
fn a_buffer_has_room_for_the_longer_of_packet_and_segment() {
    assert_eq!(OFFLOADS.frame_bytes_max(), 60_018);
    assert_eq!(Offloads { segment_bytes_max: 0, ..OFFLOADS }.frame_bytes_max(), 1_518);
}

#[test]
fn the_mtu_bounds_what_is_not_cut() {
    let room = OFFLOADS.frame_bytes_max();
    assert_eq!(Departure::whole(1_518).check(&OFFLOADS, room), Ok(()));
    let expected = Err(Refusal::TooLong { len: 1_519, len_max: 1_518 });
    assert_eq!(Departure::whole(1_519).check(&OFFLOADS, room), expected);
    let cut = |len| Departure { len, checksum: Some(AT), segmentation: Some(CUT) };
    assert_eq!(cut(60_018).check(&OFFLOADS, room), Ok(()));
    let expected = Err(Refusal::TooLong { len: 60_019, len_max: 60_018 });
    assert_eq!(cut(60_019).check(&OFFLOADS, room), expected);
    let expected = Err(Refusal::TooLong { len: 60_000, len_max: 100 });
    assert_eq!(cut(60_000).check(&OFFLOADS, 100), expected, "nor more than the buffer has");
}

#[test]
fn the_last_place_of_a_checksum_is_the_end() {
    let partial = |len| Departure { checksum: Some(AT), ..Departure::whole(len) };
    assert_eq!(partial(52).check(&OFFLOADS, 2_000), Ok(()));
    assert_eq!(partial(51).check(&OFFLOADS, 2_000), Err(Refusal::Outside));
}
