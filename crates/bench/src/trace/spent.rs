//! What a tracer has spent so far: its process, and its programs in the kernel.

use std::{collections::BTreeMap, fs, io, time::Instant};

/// At one time.
#[derive(Clone, Debug)]
pub(super) struct Spent {
    at: Instant,
    /// CPU time of all threads, user and system, nanoseconds.
    process_ns: u64,
    programs: Programs,
}

/// What was spent between two times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Between {
    /// How long it was, nanoseconds.
    pub(super) span_ns: u64,
    /// CPU time of the process.
    pub(super) process_ns: u64,
    /// Run time of its programs, in whatever context the kernel ran them.
    pub(super) kernel_ns: u64,
    /// How often they ran.
    pub(super) runs: u64,
}

impl Spent {
    /// What the process has spent until now.
    ///
    /// # Errors
    /// When `/proc` does not say.
    pub(super) fn read(pid: u32) -> io::Result<Self> {
        let programs = Programs::of_process(pid)?;
        Ok(Self { process_ns: process_ns(pid)?, programs, at: Instant::now() })
    }

    /// What it has spent since `before`.
    pub(super) fn since(&self, before: &Self) -> Between {
        let ((ns, runs), (ns_before, runs_before)) =
            (self.programs.attached(), before.programs.attached());
        let span = self.at.duration_since(before.at);
        Between {
            span_ns: u64::try_from(span.as_nanos()).unwrap_or(u64::MAX),
            process_ns: self.process_ns.saturating_sub(before.process_ns),
            kernel_ns: ns.saturating_sub(ns_before),
            runs: runs.saturating_sub(runs_before),
        }
    }
}

/// `/proc/PID/stat` counts in hundredths of a second; this is as exact as the scheduler is.
fn process_ns(pid: u32) -> io::Result<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end meanwhile.
        let text = fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
        sum += on_cpu_ns(&text).unwrap_or(0);
    }
    if sum == 0 { Err(io::Error::other("the kernel has no CONFIG_SCHED_INFO")) } else { Ok(sum) }
}

/// The first number of `/proc/PID/task/TID/schedstat` (Documentation/scheduler/sched-stats.rst).
fn on_cpu_ns(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

/// The programs of a process, and which of them are attached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Programs {
    /// Run time in nanoseconds and runs, by program.
    ran: BTreeMap<u32, (u64, u64)>,
    /// Those that the kernel runs when something happens.
    attached: Vec<u32>,
}

impl Programs {
    fn of_process(pid: u32) -> io::Result<Self> {
        let mut programs = Self::default();
        for descriptor in fs::read_dir(format!("/proc/{pid}/fdinfo"))? {
            // A descriptor may be closed meanwhile.
            programs.add(&fs::read_to_string(descriptor?.path()).unwrap_or_default());
        }
        Ok(programs)
    }

    /// Takes in the text of a descriptor, whatever it is of.
    fn add(&mut self, text: &str) {
        let Some(id) = field(text, "prog_id").and_then(|id| id.parse().ok()) else { return };
        if let Some(link) = field(text, "link_type") {
            // An iterator runs in the time of the process that reads it: it is in that already.
            if link != "iter" {
                self.attached.push(id);
            }
        } else if field(text, "prog_type").is_some() {
            let number = |name| field(text, name).and_then(|text| text.parse().ok()).unwrap_or(0);
            self.ran.insert(id, (number("run_time_ns"), number("run_cnt")));
        }
    }

    /// Run time and runs of those that are attached, each once however often it is.
    fn attached(&self) -> (u64, u64) {
        let ran = self.ran.iter().filter(|(id, _)| self.attached.contains(id));
        ran.fold((0, 0), |(ns, runs), (_, &(more_ns, more))| (ns + more_ns, runs + more))
    }
}

/// The value of `name:` in `/proc/PID/fdinfo/FD`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

#[cfg(test)]
mod tests;
