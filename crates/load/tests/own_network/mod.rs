//! A network of the test's own.

use portolan_sys::netns;

/// Moves the test into a network namespace of its own, where it may: what others on the host leave
/// in TIME-WAIT would take ports away from it, and what it leaves would take theirs. Whether it
/// may.
pub fn enter() -> bool {
    let is_own = netns::unshare_thread().is_ok();
    if is_own {
        netns::loopback_up().unwrap();
    }
    is_own
}
