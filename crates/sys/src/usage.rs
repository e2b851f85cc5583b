//! What a child process cost.

use std::{io, process::Child, time::Duration};

/// The kernel's own account of a finished child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Peak resident memory, in KiB. A child starts out with its parent's peak at the fork, so
    /// figures below the caller's own peak are not to be had.
    pub peak_kib: u64,
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
}

/// Waits for `child` and returns what it used. Close the child's pipes first.
///
/// # Errors
/// The system call's error, `ECHILD` if the child was already waited for.
pub fn wait(child: Child) -> io::Result<Usage> {
    let pid = libc::pid_t::try_from(child.id()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are valid for writes of their types for the whole call.
        let reaped = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        if reaped == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: all-zero bytes are a valid rusage, and the kernel has filled it in.
    let usage = unsafe { usage.assume_init() };
    Ok(Usage {
        user: duration(usage.ru_utime),
        system: duration(usage.ru_stime),
        peak_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
    })
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}
