//! What every device has to do. `conformance!` makes a test of each case for one of them.

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use portolan_nic::{Arrival, Checksum, Departure, Error, Nic, Refusal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub mod cases;

/// A device under test, and what is at its other end.
pub struct Link {
    pub near: Box<dyn Nic + Send>,
    pub far: Option<Box<dyn Nic + Send>>,
    /// Takes the link down or brings it up; `None` where it goes down by dropping the other end.
    pub set_up: Option<fn(bool)>,
}

/// Makes a test of every case, each with a link of its own.
macro_rules! conformance {
    ($make:expr) => {
        conformance!($make, frames_arrive_whole_and_in_order, batches_are_bounded,
            nothing_there_is_zero_and_does_not_wait, an_answer_of_none_ends_transmit,
            buffers_have_room_for_the_longest_frame, too_long_a_frame_is_refused,
            what_is_not_offered_is_refused, what_lies_outside_is_refused,
            a_full_device_is_no_error, a_checksum_may_be_partial, long_segments_pass_whole,
            the_descriptor_is_ready_while_frames_wait, a_link_that_is_down_is_said);
    };
    ($make:expr, $($case:ident),+) => {
        $(#[test]
        fn $case() {
            conformance::run($make, conformance::cases::$case);
        })+
    };
}
pub(crate) use conformance;

/// Runs a case in a network namespace of its own.
pub fn run(make: fn() -> Link, case: fn(&mut Link)) {
    in_namespace(|| case(&mut make()));
}

pub fn in_namespace(test: impl FnOnce() + Send) {
    let inside = || {
        portolan_sys::netns::unshare_thread().expect("needs root, to make a network namespace");
        // Nothing but what the test sends.
        for which in ["all", "default"] {
            let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
            std::fs::write(path, "1").unwrap();
        }
        portolan_sys::netns::loopback_up().unwrap();
        test();
    };
    thread::scope(|scope| {
        let ran = scope.spawn(inside).join();
        ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Runs `ip` in the namespace of the calling thread.
#[allow(dead_code, reason = "links in memory need none")]
pub fn ip(arguments: &str) {
    let ran = Command::new("ip").args(arguments.split(' ')).output();
    let ran = ran.expect("needs iproute2: scripts/install test");
    assert!(ran.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// What one waits for at most; far more than it takes.
pub const PATIENCE: Duration = Duration::from_secs(20);

impl Link {
    pub fn far(&mut self) -> &mut (dyn Nic + Send) {
        self.far.as_deref_mut().unwrap()
    }
}

/// A frame of the Ethernet type for local experiments, which nobody else sends.
pub fn frame(len: usize, number: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xb5];
    frame.extend(number.to_be_bytes());
    let mut mixed = number.wrapping_mul(0x9e37_79b9) | 1;
    frame.resize_with(len, || {
        mixed ^= mixed << 13;
        mixed ^= mixed >> 17;
        mixed ^= mixed << 5;
        mixed.to_be_bytes()[0]
    });
    frame
}

/// Puts `bytes` into a buffer that was offered.
pub fn put(buffer: &mut [u8], bytes: &[u8]) -> Option<Departure> {
    buffer[..bytes.len()].copy_from_slice(bytes);
    Some(Departure::whole(bytes.len()))
}

/// Sends all, as they are. The device has to have room for them.
pub fn send(nic: &mut dyn Nic, frames: &[Vec<u8>]) {
    let mut next = frames.iter();
    let sent = nic.transmit(&mut |buffer| put(buffer, next.next()?)).unwrap();
    assert_eq!(sent, frames.len());
}

/// A frame that was received.
#[derive(Clone, PartialEq, Eq)]
pub struct Got {
    pub bytes: Vec<u8>,
    pub checksum: Checksum,
}

impl std::fmt::Debug for Got {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} bytes, {:?}", self.bytes.len(), self.checksum)
    }
}

/// Receives until there are `count`.
pub fn receive(nic: &mut dyn Nic, count: usize) -> Vec<Got> {
    let (mut got, began) = (Vec::new(), Instant::now());
    while got.len() < count {
        assert!(began.elapsed() < PATIENCE, "{} of {count} frames came", got.len());
        receive_batch(nic, &mut got);
    }
    got
}

/// Receives what is there, or waits for a moment.
pub fn receive_batch(nic: &mut dyn Nic, got: &mut Vec<Got>) -> usize {
    let mut take = |it: Arrival<'_>| {
        got.push(Got { bytes: it.bytes.to_vec(), checksum: it.checksum });
    };
    let received = nic.receive(&mut take).unwrap();
    if received == 0 {
        is_readable(nic, Duration::from_millis(10));
        thread::yield_now();
    }
    received
}

/// Whether the descriptor is readable, now or before long; `None` without one.
pub fn is_readable(nic: &dyn Nic, patience: Duration) -> Option<bool> {
    let descriptor = nic.descriptor()?;
    let patience = Timespec::try_from(patience).unwrap();
    let mut asked = [PollFd::new(&descriptor, PollFlags::IN)];
    poll(&mut asked, Some(&patience)).unwrap();
    Some(asked[0].revents().contains(PollFlags::IN))
}

/// What transmitting one frame is refused for.
pub fn refusal(nic: &mut dyn Nic, departure: Departure) -> Refusal {
    let mut next = Some(departure);
    match nic.transmit(&mut |_| next.take()) {
        Err(Error::Refused { refusal, .. }) => refusal,
        other => panic!("{departure:?} is not refused: {other:?}"),
    }
}
