//! Programs that run, and what they said when they have run.

use std::{
    fmt::{self, Display},
    fs::{self, File},
    os::unix::{fs::FileExt, process::ExitStatusExt},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{place::Place, wait::PATIENCE};

/// So long a program may take to end by itself when the test ends.
const GRACE: Duration = Duration::from_secs(5);

/// A program that runs in a world; ended, by id, when this is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    what: String,
    stdout: File,
    stderr: File,
    stop: Signal,
}

impl Running {
    /// Starts it. What it prints goes to files that nobody else sees.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(place: &Place, mut command: Command) -> Self {
        let (stdout, stderr) = (nameless(), nameless());
        command.stdout(duplicate(&stdout));
        Self::start_with(place, command, stdout, stderr)
    }

    /// Starts it with a standard output that was already set.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start_into(place: &Place, mut command: Command, stdout: impl Into<Stdio>) -> Self {
        command.stdout(stdout);
        Self::start_with(place, command, nameless(), nameless())
    }

    fn start_with(place: &Place, mut command: Command, stdout: File, stderr: File) -> Self {
        let what = format!("{command:?}");
        command.stdin(Stdio::piped()).stderr(duplicate(&stderr));
        let child = place.spawn(&mut command);
        Self { child, what, stdout, stderr, stop: Signal::TERM }
    }

    /// Ends it with this signal instead of SIGTERM.
    #[must_use]
    pub fn ended_by(mut self, stop: Signal) -> Self {
        self.stop = stop;
        self
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The process that it started, or the one that this one started, and so on: the last one.
    ///
    /// # Panics
    /// When it started none.
    #[must_use]
    pub fn descendant(&self) -> Pid {
        let mut found = None;
        while let Some(child) = child_of(found.unwrap_or(self.pid())) {
            found = Some(child);
        }
        let pid = found.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        pid.unwrap_or_else(|| panic!("{} has no child", self.what))
    }

    /// Its standard input.
    ///
    /// # Panics
    /// When that was closed.
    pub fn stdin(&mut self) -> &mut impl std::io::Write {
        self.child.stdin.as_mut().expect("standard input is open")
    }

    /// Ends its standard input.
    pub fn close_stdin(&mut self) {
        self.child.stdin = None;
    }

    /// What it wrote to standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        contents(&self.stdout)
    }

    /// What it wrote to standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        contents(&self.stderr)
    }

    /// Waits until `check` has a result, as long as the program runs.
    ///
    /// # Panics
    /// When it ends before that, or for [`PATIENCE`] there is none.
    pub fn wait_for<T>(
        &mut self,
        what: impl Display,
        mut check: impl FnMut(&Self) -> Option<T>,
    ) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let ended = self.ended();
            // Checked after that: what it did before its end counts.
            if let Some(result) = check(self) {
                return result;
            }
            if let Some(status) = ended {
                panic!("ended before {what}: {}", self.report(status));
            }
            assert!(
                Instant::now() < deadline,
                "waited {PATIENCE:?} for {what} of {}\n{}\n{}",
                self.what,
                self.stdout(),
                self.stderr()
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// When that cannot be done.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.id(), signal)
            .unwrap_or_else(|error| panic!("cannot send {signal:?} to {}: {error}", self.what));
    }

    /// Waits for its end and says how it was.
    ///
    /// # Panics
    /// When it does not end within [`PATIENCE`].
    #[must_use]
    pub fn finish(mut self) -> Ran {
        let what = format!("the end of {}", self.what);
        let status = crate::wait_for(what, || self.ended());
        self.report(status)
    }

    /// Ends it as the signal that was chosen does.
    pub fn stop(self) {
        drop(self);
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap_or_else(|error| panic!("{}: {error}", self.what))
    }

    fn report(&self, status: ExitStatus) -> Ran {
        Ran {
            what: self.what.clone(),
            code: status.code(),
            signal: status.signal(),
            stdout: self.stdout(),
            stderr: self.stderr(),
        }
    }

    fn id(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let deadline = Instant::now() + GRACE;
        // Once it was waited for, its id may be somebody else's.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process(self.id(), self.stop);
            while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
                thread::sleep(Duration::from_millis(5));
            }
        }
        // Nothing more can be done about a process that does not even end like this.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that ended.
#[derive(Clone, Debug)]
pub struct Ran {
    what: String,
    /// The exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal, if one ended it.
    pub signal: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Ran {
    /// Checks that it ended with `code` and that standard error has all of `parts`.
    ///
    /// # Panics
    /// When not.
    pub fn assert_failed(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?} in the message of {self}");
        }
        assert!(!self.stderr.contains("panicked"), "{self}");
    }
}

impl Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, code, signal, stdout, stderr } = self;
        writeln!(f, "{what}: exit code {code:?}, signal {signal:?}")?;
        write!(f, "-- standard output:\n{stdout}\n-- standard error:\n{stderr}")
    }
}

fn child_of(parent: u32) -> Option<u32> {
    let pids = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let found = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        found.is_some_and(|found| found.trim() == parent.to_string())
    })
}

fn nameless() -> File {
    tempfile::tempfile().unwrap_or_else(|error| panic!("no temporary file: {error}"))
}

/// A descriptor of its own position would overwrite what others wrote: all share one.
fn duplicate(file: &File) -> Stdio {
    file.try_clone().unwrap_or_else(|error| panic!("cannot hand over a file: {error}")).into()
}

/// Reads by position, because the position belongs to the writer.
fn contents(file: &File) -> String {
    let mut bytes = vec![0; file.metadata().map_or(0, |metadata| metadata.len()) as usize];
    let mut read = 0;
    while let Ok(count @ 1..) = file.read_at(&mut bytes[read..], read as u64) {
        read += count;
    }
    bytes.truncate(read);
    String::from_utf8_lossy(&bytes).into_owned()
}
