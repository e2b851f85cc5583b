//! The time that the stack is told.

use std::time::Duration;

use portolan_stack::Instant;
use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC` as the stack counts: it does not go back when somebody sets the wall clock.
#[must_use]
pub fn now() -> Instant {
    Instant::from_micros(micros(read(ClockId::Monotonic)))
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
