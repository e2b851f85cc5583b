//! What a process is: its name, its systemd unit, its container.

use std::fs;

use portolan_flow::Process;

use super::cgroup;

/// The kernel keeps this much of a name (`TASK_COMM_LEN` less the zero byte).
const COMM_BYTES: usize = 15;

/// A command line is looked at for its first word only.
const NAME_BYTES_MAX: usize = 255;

/// Reads the identity of a process; what is gone or refused stays empty.
pub fn read(pid: u32) -> Process {
    let file = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let comm = file("comm");
    let comm = comm.strip_suffix(b"\n").unwrap_or(&comm);
    let whole = if comm.len() < COMM_BYTES { None } else { completed(comm, &file("cmdline")) };
    let name = whole.unwrap_or_else(|| String::from_utf8_lossy(comm).into_owned());
    let cgroup = cgroup::parse(&String::from_utf8_lossy(&file("cgroup")));
    Process { name, unit: cgroup.unit, container: cgroup.container }
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
