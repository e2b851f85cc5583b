//! What `/proc` says of a process, and what becomes of one whose parent ends.

use std::{fs, io};

/// The kernel cuts names at this length (`TASK_COMM_LEN` less the zero byte).
const COMM_BYTES: usize = 15;

/// What identifies a process, as bytes of the files in proc(5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its name, without the end of the line.
    pub comm: Vec<u8>,
    /// Its arguments, each with a zero byte at its end; left empty where the name is whole.
    pub cmdline: Vec<u8>,
    /// Its control groups: lines of `hierarchy:controllers:path`.
    pub cgroup: Vec<u8>,
}

/// Reads them; what is refused stays empty. None of a process that is gone, also meanwhile.
#[must_use]
pub fn read(pid: u32) -> Option<Facts> {
    let file = |name: &str| -> io::Result<Vec<u8>> { fs::read(format!("/proc/{pid}/{name}")) };
    let mut comm = file("comm").ok()?;
    if comm.last() == Some(&b'\n') {
        comm.pop();
    }
    let is_cut = comm.len() >= COMM_BYTES;
    let cmdline = if is_cut { file("cmdline").unwrap_or_default() } else { Vec::new() };
    let cgroup = match file("cgroup") {
        Ok(text) => text,
        // It ended just now; or the kernel was built without control groups.
        Err(_) => file("comm").map(|_| Vec::new()).ok()?,
    };
    Some(Facts { comm, cmdline, cgroup })
}

/// From now on, the end of the thread that has started this process ends it too. One that ended
/// before does not: that a pipe from it is at its end has to say so.
///
/// # Errors
/// The system call's error; not expected.
pub fn end_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?)
}

#[cfg(test)]
mod tests;
