//! Signals that ask a program to end, as something to wait for.

use std::{io, mem::MaybeUninit};

/// What asks for an orderly end.
const ENDING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The signals that [`take`] has taken over.
pub struct Signals {
    set: libc::sigset_t,
}

/// Takes over SIGINT, SIGTERM and SIGHUP for the calling thread and those that it starts from now
/// on: they no longer end the process, but [`Signals::wait`].
///
/// # Errors
/// The system call's error; not expected.
pub fn take() -> io::Result<Signals> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set it is given.
    let mut set = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    };
    for signal in ENDING {
        // SAFETY: the set is initialised, and the signal's number is valid.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    // SAFETY: the set is initialised; no old mask is asked for.
    let error =
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    if error == 0 { Ok(Signals { set }) } else { Err(io::Error::from_raw_os_error(error)) }
}

impl Signals {
    /// Waits for one of the signals.
    pub fn wait(&self) {
        let mut signal = 0;
        // SAFETY: the set is initialised, and `signal` is valid for writes. An error (EINTR) ends
        // the wait early, which at worst ends the program early.
        unsafe { libc::sigwait(&raw const self.set, &raw mut signal) };
    }
}
