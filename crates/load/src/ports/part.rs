//! A copy of this program that does a part of the experiment.

use std::{
    io::{self, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Program, Task};
use crate::{Error, Stop};

/// A process that says nothing for so long has come to a standstill.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that ends when this value does, at the latest: it is killed, and the kernel closes
/// what it held.
#[derive(Debug)]
pub(super) struct Part {
    child: Child,
    asks: Option<ChildStdin>,
    says: Option<ChildStdout>,
    read: Vec<u8>,
}

impl Part {
    /// Starts a copy in the network namespace of the calling thread.
    pub(super) fn start(program: &Program, task: &Task) -> Result<Self, Error> {
        let failed = Error::system("start a copy of this program");
        let task = serde_json::to_string(task).map_err(|error| failed(error.into()))?;
        let mut child = Command::new(&program.path)
            .args(&program.arguments)
            .arg(task)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (asks, says) = (child.stdin.take(), child.stdout.take());
        Ok(Self { child, asks, says, read: Vec::new() })
    }

    /// Sends it a line.
    pub(super) fn ask(&mut self, line: &str) -> io::Result<()> {
        let asks = self.asks.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(asks, "{line}")?;
        asks.flush()
    }

    /// Waits for its next line; `None` when somebody asked for the end meanwhile.
    pub(super) fn line(&mut self, stop: &Stop) -> io::Result<Option<String>> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(end) = self.read.iter().position(|&byte| byte == b'\n') {
                let line = self.read.drain(..=end).collect();
                let line = String::from_utf8(line).map_err(io::Error::other)?;
                return Ok(Some(line.trim_end().to_owned()));
            }
            let says = self.says.as_mut().ok_or(io::ErrorKind::UnexpectedEof)?;
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).unwrap_or_default();
            let mut descriptors =
                [PollFd::new(&*says, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
            let count = match poll(&mut descriptors, Some(&left)) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            let is_stopped = !descriptors[1].revents().is_empty();
            let has_said = !descriptors[0].revents().is_empty();
            if is_stopped {
                return Ok(None);
            }
            if count == 0 {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it says nothing"));
            }
            if has_said {
                let mut piece = [0; 65_536];
                let count = says.read(&mut piece)?;
                if count == 0 {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it ended early"));
                }
                self.read.extend_from_slice(&piece[..count]);
            }
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to be done.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests;
