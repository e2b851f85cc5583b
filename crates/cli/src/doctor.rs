//! `portolan doctor`: what this host allows, and what follows for each job.

mod facts;
mod jobs;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anstyle::{AnsiColor, Style};
use clap::Args;
use serde::Serialize;

use crate::print::json;

/// Say what this host allows, and for each job which method will be used, which not, why, and
/// what to do.
#[derive(Args, Debug)]
#[command(after_help = "Exit codes: 0 every job has a method; 1 some job has none; 2 an error.")]
pub struct DoctorArgs {
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

/// How a finding is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As it should be; of a method: this one will be used.
    Ok,
    /// Works, and would be used if asked for or if the better one failed.
    Available,
    /// Something is less than it could be.
    Limited,
    /// Cannot be used here.
    Refused,
}

/// One line of the diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `host` for a fact, or the job that a method is for.
    pub topic: &'static str,
    /// The fact, or the method.
    pub name: &'static str,
    pub status: Status,
    /// The value, or why the status is what it is.
    pub detail: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl Finding {
    pub fn new(
        topic: &'static str,
        name: &'static str,
        status: Status,
        detail: impl Into<String>,
    ) -> Self {
        Self { topic, name, status, detail: detail.into(), advice: None }
    }

    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

/// Runs the subcommand.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let mut findings = facts::find();
    findings.extend(jobs::find());
    let mut out = anstream::stdout().lock();
    if args.json {
        for finding in &findings {
            json::line(finding, &mut out)?;
        }
    } else {
        write(&findings, &mut out)?;
    }
    out.flush()?;
    Ok(if jobs::all_can_be_done(&findings) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn write(findings: &[Finding], out: &mut impl Write) -> io::Result<()> {
    let width = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    let mut topic = "";
    for finding in findings {
        if finding.topic != topic {
            if !topic.is_empty() {
                writeln!(out)?;
            }
            topic = finding.topic;
            let bold = Style::new().bold();
            writeln!(out, "{bold}{topic}{bold:#}")?;
        }
        let (word, color) = match finding.status {
            Status::Ok => ("ok", AnsiColor::Green),
            Status::Available => ("available", AnsiColor::Cyan),
            Status::Limited => ("limited", AnsiColor::Yellow),
            Status::Refused => ("refused", AnsiColor::Red),
        };
        let style = color.on_default();
        writeln!(out, "  {:width$}  {style}{word:9}{style:#}  {}", finding.name, finding.detail)?;
        if let Some(advice) = &finding.advice {
            writeln!(out, "  {:width$}  {:9}  -> {advice}", "", "")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
