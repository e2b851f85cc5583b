//! Links in memory, alone and wrapped.

mod conformance;

use std::{thread, time::Duration};

use conformance::{Link, conformance, frame, put};
use portolan_nic::{BATCH_MAX, Fault, Nic, Pcap, fault::Faults, mem};

const OFFLOADS: mem::Options =
    mem::Options { mtu: 1_500, frames: 256, checksum: true, segment_bytes_max: 65_535 };

mod plain {
    use super::*;

    conformance!(|| {
        let (near, far) = mem::pair(&mem::Options::default());
        Link { near: Box::new(near), far: Some(Box::new(far)), set_up: None }
    });
}

mod with_offloads {
    use super::*;

    conformance!(|| {
        let (near, far) = mem::pair(&OFFLOADS);
        Link { near: Box::new(near), far: Some(Box::new(far)), set_up: None }
    });
}

mod behind_no_faults {
    use super::*;

    conformance!(|| {
        let (near, far) = mem::pair(&OFFLOADS);
        let near = Fault::new(near, &Faults::default());
        Link { near: Box::new(near), far: Some(Box::new(far)), set_up: None }
    });
}

mod captured {
    use super::*;

    conformance!(|| {
        let (near, far) = mem::pair(&OFFLOADS);
        let near = Pcap::new(near, "near", Vec::new()).unwrap();
        Link { near: Box::new(near), far: Some(Box::new(far)), set_up: None }
    });
}

#[test]
fn as_many_frames_are_under_way_as_there_is_room_for() {
    for frames in [1, 63, 64, 65, 300] {
        let (mut near, mut far) = mem::pair(&mem::Options { frames, ..mem::Options::default() });
        let fill = &mut |buffer: &mut [u8]| put(buffer, &frame(60, 1));
        assert_eq!(near.transmit(fill).unwrap(), frames);
        assert_eq!(near.transmit(fill).unwrap(), 0, "full is no error");
        assert_eq!(far.receive(&mut |_| ()).unwrap(), frames.min(BATCH_MAX));
        assert_eq!(near.transmit(fill).unwrap(), frames.min(BATCH_MAX));
    }
}

#[test]
fn ends_work_in_threads_of_their_own() {
    const COUNT: u32 = 20_000;
    let (mut near, mut far) = mem::pair(&mem::Options { frames: 8, ..mem::Options::default() });
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut next = 0;
            while next < COUNT {
                let fill = &mut |buffer: &mut [u8]| {
                    next += 1;
                    if next > COUNT { None } else { put(buffer, &frame(64, next)) }
                };
                near.transmit(fill).unwrap();
                thread::yield_now();
            }
        });
        let mut expected = 1;
        while expected <= COUNT {
            let take = &mut |it: portolan_nic::Arrival<'_>| {
                assert!(it.bytes == frame(64, expected), "{expected}");
                expected += 1;
            };
            if far.receive(take).unwrap() == 0 {
                thread::sleep(Duration::from_micros(10));
            }
        }
    });
}

#[test]
fn what_was_sent_before_the_other_end_went_still_comes() {
    let (mut near, mut far) = mem::pair(&mem::Options::default());
    conformance::send(&mut near, &[frame(60, 1)]);
    drop(near);
    assert_eq!(conformance::receive(&mut far, 1)[0].bytes, frame(60, 1));
    assert_eq!(far.receive(&mut |_| ()).unwrap(), 0);
}
