//! Contestants that are programs and print what they found.

use std::{
    env,
    ffi::OsStr,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Duration,
};

use portolan_sockets::MethodName;

use crate::{Contestant, Fault, Measured, Program, Purpose, Sample, Stdout, measure, read, strace};

/// No run takes longer.
pub(crate) const RUN_TIME_MAX: Duration = Duration::from_secs(180);

/// Counts are a few lines.
const COUNTS_BYTES_MAX: u64 = 1024 * 1024;

/// A program with its arguments, ours or somebody else's, that prints its result.
///
/// The result is looked at in the warm-up; when it is timed it goes to `/dev/null`, so that the
/// one who looks does not slow it down.
#[derive(Clone, Debug)]
pub struct CommandLine {
    /// How reports call it; the command line without path is a good name.
    pub name: String,
    /// Which part of the scenario's work it does.
    pub task: &'static str,
    /// The name of the one that it is compared with.
    pub baseline: &'static str,
    /// What it does; one line.
    pub about: &'static str,
    /// What to run.
    pub file: Executable,
    /// Its arguments.
    pub args: Vec<&'static str>,
    /// How its result is to be read.
    pub output: Output,
    /// How many rows a right result has, by the size.
    pub rows: fn(u64) -> RangeInclusive<u64>,
    /// Whether to count the calls that fetch the kernel's table.
    pub counts_reads: bool,
    /// The greatest size at which it takes part, where it would take too long beyond.
    pub size_max: Option<u64>,
}

/// What to run.
#[derive(Clone, Debug)]
pub enum Executable {
    /// This program.
    Own {
        /// Its file, and what comes before the arguments.
        program: Program,
        /// The listing method that it uses; where the host refuses that, it is absent.
        method: Option<MethodName>,
    },
    /// Somebody else's.
    Peer {
        /// The program's name, looked for in `PATH`.
        program: &'static str,
        /// Programs that it runs in its turn.
        needs: &'static [&'static str],
        /// How to get what is missing.
        install: &'static str,
    },
}

/// How a printed result is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A line per row.
    Rows {
        /// Lines at the top that are no rows.
        heading: u64,
        /// What each row has in it; a line without is none.
        mark: &'static str,
    },
    /// Counts; that of all rows is the first number of the line that has this in it.
    Total {
        /// What the line has in it.
        mark: &'static str,
    },
}

impl Executable {
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Self::Own { .. })
    }

    /// What is not installed, and how to get it.
    pub(crate) fn missing(&self) -> Option<String> {
        let Self::Peer { program, needs, install } = self else { return None };
        let mut all = std::iter::once(program).chain(*needs);
        all.any(|name| find(name).is_none()).then(|| format!("not installed: {install}"))
    }

    pub(crate) fn program(&self) -> Result<Program, Fault> {
        match self {
            Self::Own { program, .. } => Ok(program.clone()),
            Self::Peer { program, install, .. } => {
                let missing = || Fault::Failed(format!("not installed: {install}"));
                Ok(Program::new(find(program).ok_or_else(missing)?, [""; 0]))
            }
        }
    }
}

impl CommandLine {
    fn program(&self) -> Result<Program, Fault> {
        Ok(self.file.program()?.with(&self.args))
    }
}

impl Contestant for CommandLine {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn task(&self) -> &'static str {
        self.task
    }

    fn baseline(&self) -> &'static str {
        self.baseline
    }

    fn is_own(&self) -> bool {
        self.file.is_own()
    }

    fn absent(&self, size: u64) -> Option<String> {
        self.file.missing().or_else(|| too_large(size, self.size_max))
    }

    fn rows_expected(&self, size: u64) -> RangeInclusive<u64> {
        (self.rows)(size)
    }

    fn run(&mut self, _size: u64, purpose: Purpose) -> Result<Sample, Fault> {
        let stdout = match (purpose, self.output) {
            (Purpose::Timed, _) => Stdout::Discard,
            (Purpose::WarmUp, Output::Rows { heading, mark }) => {
                Stdout::CountLines { heading, mark }
            }
            (Purpose::WarmUp, Output::Total { .. }) => Stdout::Keep { bytes_max: COUNTS_BYTES_MAX },
        };
        let measured = measure(&self.program()?, stdout, RUN_TIME_MAX)?;
        succeeded(&measured).map_err(|fault| match self.file {
            Executable::Own { method, .. } => read::refused_or(fault, method),
            Executable::Peer { .. } => fault,
        })?;
        let rows = match (stdout, self.output) {
            (Stdout::Keep { .. }, Output::Total { mark }) => Some(total(&measured.kept, mark)?),
            _ => measured.lines,
        };
        Ok(Sample { rows, ..Sample::from(&measured) })
    }

    fn count_reads(&mut self) -> Option<Result<u64, String>> {
        if !self.counts_reads {
            return None;
        }
        Some(match (self.program(), find(strace::PROGRAM)) {
            (Ok(program), Some(strace)) => strace::count_reads(&strace, &program),
            (_, None) => Err(format!("needs {}: {}", strace::PROGRAM, strace::INSTALL)),
            (Err(_), _) => Err("not installed".to_owned()),
        })
    }
}

/// Why who takes part up to `size_max` does not take part.
pub(crate) fn too_large(size: u64, size_max: Option<u64>) -> Option<String> {
    let max = size_max.filter(|&max| size > max)?;
    Some(format!("left out above {max}, too slow there: --all, or --slow-peers-max"))
}

/// The first number of the line with `mark`.
fn total(counts: &[u8], mark: &str) -> Result<u64, Fault> {
    let text = String::from_utf8_lossy(counts);
    text.lines()
        .find(|line| line.contains(mark))
        .and_then(|line| line.split_whitespace().find_map(|word| word.parse().ok()))
        .ok_or_else(|| Fault::Wrong(format!("a result without {:?}", mark.trim())))
}

impl From<&Measured> for Sample {
    fn from(measured: &Measured) -> Self {
        Self {
            wall: measured.wall,
            cpu: measured.usage.user + measured.usage.system,
            user: Some(measured.usage.user),
            system: Some(measured.usage.system),
            peak_kib: measured.usage.peak_kib,
            peak_floor_kib: measured.peak_floor_kib,
            rows: None,
            figures: Vec::new(),
            marks: Vec::new(),
        }
    }
}

/// Whether the program says that all went well.
pub(crate) fn succeeded(measured: &Measured) -> Result<(), Fault> {
    ended_with(measured, &[0])
}

/// Whether the program ended with one of these codes.
pub(crate) fn ended_with(measured: &Measured, codes: &[i32]) -> Result<(), Fault> {
    let how = match measured.usage.code {
        Some(code) if codes.contains(&code) => return Ok(()),
        Some(code) => format!("exit code {code}"),
        None => "ended by a signal".to_owned(),
    };
    Err(Fault::Failed(match measured.complaint().as_str() {
        "" => how,
        said => format!("{how}: {}", said.split_whitespace().collect::<Vec<_>>().join(" ")),
    }))
}

/// Where `PATH` has an executable file of this name; the administrator's directories are searched
/// too.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    env::split_paths(&path)
        .chain(usual)
        .map(|directory| directory.join(OsStr::new(program)))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests;
