//! What a process is: its name, its systemd unit, its container.

use portolan_flow::{Process, cgroup};
use portolan_sys::process;

/// Reads the identity of a process; what is refused stays empty. None of one that is gone: half an
/// identity would be another service.
pub fn read(pid: u32) -> Option<Process> {
    let facts = process::read(pid)?;
    let cgroup = cgroup::parse(&String::from_utf8_lossy(&facts.cgroup));
    Some(Process::of(&facts.comm, &facts.cmdline, cgroup))
}

#[cfg(test)]
mod tests;
