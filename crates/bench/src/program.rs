//! Contestants that are programs and print a line per row.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    Contestant, Fault, Measured, Program, Purpose, Sample, Stdout, measure, scenario::at_least,
};

/// No run takes longer.
pub(crate) const RUN_TIME_MAX: Duration = Duration::from_secs(180);

/// A program of somebody else's.
///
/// Its lines are counted in the warm-up; when it is timed its output goes to `/dev/null`, so that
/// the one who counts does not slow it down.
#[derive(Clone, Debug)]
pub struct Peer {
    /// How reports call it; the command line without path is a good name.
    pub name: &'static str,
    /// What it does; one line.
    pub about: &'static str,
    /// The program's name, looked for in `PATH`.
    pub program: &'static str,
    /// Its arguments.
    pub args: &'static [&'static str],
    /// How to get it where it is missing.
    pub install: &'static str,
    /// Lines at the top that are no rows.
    pub header_lines: u64,
    /// The greatest size at which it takes part, where it would take too long beyond.
    pub size_max: Option<u64>,
}

impl Contestant for Peer {
    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn is_own(&self) -> bool {
        false
    }

    fn absent(&self, size: u64) -> Option<String> {
        if find(self.program).is_none() {
            return Some(format!("not installed: {}", self.install));
        }
        let size_max = self.size_max.filter(|&max| size > max)?;
        Some(format!("left out above {size_max}, too slow there: --all, or --slow-peers-max"))
    }

    fn run(&mut self, size: u64, purpose: Purpose) -> Result<Sample, Fault> {
        let path = find(self.program)
            .ok_or_else(|| Fault::Failed(format!("not installed: {}", self.install)))?;
        let stdout = match purpose {
            Purpose::WarmUp => Stdout::CountLines,
            Purpose::Timed => Stdout::Discard,
        };
        let measured = measure(&Program::new(path, self.args), stdout, RUN_TIME_MAX)?;
        succeeded(&measured)?;
        let rows = measured.lines.map(|lines| lines.saturating_sub(self.header_lines));
        if let Some(rows) = rows {
            at_least("rows", rows, size)?;
        }
        Ok(Sample { rows, ..Sample::from(&measured) })
    }
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
        }
    }
}

/// Whether the program says that all went well.
pub(crate) fn succeeded(measured: &Measured) -> Result<(), Fault> {
    let how = match measured.usage.code {
        Some(0) => return Ok(()),
        Some(code) => format!("exit code {code}"),
        None => "ended by a signal".to_owned(),
    };
    Err(Fault::Failed(match measured.complaint.as_str() {
        "" => how,
        said => format!("{how}: {}", said.split_whitespace().collect::<Vec<_>>().join(" ")),
    }))
}

/// Where `PATH` has an executable file of this name; the administrator's directories are searched
/// too.
fn find(program: &str) -> Option<PathBuf> {
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
