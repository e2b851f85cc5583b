//! Being asked to end.

use std::{
    io, process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use portolan_sys::{capabilities, signals};

/// Exit code of a program that ended by SIGINT, as shells have it.
const INTERRUPTED: i32 = 130;

/// Whether somebody asked the program to end.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens for SIGINT, SIGTERM and SIGHUP from now on: the first asks for an orderly end, the
    /// second ends at once.
    ///
    /// # Errors
    /// The system call's error.
    pub fn listen() -> io::Result<Self> {
        let signals = signals::take()?;
        let stop = Self::default();
        let flag = Arc::clone(&stop.0);
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            // Privileges are a thread's own, and this one needs none.
            let _as_it_was = capabilities::retain(capabilities::CapabilitySet::empty());
            signals.wait();
            flag.store(true, Ordering::Relaxed);
            signals.wait();
            process::exit(INTERRUPTED);
        })?;
        Ok(stop)
    }

    /// Whether it was asked.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
