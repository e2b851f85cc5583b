//! What a process is: its name, its systemd unit, its container.

use std::fs;

use portolan_flow::Process;

use super::cgroup;

/// The kernel keeps this much of a name (`TASK_COMM_LEN` less the zero byte).
const COMM_BYTES: usize = 15;

/// A command line is looked at for its first word only.
const NAME_BYTES_MAX: usize = 255;

/// What stands for a name that is empty: a process may call itself so.
const NO_NAME: &str = "(no name)";

/// Reads the identity of a process; what is refused stays empty. None of one that is gone: half an
/// identity would be another service.
pub fn read(pid: u32) -> Option<Process> {
    let file = |name: &str| fs::read(format!("/proc/{pid}/{name}"));
    let comm = file("comm").ok()?;
    let comm = comm.strip_suffix(b"\n").unwrap_or(&comm);
    let cmdline = || file("cmdline").unwrap_or_default();
    let whole = if comm.len() < COMM_BYTES { None } else { completed(comm, &cmdline()) };
    let cgroup = match file("cgroup") {
        Ok(text) => cgroup::parse(&String::from_utf8_lossy(&text)),
        // It ended just now; or the kernel was built without control groups.
        Err(_) => file("comm").map(|_| cgroup::Cgroup::default()).ok()?,
    };
    let name = whole.unwrap_or_else(|| named(comm));
    Some(Process { name, unit: cgroup.unit, container: cgroup.container })
}

fn named(comm: &[u8]) -> String {
    let name = if comm.is_empty() { NO_NAME.as_bytes() } else { comm };
    String::from_utf8_lossy(name).into_owned()
}

/// The whole name of a program whose `comm` was cut off: the file name of its first argument, if
/// that goes on as `comm` begins. Compared as bytes, since the cut may go through a letter.
fn completed(comm: &[u8], cmdline: &[u8]) -> Option<String> {
    let first = cmdline.split(|&byte| byte == 0).next()?;
    let name = first.rsplit(|&byte| byte == b'/').next()?;
    // A title such as `postgres: checkpointer` is one argument with blanks.
    let name = name.split(u8::is_ascii_whitespace).next()?;
    let name = name.strip_suffix(b":").unwrap_or(name);
    let is_whole = name.starts_with(comm) && name.len() <= NAME_BYTES_MAX;
    is_whole.then(|| String::from_utf8_lossy(name).into_owned())
}

#[cfg(test)]
mod tests;
