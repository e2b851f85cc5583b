//! What a process is called, from what the kernel and its command line say.

use crate::{Process, cgroup::Cgroup};

/// The kernel keeps this much of a name (`TASK_COMM_LEN` less the zero byte).
pub(crate) const COMM_BYTES: usize = 15;

/// A command line is looked at for its first word only.
const NAME_BYTES_MAX: usize = 255;

/// What stands for a name that is empty: a process may call itself so.
const NO_NAME: &str = "(no name)";

impl Process {
    /// A process with this `comm` (without a line's end), command line (arguments that end with a
    /// zero byte; may be empty) and control group.
    #[must_use]
    pub fn of(comm: &[u8], cmdline: &[u8], cgroup: Cgroup) -> Self {
        let whole = if comm.len() < COMM_BYTES { None } else { completed(comm, cmdline) };
        let name = whole.unwrap_or_else(|| named(comm));
        Self { name, unit: cgroup.unit, container: cgroup.container }
    }
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
