use std::collections::BTreeSet;

use super::*;
use crate::{
    Mem,
    frame::PartialChecksum,
    mem::{self, Options},
};

const COUNT: u32 = 20_000;

fn pair(faults: &str) -> (Fault<Mem>, Mem) {
    let options = Options { checksum: true, segment_bytes_max: 65_535, ..Options::default() };
    let (near, far) = mem::pair(&options);
    (Fault::new(near, &faults.parse().unwrap()), far)
}

fn put(buffer: &mut [u8], number: u32) -> Option<Departure> {
    buffer[..8].copy_from_slice(&u64::from(number).to_be_bytes());
    Some(Departure::whole(8))
}

/// What comes out of `to` when `COUNT` numbered frames go into `from`, 64 at a time.
fn through(from: &mut dyn Nic, to: &mut dyn Nic) -> Vec<u64> {
    let (mut next, mut got) = (0, Vec::new());
    while next < COUNT {
        let end = next + 64;
        let fill = &mut |buffer: &mut [u8]| {
            if next == end || next == COUNT {
                return None;
            }
            next += 1;
            put(buffer, next - 1)
        };
        from.transmit(fill).unwrap();
        let take =
            &mut |it: Arrival<'_>| got.push(u64::from_be_bytes(it.bytes.try_into().unwrap()));
        while to.receive(take).unwrap() > 0 {}
    }
    got
}

fn both_ways(faults: &str) -> [(Vec<u64>, Counts); 2] {
    let (mut near, mut far) = pair(faults);
    let there = through(&mut near, &mut far);
    let back = through(&mut far, &mut near);
    [(there, near.transmitted()), (back, near.received())]
}

/// Within a factor of two of what was asked for: 20,000 draws are that close for every seed.
fn is_about(count: u64, share: f64) -> bool {
    let expected = share * f64::from(COUNT);
    (expected / 2.0..expected * 2.0).contains(&(count as f64))
}

#[test]
fn without_faults_everything_passes() {
    for (got, counts) in both_ways("seed=3") {
        assert!(got.iter().copied().eq(0..u64::from(COUNT)));
        assert_eq!(counts, Counts { seen: u64::from(COUNT), ..Counts::default() });
    }
}

#[test]
fn lost_frames_do_not_come_and_the_others_do() {
    for (got, counts) in both_ways("loss=5%,seed=3") {
        assert!(is_about(counts.lost, 0.05), "{counts:?}");
        assert_eq!(got.len() as u64 + counts.lost, u64::from(COUNT));
        assert!(got.is_sorted());
    }
}

#[test]
fn duplicates_follow_each_other() {
    for (got, counts) in both_ways("duplicate=5%,seed=3") {
        assert!(is_about(counts.duplicated, 0.05), "{counts:?}");
        let twice = got.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert_eq!(twice as u64, counts.duplicated);
        assert_eq!(got.len() as u64, u64::from(COUNT) + counts.duplicated);
        assert!(got.is_sorted());
    }
}

#[test]
fn overtaken_frames_come_right_behind_the_next() {
    for (got, counts) in both_ways("reorder=5%,seed=3") {
        assert!(is_about(counts.reordered, 0.05), "{counts:?}");
        let swapped = got.windows(2).filter(|pair| pair[0] == pair[1] + 1).count();
        assert_eq!(swapped as u64, counts.reordered);
        let mut sorted = got;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..u64::from(COUNT)), "none lost, none twice");
    }
}

#[test]
fn corrupted_frames_have_one_bit_changed() {
    for (got, counts) in both_ways("corrupt=5%,seed=3") {
        assert!(is_about(counts.corrupted, 0.05), "{counts:?}");
        assert_eq!(got.len(), usize::try_from(COUNT).unwrap());
        let changed = got.iter().zip(0..).map(|(&got, sent): (_, u64)| (got ^ sent).count_ones());
        let changed: Vec<u32> = changed.collect();
        assert!(changed.iter().all(|&bits| bits <= 1));
        assert_eq!(u64::from(changed.iter().sum::<u32>()), counts.corrupted);
    }
}

#[test]
fn the_seed_determines_everything() {
    const ALL: &str = "loss=3%,duplicate=3%,reorder=3%,corrupt=3%,seed=";
    let of = |seed: u32| both_ways(&format!("{ALL}{seed}"));
    assert!(of(7) == of(7));
    let ([there, back], [other, _]) = (of(7), of(8));
    assert!(there.0 != other.0, "another seed, other faults");
    assert!(there.0 != back.0, "each direction has its own sequence");
}

#[test]
fn one_rate_leaves_alone_what_the_others_do() {
    let lost = |faults: &str| -> Vec<u64> {
        let [(got, _), _] = both_ways(faults);
        let got: BTreeSet<u64> = got.into_iter().collect();
        (0..u64::from(COUNT)).filter(|number| !got.contains(number)).collect()
    };
    let lost_alone = lost("loss=1%,seed=5");
    assert!(lost_alone == lost("loss=1%,duplicate=10%,reorder=10%,seed=5"));
}

#[test]
fn where_everything_is_lost_the_caller_has_its_turn() {
    let (mut near, mut far) = pair("loss=100%");
    let endless = &mut |buffer: &mut [u8]| put(buffer, 1);
    assert_eq!(near.transmit(endless).unwrap(), LOST_FRAMES_MAX, "they are gone");
    assert_eq!(far.receive(&mut |_| panic!("it was lost")).unwrap(), 0);
    far.transmit(endless).unwrap();
    assert_eq!(near.receive(&mut |_| panic!("it was lost")).unwrap(), 0);
}

#[test]
fn what_a_full_device_has_no_room_for_goes_later() {
    let (near, mut far) = mem::pair(&Options { frames: 3, ..Options::default() });
    let mut near = Fault::new(near, &"transmit.duplicate=100%".parse().unwrap());
    let (mut next, mut got) = (0, Vec::new());
    let mut fill = |buffer: &mut [u8]| {
        if next == 10 {
            return None;
        }
        next += 1;
        put(buffer, next - 1)
    };
    for _ in 0..7 {
        near.transmit(&mut fill).unwrap();
        far.receive(&mut |it: Arrival<'_>| got.push(it.bytes[7])).unwrap();
    }
    assert!(got.into_iter().eq((0..10).flat_map(|number| [number, number])));
}

#[test]
fn what_is_damaged_is_not_verified_and_no_checksum_is_left_to_the_device() {
    let (mut near, mut far) = pair("corrupt=100%");
    let offloads = near.offloads();
    assert_eq!((offloads.checksum, offloads.segment_bytes_max), (false, 0));
    let mut next = Some(Departure {
        checksum: Some(PartialChecksum { start: 0, offset: 0 }),
        ..Departure::whole(8)
    });
    far.transmit(&mut |_| next.take()).unwrap();
    let take = &mut |it: Arrival<'_>| assert_eq!(it.checksum, Checksum::Unknown);
    assert_eq!(near.receive(take).unwrap(), 1);
    // Where only what comes is damaged, the device is as good as before.
    let (near, _far) = pair("receive.corrupt=100%");
    assert!(near.offloads().checksum);
}
