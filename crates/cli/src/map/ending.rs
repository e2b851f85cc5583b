//! An orderly end on a signal, and an end all the same where something stands in its way.

use std::{
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::SyncSender,
    },
    thread,
    time::Duration,
};

use portolan_hub::Hub;
use portolan_sys::signals::Signals;
use ratatui::crossterm::terminal::disable_raw_mode;

use super::reader::Event;

/// An orderly end that takes longer is stuck, usually because nobody reads what it writes. Open
/// pages are given a second, and the last metrics two.
const GRACE: Duration = Duration::from_secs(5);

/// Whether the program was asked to end.
#[derive(Clone, Debug, Default)]
pub struct Ending(Arc<AtomicBool>);

impl Ending {
    /// Whether it was.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Waits for a signal on a thread of its own, tells whoever waits for events, and sees to it that
/// the program ends: a second signal, or time, ends it where it stands, with the history saved.
pub fn on_signal(signals: Signals, hub: &Hub, events: &SyncSender<Event>) -> Ending {
    let ending = Ending::default();
    let (asked, hub, events) = (ending.clone(), hub.clone(), events.clone());
    thread::spawn(move || {
        signals.wait();
        asked.0.store(true, Ordering::Relaxed);
        // If there is no room, an event is waiting, and `asked` is looked at after each.
        let _ = events.try_send(Event::Stop);
        signals.wait_timeout(GRACE);
        // Not by way of standard output: whoever is stuck may be stuck in writing to that.
        let _ = disable_raw_mode();
        let saved = hub.flush();
        process::exit(if saved.is_ok() { 0 } else { 2 });
    });
    ending
}
