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
    let comm = String::from_utf8_lossy(&file("comm")).trim_end_matches('\n').to_owned();
    let name = if comm.len() < COMM_BYTES { comm } else { complete(&comm, &file("cmdline")) };
    let cgroup = cgroup::parse(&String::from_utf8_lossy(&file("cgroup")));
    Process { name, unit: cgroup.unit, container: cgroup.container }
}

/// The whole name of a program whose `comm` was cut off: the file name of its first argument, if
/// that goes on as `comm` begins.
fn complete(comm: &str, cmdline: &[u8]) -> String {
    let first = cmdline.split(|&byte| byte == 0).next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let name = first.rsplit('/').next().unwrap_or_default();
    // A title such as `postgres: checkpointer` is one argument with blanks.
    let name = name.split_whitespace().next().unwrap_or_default();
    if name.starts_with(comm) && name.len() <= NAME_BYTES_MAX {
        name.to_owned()
    } else {
        comm.to_owned()
    }
}

#[cfg(test)]
mod tests;
