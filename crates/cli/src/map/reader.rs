//! The thread that reads.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::mpsc::{SyncSender, TrySendError},
    thread,
    time::{Duration, Instant},
};

use portolan_hub::Hub;
use portolan_sys::clock;

use super::source::Source;

/// So many readings in a row may fail before the program gives up.
const FAILURES_MAX: u32 = 5;

/// What the threads tell the one that waits.
#[derive(Debug)]
pub enum Event {
    /// A reading was taken.
    Reading,
    /// Readings are no longer possible.
    Failed(anyhow::Error),
    /// The user or the system asks to stop.
    Stop,
}

/// Reads at a steady pace until nobody listens any more, or reading fails for good.
pub fn read_on(source: Source, hub: &Hub, interval: Duration, events: &SyncSender<Event>) {
    let reading = AssertUnwindSafe(|| read_until_failure(source, hub, interval, events));
    let failure = match panic::catch_unwind(reading) {
        Ok(Some(error)) => error,
        Ok(None) => return,
        Err(_) => anyhow::anyhow!("the thread that reads the sockets panicked; please report it"),
    };
    // Nobody listens any more: then nobody needs to know either.
    let _ = events.send(Event::Failed(failure));
}

fn read_until_failure(
    mut source: Source,
    hub: &Hub,
    interval: Duration,
    events: &SyncSender<Event>,
) -> Option<anyhow::Error> {
    let mut due = Instant::now() + interval;
    let mut failures = 0;
    loop {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        match source.read_into(hub, clock::now_ms()) {
            Ok(_) => {
                failures = 0;
                // Where an event is waiting already, it stands for this one too.
                if let Err(TrySendError::Disconnected(_)) = events.try_send(Event::Reading) {
                    return None;
                }
            }
            // The kernel may be short of memory, or the process of descriptors, for a moment.
            Err(_) if failures < FAILURES_MAX => failures += 1,
            Err(error) => return Some(error),
        }
        // A reading that took longer than the interval is not made up for.
        due = (due + interval).max(Instant::now());
    }
}
