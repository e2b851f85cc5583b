//! Waiting for what has to happen, never for a length of time.

use std::{
    fmt::Display,
    thread,
    time::{Duration, Instant},
};

/// So long a thing may take that takes a moment: enough for a machine that does much else.
pub const PATIENCE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(20);

/// Waits until `check` has a result.
///
/// # Panics
/// When it has none for [`PATIENCE`].
pub fn wait_for<T>(what: impl Display, mut check: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(result) = check() {
            return result;
        }
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} for {what}");
        thread::sleep(PAUSE);
    }
}
