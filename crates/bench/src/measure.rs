//! One run of a program, on the kernel's own account.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek},
    os::{fd::OwnedFd, unix::fs::FileExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use portolan_sys::usage::{self, Usage};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::Error;

/// So much of what a program says to standard error is kept, in bytes.
const COMPLAINT_BYTES_MAX: usize = 400;

/// No line of a listing is longer, in bytes.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// A program and what it is given.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file to run.
    pub path: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

impl Program {
    /// The program at `path` with `args`.
    pub fn new<S: AsRef<OsStr>>(path: impl AsRef<Path>, args: impl IntoIterator<Item = S>) -> Self {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        Self { path: path.as_ref().to_owned(), args }
    }

    /// This program with `more` arguments after its own.
    #[must_use]
    pub fn with<S: AsRef<OsStr>>(mut self, more: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(more.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.args).stdin(Stdio::null());
        command
    }

    /// For people: the file's name and the arguments.
    #[must_use]
    pub fn describe(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        let words = std::iter::once(name).chain(self.args.iter().map(OsString::as_os_str));
        words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
    }
}

/// What becomes of a program's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdout {
    /// It goes to `/dev/null`: nothing but the program itself is measured.
    Discard,
    /// Its lines are counted; the program then also waits for the pipe.
    CountLines {
        /// So many at the top are not.
        heading: u64,
        /// Those without this are not.
        mark: &'static str,
    },
    /// It is kept, up to this many bytes.
    Keep {
        /// The limit.
        bytes_max: u64,
    },
    /// It goes to a file in memory, and that is kept, up to this many bytes: nobody reads while the
    /// program runs.
    Store {
        /// The limit.
        bytes_max: u64,
    },
}

/// A run that came to its end.
#[derive(Debug)]
pub struct Measured {
    /// From just before the start to just after the end.
    pub wall: Duration,
    /// The kernel's account.
    pub usage: Usage,
    /// The own peak before the run, below which `usage.peak_kib` cannot be, in KiB.
    pub peak_floor_kib: u64,
    /// The lines, where they were counted.
    pub lines: Option<u64>,
    /// The output, where it was kept.
    pub kept: Vec<u8>,
    /// What the program said to standard error, a file in memory.
    pub said: File,
}

impl Measured {
    /// The beginning of what the program said to standard error.
    #[must_use]
    pub fn complaint(&self) -> String {
        beginning(&self.said)
    }
}

/// Runs `program` to its end, or to `limit`.
///
/// # Errors
/// When it cannot be started or takes longer than `limit`, which ends it. A program that fails is
/// no error here: see the exit code in [`Measured::usage`].
pub fn measure(program: &Program, stdout: Stdout, limit: Duration) -> Result<Measured, Error> {
    let what = || format!("run {}", program.describe());
    let complaints = file_in_memory("complaints").map_err(Error::system(what()))?;
    let said = complaints.try_clone().map_err(Error::system(what()))?;
    let stored = file_in_memory("output").map_err(Error::system(what()))?;
    let mut command = program.command();
    command.stderr(complaints).stdout(match stdout {
        Stdout::Discard => Stdio::null(),
        Stdout::CountLines { .. } | Stdout::Keep { .. } => Stdio::piped(),
        Stdout::Store { .. } => stored.try_clone().map_err(Error::system(what()))?.into(),
    });
    let peak_floor_kib = own_peak_kib();
    let start = Instant::now();
    let child = command.spawn().map_err(Error::system(what()))?;
    let finished = follow(child, stdout, limit, start).map_err(Error::system(what()))?;
    if finished.is_late {
        return Err(Error::TooSlow { program: program.describe(), limit });
    }
    let kept = match stdout {
        Stdout::Store { bytes_max } => all_of(&stored, bytes_max).map_err(Error::system(what()))?,
        _ => finished.kept,
    };
    Ok(Measured {
        wall: finished.wall,
        usage: finished.usage,
        peak_floor_kib,
        lines: finished.lines,
        kept,
        said,
    })
}

struct Finished {
    wall: Duration,
    usage: Usage,
    lines: Option<u64>,
    kept: Vec<u8>,
    is_late: bool,
}

/// Reads the child's output and waits for it, while a second thread watches the time.
fn follow(
    mut child: Child,
    stdout: Stdout,
    limit: Duration,
    start: Instant,
) -> io::Result<Finished> {
    let process = match rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
        Ok(process) => process,
        Err(error) => {
            child.kill()?;
            child.wait()?;
            return Err(error.into());
        }
    };
    thread::scope(|scope| {
        let (done, is_done) = mpsc::channel::<()>();
        let watch = scope.spawn(move || end_when_late(&process, &is_done, limit));
        let output = consume(&mut child, stdout);
        if output.is_err() {
            child.kill()?;
        }
        let usage = usage::wait(child)?;
        let wall = start.elapsed();
        drop(done);
        let is_late = watch.join().unwrap_or(false);
        let (lines, kept) = output?;
        Ok(Finished { wall, usage, lines, kept, is_late })
    })
}

/// Ends the process unless `is_done` is heard of within `limit`; says whether it had to.
fn end_when_late(process: &OwnedFd, is_done: &mpsc::Receiver<()>, limit: Duration) -> bool {
    match is_done.recv_timeout(limit) {
        Err(mpsc::RecvTimeoutError::Timeout) => {
            rustix::process::pidfd_send_signal(process, Signal::KILL).is_ok()
        }
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => false,
    }
}

fn consume(child: &mut Child, stdout: Stdout) -> io::Result<(Option<u64>, Vec<u8>)> {
    let mut kept = Vec::new();
    // Taken, so that the pipe is closed on return: whoever writes on is not waited for in vain.
    let Some(mut pipe) = child.stdout.take() else { return Ok((None, kept)) };
    match stdout {
        Stdout::Discard | Stdout::Store { .. } => Ok((None, kept)),
        Stdout::CountLines { heading, mark } => {
            Ok((Some(count_lines(&mut pipe, heading, mark)?), kept))
        }
        Stdout::Keep { bytes_max } => {
            pipe.take(bytes_max).read_to_end(&mut kept)?;
            Ok((None, kept))
        }
    }
}

fn count_lines(source: impl Read, heading: u64, mark: &str) -> io::Result<u64> {
    let mut source = BufReader::with_capacity(64 * 1024, source);
    let (mut seen, mut counted, mut line) = (0_u64, 0, Vec::new());
    // A line is as long as the program likes; what lies beyond the limit counts as another.
    while source.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? > 0 {
        seen += 1;
        let has_mark = || line.windows(mark.len()).any(|part| part == mark.as_bytes());
        counted += u64::from(seen > heading && (mark.is_empty() || has_mark()));
        line.clear();
    }
    Ok(counted)
}

/// A file in memory, so that nobody has to drain a pipe.
fn file_in_memory(name: &str) -> io::Result<File> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    Ok(rustix::fs::memfd_create(name, flags)?.into())
}

fn all_of(mut file: &File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn beginning(file: &File) -> String {
    let mut bytes = [0; COMPLAINT_BYTES_MAX];
    let length = file.read_at(&mut bytes, 0).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..length]).trim().to_owned()
}

/// The peak of resident memory of this process so far, in KiB; 0 where it is not known.
fn own_peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
