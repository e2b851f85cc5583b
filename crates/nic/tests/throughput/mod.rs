//! How much a TAP itself carries, with nothing done to what it carries: what a stack behind one is
//! measured against. Not a test of anything: run it with
//! `cargo test --release -p portolan-nic --test tap throughput -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use portolan_nic::{Departure, Nic, Packet, PartialChecksum, Segmentation, Tap, packet::Options};

use crate::conformance::{in_namespace, put};

/// How long each case lasts.
const LENGTH: Duration = Duration::from_secs(2);

/// How many frames are sent before they are read; less than the interface queues.
const BURST: usize = 128;

/// A TCP segment for another host's Ethernet address: the kernel drops it as early as it can.
fn segment(payload: usize) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0, 0x45, 0];
    bytes.extend(u16::try_from(40 + payload).unwrap().to_be_bytes());
    bytes.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    bytes.extend([0x30, 0x39, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.resize(54 + payload, 7);
    bytes
}

fn departure(len: usize) -> Departure {
    let cut = Segmentation { header_len: 54, payload: 1_460, ipv6: false, ecn: false };
    Departure {
        len,
        checksum: Some(PartialChecksum { start: 34, offset: 16 }),
        segmentation: (len > 1_514).then_some(cut),
    }
}

/// Sends `count` frames, each written anew into the device's buffer.
fn burst(nic: &mut dyn Nic, frame: &[u8], count: usize) -> usize {
    let mut left = count;
    let fill = &mut |buffer: &mut [u8]| {
        left = left.checked_sub(1)?;
        put(buffer, frame)?;
        Some(departure(frame.len()))
    };
    nic.transmit(fill).unwrap()
}

fn report(what: &str, payload: usize, frames: usize, took: Duration) {
    let per_second = frames as f64 / took.as_secs_f64();
    let gigabits = per_second * payload as f64 * 8.0 / 1e9;
    println!("{what} {payload:5} bytes: {gigabits:7.2} Gb/s, {per_second:9.0} frames/s");
}

#[test]
#[ignore = "a measurement"]
fn tap() {
    in_namespace(|| {
        let mut tap = Tap::open("tap0", 1).unwrap().remove(0);
        tap.set_up(true).unwrap();
        for payload in [64, 1_460, 16 << 10, 60_000, 65_480] {
            let (frame, began, mut frames) = (segment(payload), Instant::now(), 0);
            while began.elapsed() < LENGTH {
                frames += burst(&mut tap, &frame, BURST);
            }
            report("TAP, written to the kernel", payload, frames, began.elapsed());
        }
        let mut kernel = Packet::open("tap0", 1, &Options::default()).unwrap().remove(0);
        for payload in [64, 1_460, 16 << 10, 60_000] {
            let (frame, began) = (segment(payload), Instant::now());
            let (mut frames, mut took) = (0, Duration::ZERO);
            while began.elapsed() < LENGTH {
                burst(&mut kernel, &frame, BURST);
                // Only the reading counts; what is sent is there when it begins.
                let reading = Instant::now();
                loop {
                    match tap.receive(&mut |_| ()).unwrap() {
                        0 => break,
                        received => frames += received,
                    }
                }
                took += reading.elapsed();
            }
            report("TAP, read from the kernel ", payload, frames, took);
        }
    });
}
