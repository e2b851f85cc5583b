//! Capabilities: what this process may do, and giving up what it no longer needs.

use std::io;

pub use rustix::thread::CapabilitySet;
use rustix::thread::{CapabilitySets, capabilities, set_capabilities, set_no_new_privs};

/// The capabilities in force for the calling thread.
///
/// # Errors
/// The system call's error; not expected on any supported kernel.
pub fn effective() -> io::Result<CapabilitySet> {
    Ok(capabilities(None)?.effective)
}

/// Whether the calling thread has all of `wanted` in force.
#[must_use]
pub fn has(wanted: CapabilitySet) -> bool {
    effective().is_ok_and(|effective| effective.contains(wanted))
}

/// Gives up, for good, every capability but those in `keep`, for the calling thread and those that
/// it starts from now on; also forbids gaining privileges by exec.
///
/// # Errors
/// The system call's error.
pub fn retain(keep: CapabilitySet) -> io::Result<()> {
    set_no_new_privs(true)?;
    let now = capabilities(None)?;
    let kept = now.permitted & keep;
    set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() },
    )?;
    Ok(())
}

/// The names of `set` as capabilities(7) spells them, without the prefix twice.
#[must_use]
pub fn names(set: CapabilitySet) -> Vec<String> {
    set.iter_names().map(|(name, _)| format!("CAP_{name}")).collect()
}
