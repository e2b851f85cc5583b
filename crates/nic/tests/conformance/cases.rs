//! The cases. Each gets a fresh link.

use std::time::Duration;

use portolan_nic::{BATCH_MAX, Checksum, Departure, Error, PartialChecksum, Refusal, Segmentation};

use super::{Got, Link, PATIENCE, frame, is_readable, put, receive, receive_batch, refusal, send};

pub fn frames_arrive_whole_and_in_order(link: &mut Link) {
    let longest = usize::from(link.near.offloads().mtu) + 14;
    for round in 0..3 {
        let numbers = round * 50..(round + 1) * 50;
        let lengths = (18..=longest).step_by((longest - 18) / 49);
        let frames: Vec<_> = lengths.zip(numbers).map(|(len, n)| frame(len, n)).collect();
        assert_eq!(frames.len(), 50);
        assert!(frames.last().unwrap().len() > longest - 100, "up to the longest");
        let whole = |bytes: &Vec<u8>| Got { bytes: bytes.clone(), checksum: Checksum::Unknown };
        let expected: Vec<Got> = frames.iter().map(whole).collect();
        send(&mut *link.near, &frames);
        assert_eq!(receive(link.far(), 50), expected);
        send(link.far(), &frames);
        assert_eq!(receive(&mut *link.near, 50), expected);
    }
}

pub fn batches_are_bounded(link: &mut Link) {
    let frames: Vec<_> = (0..200).map(|number| frame(60, number)).collect();
    send(link.far(), &frames);
    let mut got = Vec::new();
    while got.len() < frames.len() {
        let before = got.len();
        let received = receive_batch(&mut *link.near, &mut got);
        assert_eq!(received, got.len() - before, "it counts what it hands over");
        assert!(received <= BATCH_MAX, "{received}");
    }
    assert_eq!(link.near.receive(&mut |_| ()).unwrap(), 0);
}

pub fn nothing_there_is_zero_and_does_not_wait(link: &mut Link) {
    for _ in 0..3 {
        assert_eq!(link.near.receive(&mut |_| panic!("nobody sent")).unwrap(), 0);
    }
}

pub fn an_answer_of_none_ends_transmit(link: &mut Link) {
    for count in [0, 3, 31, 32, 33, 64, 65] {
        let mut asked = 0;
        let fill = &mut |buffer: &mut [u8]| {
            asked += 1;
            if asked > count { None } else { put(buffer, &frame(60, 1)) }
        };
        assert_eq!(link.near.transmit(fill).unwrap(), count);
        assert_eq!(asked, count + 1);
        assert_eq!(receive(link.far(), count).len(), count);
    }
}

pub fn buffers_have_room_for_the_longest_frame(link: &mut Link) {
    let room = link.near.offloads().frame_bytes_max();
    let mut asked = 0;
    let fill = &mut |buffer: &mut [u8]| {
        assert!(buffer.len() >= room, "{} of {room}", buffer.len());
        asked += 1;
        if asked > 100 { None } else { put(buffer, &frame(60, 1)) }
    };
    link.near.transmit(fill).unwrap();
}

pub fn too_long_a_frame_is_refused(link: &mut Link) {
    let longest = usize::from(link.near.offloads().mtu) + 18;
    for len in [longest + 1, usize::MAX] {
        let expected = Refusal::TooLong { len, len_max: longest };
        assert_eq!(refusal(&mut *link.near, Departure::whole(len)), expected);
    }
    // Those before it go, and those after it.
    let mut number = 0;
    let error = link.near.transmit(&mut |buffer| {
        number += 1;
        if number == 4 {
            Some(Departure::whole(longest + 1))
        } else {
            put(buffer, &frame(60, number))
        }
    });
    assert!(matches!(error, Err(Error::Refused { .. })), "{error:?}");
    assert_eq!(number, 4, "it ends there");
    send(&mut *link.near, &[frame(60, 5)]);
    let expected = [1, 2, 3, 5].map(|number| frame(60, number));
    let got = receive(link.far(), 4);
    assert!(got.iter().map(|got| &got.bytes).eq(&expected), "{got:?}");
}

const CHECKSUM: PartialChecksum = PartialChecksum { start: 34, offset: 16 };
const CUT: Segmentation = Segmentation { header_len: 54, payload: 1_446, ipv6: false, ecn: false };

pub fn what_is_not_offered_is_refused(link: &mut Link) {
    let offloads = link.near.offloads();
    let partial = Departure { checksum: Some(CHECKSUM), ..Departure::whole(60) };
    let cut = Departure { segmentation: Some(CUT), ..Departure::whole(60) };
    if !offloads.checksum {
        assert_eq!(refusal(&mut *link.near, partial), Refusal::Checksum);
    }
    let expected = match offloads.segment_bytes_max {
        0 => Refusal::Segmentation,
        _ => Refusal::SegmentationWithoutChecksum,
    };
    assert_eq!(refusal(&mut *link.near, cut), expected);
}

