//! Signals that ask a program to end, as something to wait for.

use std::{io, mem::MaybeUninit, time::Duration};

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
    block(ENDING.into_iter().filter(|&signal| !is_ignored(signal))).map(|set| Signals { set })
}

/// A signal that is noticed, and does nothing else.
pub struct Noticed {
    set: libc::sigset_t,
}

/// Notices from now on that the process goes on after it was stopped (SIGCONT), for those who draw
/// on a terminal that was somebody else's meanwhile. For the calling thread and those that it
/// starts.
///
/// # Errors
/// The system call's error; not expected.
pub fn take_continued() -> io::Result<Noticed> {
    block([libc::SIGCONT].into_iter()).map(|set| Noticed { set })
}

/// Notices from now on that somebody asks for a report (SIGUSR1, which would end the process). For
/// the calling thread and those that it starts.
///
/// # Errors
/// The system call's error; not expected.
pub fn take_asked() -> io::Result<Noticed> {
    block([libc::SIGUSR1].into_iter()).map(|set| Noticed { set })
}

impl Noticed {
    /// Whether it came since it was asked for the last time. Does not wait.
    #[must_use]
    pub fn happened(&self) -> bool {
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: set and timeout are valid for reads, and no information on the signal is asked
        // for.
        let signal = unsafe {
            libc::sigtimedwait(&raw const self.set, std::ptr::null_mut(), &raw const now)
        };
        signal > 0
    }
}

/// Keeps signals from being delivered to the calling thread, so that they can be waited for.
fn block(signals: impl Iterator<Item = libc::c_int>) -> io::Result<libc::sigset_t> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set it is given.
    let mut set = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    };
    for signal in signals {
        // SAFETY: the set is initialised, and the signal's number is valid.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    // SAFETY: the set is initialised; no old mask is asked for.
    let error =
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    if error == 0 { Ok(set) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Whether whoever started the program had the signal ignored: `nohup` does with SIGHUP, shells do
/// with SIGINT for what runs in the background. Taken over, it would end the program all the same.
fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is changed; the current action is written to valid memory.
    let failed = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) } != 0;
    // SAFETY: all-zero bytes are a valid sigaction, and the kernel may have filled it in.
    let action = unsafe { action.assume_init() };
    !failed && action.sa_sigaction == libc::SIG_IGN
}

impl Signals {
    /// Waits for one of the signals.
    pub fn wait(&self) {
        let mut signal = 0;
        // SAFETY: the set is initialised, and `signal` is valid for writes. An error (EINTR) ends
        // the wait early, which at worst ends the program early.
        unsafe { libc::sigwait(&raw const self.set, &raw mut signal) };
    }

    /// Waits for one of the signals, at most this long; whether one came.
    pub fn wait_timeout(&self, longest: Duration) -> bool {
        let timeout = libc::timespec {
            tv_sec: libc::time_t::try_from(longest.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(longest.subsec_nanos()),
        };
        // SAFETY: set and timeout are valid for reads, and no information on the signal is asked
        // for.
        let signal = unsafe {
            libc::sigtimedwait(&raw const self.set, std::ptr::null_mut(), &raw const timeout)
        };
        signal > 0
    }
}
