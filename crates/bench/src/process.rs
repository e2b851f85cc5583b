//! A process that works beside the measurement until it is told to end.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    process::Child,
    thread,
    time::{Duration, Instant},
};

use portolan_sys::usage::{self, Usage};
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    process::{Pid, PidfdFlags, Signal},
    thread::CpuSet,
};

use crate::{Error, Fault, Program};

/// How often it is looked whether it has said what is waited for.
const LOOK: Duration = Duration::from_millis(2);

/// So much of what it says is kept.
const OUTPUT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// So much of what it says to standard error is shown, in characters.
const COMPLAINT_MAX: usize = 300;

/// A running process. What it says goes to files in memory, so that nobody takes CPU time to read
/// it meanwhile. It is ended when this is dropped.
pub(crate) struct Process {
    child: Option<Child>,
    said: File,
    output: File,
    name: String,
}

/// One that has ended.
pub(crate) struct Ended {
    pub(crate) usage: Usage,
    pub(crate) output: Vec<u8>,
    pub(crate) said: String,
}

impl Ended {
    /// What it said to standard error, in one line.
    pub(crate) fn complaint(&self) -> String {
        one_line(&self.said)
    }
}

impl Process {
    /// Starts `program` in the network namespace and on the processors of the calling thread.
    pub(crate) fn start(program: &Program) -> Result<Self, Fault> {
        let name = program.describe();
        let start = || -> io::Result<Self> {
            let (said, output) = (in_memory("said")?, in_memory("output")?);
            let mut command = program.command();
            command.stdout(output.try_clone()?).stderr(said.try_clone()?);
            Ok(Self { child: Some(command.spawn()?), said, output, name: name.clone() })
        };
        start().map_err(|error| Error::system(format!("run {name}"))(error).into())
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// Whether it has not ended.
    pub(crate) fn runs(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// What it has said to standard error so far, in one line.
    pub(crate) fn complaint(&self) -> String {
        one_line(&content(&self.said))
    }

    /// Waits until it has said `text` to standard error.
    ///
    /// # Errors
    /// What it said instead, if it ended or took longer than `longest`.
    pub(crate) fn wait_for(&mut self, text: &str, longest: Duration) -> Result<(), String> {
        self.wait_until(longest, |process| content(&process.said).contains(text))
    }

    /// The same of standard output.
    pub(crate) fn wait_for_output(&mut self, text: &str, longest: Duration) -> Result<(), String> {
        self.wait_until(longest, |process| content(&process.output).contains(text))
    }

    fn wait_until(
        &mut self,
        longest: Duration,
        is_so: impl Fn(&Self) -> bool,
    ) -> Result<(), String> {
        let deadline = Instant::now() + longest;
        loop {
            let has_ended = !self.runs();
            if is_so(self) {
                return Ok(());
            }
            if has_ended {
                let said = self.complaint();
                return Err(if said.is_empty() { format!("{} ended", self.name) } else { said });
            }
            if Instant::now() > deadline {
                return Err(format!("{} was not ready in time", self.name));
            }
            thread::sleep(LOOK);
        }
    }

    /// Asks it to end in order, and waits for that.
    pub(crate) fn end(self, longest: Duration) -> Result<Ended, Fault> {
        if let Some(pid) = self.child.as_ref().map(Pid::from_child) {
            // It fails where it has ended already; it was not waited for, so this is still it.
            let _ = rustix::process::kill_process(pid, Signal::INT);
        }
        self.wait(longest)
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self, longest: Duration) -> Result<Ended, Fault> {
        let Some(child) = self.child.as_ref() else {
            return Err(Fault::Failed(format!("{} is not there", self.name)));
        };
        let failed = |error: io::Error| Fault::from(Error::system("wait for a process")(error));
        if !has_ended(child, longest).map_err(failed)? {
            let (program, limit) = (self.name.clone(), longest);
            return Err(Error::TooSlow { program, limit }.into());
        }
        let child = self.child.take().ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let usage = usage::wait(child).map_err(failed)?;
        let output = bytes(&self.output).map_err(failed)?;
        Ok(Ended { usage, output, said: content(&self.said) })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Nothing more can be done if that does not help.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn has_ended(child: &Child, longest: Duration) -> io::Result<bool> {
    let process = rustix::process::pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let deadline = Instant::now() + longest;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut one = [PollFd::new(&process, PollFlags::IN)];
        match rustix::event::poll(&mut one, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(ready) => return Ok(ready > 0),
        }
    }
}

fn in_memory(name: &str) -> io::Result<File> {
    Ok(rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

/// All of it; the place where the process writes on stays.
fn bytes(file: &File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len().min(OUTPUT_BYTES_MAX);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

fn content(file: &File) -> String {
    String::from_utf8_lossy(&bytes(file).unwrap_or_default()).into_owned()
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.strip_prefix("portolan: ").unwrap_or(&line);
    line.chars().take(COMPLAINT_MAX).collect()
}

/// One of the processors that a thread may use.
///
/// They are counted from the last one: where only some are told to handle interrupts, it is the
/// first ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processor {
    /// The last one.
    Last,
    /// The one before it; the same where there is but one.
    BeforeLast,
}

/// Does `work` on one processor, and what `work` starts stays there.
pub(crate) fn on_processor<T>(processor: Processor, work: impl FnOnce() -> T) -> T {
    let Ok(all) = rustix::thread::sched_getaffinity(None) else { return work() };
    let mut usable = (0..CpuSet::MAX_CPU).rev().filter(|&cpu| all.is_set(cpu));
    let last = usable.next();
    let chosen = match processor {
        Processor::Last => last,
        Processor::BeforeLast => usable.next().or(last),
    };
    if let Some(chosen) = chosen {
        let mut one = CpuSet::new();
        one.set(chosen);
        // Where it is refused the scheduler decides, which is more noise.
        let _ = rustix::thread::sched_setaffinity(None, &one);
    }
    let result = work();
    let _ = rustix::thread::sched_setaffinity(None, &all);
    result
}

#[cfg(test)]
mod tests;
