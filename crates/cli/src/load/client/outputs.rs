//! Files that a run is written to, while it goes on and at its end.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::Context;
use portolan_load::{Interval, Measured, Summary};

use super::{args::OutputArgs, csv, hlog, report};

/// Those that were asked for.
pub(super) struct Outputs {
    csv: Option<Output>,
    hdr: Option<Output>,
    report: Option<Output>,
}

struct Output {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Outputs {
    /// Makes the files before the run: one that cannot be written is known at once.
    pub(super) fn open(args: &OutputArgs) -> anyhow::Result<Self> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(Output::create).transpose();
        let mut all =
            Self { csv: open(&args.csv)?, hdr: open(&args.hdr)?, report: open(&args.report)? };
        if let Some(csv) = &mut all.csv {
            csv.write(&csv::head())?;
        }
        if let Some(hdr) = &mut all.hdr {
            hdr.write(&hlog::head())?;
        }
        Ok(all)
    }

    /// Adds an interval.
    pub(super) fn add(&mut self, interval: &Interval, measured: &Measured) -> anyhow::Result<()> {
        // One that cannot be written does not keep from the other.
        let csv = self.csv.as_mut().map_or(Ok(()), |csv| csv.write(&csv::row(interval)));
        let lines = |hdr: &mut Output| hdr.write(&hlog::lines(interval, measured));
        csv.and(self.hdr.as_mut().map_or(Ok(()), lines))
    }

    /// Writes what is known at the end only.
    pub(super) fn finish(
        &mut self,
        summary: &Summary,
        measured: &Measured,
        intervals: &[Interval],
    ) -> anyhow::Result<()> {
        if let Some(report) = &mut self.report {
            report.write(&report::page(summary, measured, intervals).html())?;
        }
        Ok(())
    }
}

impl Output {
    fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file) })
    }

    /// Whoever follows the file sees it at once.
    fn write(&mut self, text: &str) -> anyhow::Result<()> {
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.flush());
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }
}
