//! An orderly end on a signal, and an end all the same where something stands in its way.

use std::{
    process,
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use portolan_sys::signals::Signals;
use ratatui::crossterm::terminal::disable_raw_mode;

/// An orderly end that takes longer is stuck, usually because nobody reads what it writes.
const GRACE: Duration = Duration::from_secs(10);

/// What was asked for could not be done: the last interval was not reported.
const EXIT_CODE: i32 = 2;

/// Waits for a signal on a thread of its own, says so over the channel, and sees to it that the
/// program ends: a second signal, or time, ends it where it stands.
pub fn on_signal(signals: Signals) -> Receiver<()> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        signals.wait();
        // Nobody may be listening any more; then the program is about to end.
        let _ = sender.try_send(());
        signals.wait_timeout(GRACE);
        // Not by way of standard output: whoever is stuck may be stuck in writing to that.
        let _ = disable_raw_mode();
        process::exit(EXIT_CODE);
    });
    receiver
}