pub fn what_lies_outside_is_refused(link: &mut Link) {
    let offloads = link.near.offloads();
    let nic = &mut *link.near;
    let partial = |start, offset, len| Departure {
        checksum: Some(PartialChecksum { start, offset }),
        ..Departure::whole(len)
    };
    if offloads.checksum {
        for (start, offset) in [(34, 25), (u16::MAX, 0), (u16::MAX, u16::MAX), (59, 0)] {
            assert_eq!(refusal(nic, partial(start, offset, 60)), Refusal::Outside);
        }
    }
    if offloads.segment_bytes_max > 0 {
        for cut in [Segmentation { payload: 0, ..CUT }, Segmentation { header_len: 61, ..CUT }] {
            let departure = Departure { segmentation: Some(cut), ..partial(34, 16, 60) };
            assert_eq!(refusal(nic, departure), Refusal::Outside);
        }
        let len = offloads.segment_bytes_max + 19;
        let departure = Departure { segmentation: Some(CUT), ..partial(34, 16, len) };
        assert_eq!(refusal(nic, departure), Refusal::TooLong { len, len_max: len - 1 });
    }
}

pub fn a_full_device_is_no_error(link: &mut Link) {
    const COUNT: u32 = 3_000;
    let (mut filled, mut taken, mut got) = (0, 0, Vec::new());
    while taken < 3_000 {
        taken += link
            .near
            .transmit(&mut |buffer| {
                let next = frame(100, filled);
                filled += u32::from(filled < COUNT);
                if next == frame(100, COUNT) { None } else { put(buffer, &next) }
            })
            .unwrap();
        assert!(taken <= usize::try_from(filled).unwrap());
        while receive_batch(link.far(), &mut got) > 0 {}
    }
    got.extend(receive(link.far(), 3_000 - got.len()));
    for (number, got) in (0..COUNT).zip(&got) {
        assert!(got.bytes == frame(100, number), "{number}");
    }
    assert_eq!(got.len(), 3_000, "none twice");
}

pub fn a_checksum_may_be_partial(link: &mut Link) {
    if !link.near.offloads().checksum {
        return;
    }
    let bytes = frame(200, 1);
    let mut next = Some(Departure { checksum: Some(CHECKSUM), ..Departure::whole(200) });
    let fill = &mut |buffer: &mut [u8]| {
        put(buffer, &bytes);
        next.take()
    };
    assert_eq!(link.near.transmit(fill).unwrap(), 1);
    let got = receive(link.far(), 1);
    assert_eq!(got, [Got { bytes: bytes.clone(), checksum: Checksum::Verified }]);
}

/// A segment of TCP over IPv4, with addresses that nobody has.
fn segment(payload: usize) -> Vec<u8> {
    let mut bytes = frame(14 + 4, 0);
    bytes.truncate(12);
    bytes.extend([8, 0, 0x45, 0]);
    bytes.extend(u16::try_from(40 + payload).unwrap().to_be_bytes());
    bytes.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    // Ports, numbers, a header of 20 bytes, ACK, window, no checksum.
    bytes.extend([0x30, 0x39, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    assert_eq!(bytes.len(), 54);
    bytes.extend(&frame(payload + 18, 7)[18..]);
    bytes
}

pub fn long_segments_pass_whole(link: &mut Link) {
    let longest = link.near.offloads().segment_bytes_max;
    if longest == 0 {
        return;
    }
    for payload in [3_000, 40 << 10, longest - 40] {
        let bytes = segment(payload);
        let mut next =
            Some(Departure { len: bytes.len(), checksum: Some(CHECKSUM), segmentation: Some(CUT) });
        let fill = &mut |buffer: &mut [u8]| {
            put(buffer, &bytes);
            next.take()
        };
        assert_eq!(link.near.transmit(fill).unwrap(), 1);
        let got = receive(link.far(), 1);
        assert_eq!(got, [Got { bytes: bytes.clone(), checksum: Checksum::Verified }]);
    }
}

pub fn the_descriptor_is_ready_while_frames_wait(link: &mut Link) {
    let Some(before) = is_readable(&*link.near, Duration::ZERO) else { return };
    assert!(!before);
    for _ in 0..3 {
        let frames: Vec<_> = (0..70).map(|number| frame(60, number)).collect();
        send(link.far(), &frames);
        let mut got = Vec::new();
        while got.len() < 70 {
            assert_eq!(is_readable(&*link.near, PATIENCE), Some(true));
            receive_batch(&mut *link.near, &mut got);
        }
        assert_eq!(is_readable(&*link.near, Duration::ZERO), Some(false));
    }
}

pub fn a_link_that_is_down_is_said(link: &mut Link) {
    match link.set_up {
        Some(set_up) => set_up(false),
        None => link.far = None,
    }
    let mut asked = 0;
    let error = link.near.transmit(&mut |buffer| {
        asked += 1;
        if asked > 1 { None } else { put(buffer, &frame(60, 1)) }
    });
    let Err(Error::LinkDown { interface }) = error else { panic!("{error:?}") };
    assert!(!interface.is_empty());
    match link.near.receive(&mut |_| panic!("nobody sent")) {
        Ok(0) | Err(Error::LinkDown { .. }) => {}
        other => panic!("{other:?}"),
    }
    let Some(set_up) = link.set_up else { return };
    set_up(true);
    // It is said at most once more.
    for end in [&mut *link.near, link.far.as_deref_mut().unwrap()] {
        let _said = end.receive(&mut |_| ());
    }
    send(&mut *link.near, &[frame(60, 2)]);
    assert_eq!(receive(link.far(), 1)[0].bytes, frame(60, 2), "the frame before it is dropped");
}
