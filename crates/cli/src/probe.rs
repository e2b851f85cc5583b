//! `portolan probe`: is the port open?

mod args;
mod count;
mod method;
mod owned;
mod progress;
mod report;
mod resume;
mod stop;
mod sweep;
mod targets;
mod wait;

use std::{fs::File, path::Path, process::ExitCode};

use anyhow::{Context, bail};
use portolan_probe::{Pace, Plan};

pub use args::{ProbeArgs, spelled_like_nmap};
use report::{Format, Report, Shown, Sink};
use targets::Targets;

/// What failed when a report could not be written.
const CANNOT_WRITE: &str = "cannot write what was found";

/// Runs the subcommand.
///
/// # Errors
/// When the flags make no sense together, a target cannot be resolved, or nothing can be asked.
pub fn run(args: &ProbeArgs) -> anyhow::Result<ExitCode> {
    if let Some(at_most) = args.wait {
        return wait::run(args, at_most);
    }
    let targets = Targets::read(args)?;
    if !args.i_own_these_networks {
        owned::ensure_owned(&targets)?;
    }
    match args.count {
        Some(count) => count::run(args, &targets, count),
        None => sweep::run(args, &targets),
    }
}

/// How long a target is waited for.
fn plan(args: &ProbeArgs) -> Plan {
    Plan::new(args.timeout, args.retries)
}

/// How fast it may ask.
fn pace(args: &ProbeArgs) -> Pace {
    match (args.rate, args.max_rate) {
        (Some(rate), _) => Pace::Fixed(rate),
        (None, most) => Pace::Adaptive { per_second_max: most.unwrap_or(f64::INFINITY) },
    }
}

/// Where findings go; `is_rest` if a part of them was told before, by an interrupted sweep.
fn report(args: &ProbeArgs, is_rest: bool) -> anyhow::Result<Report> {
    let files = [(Format::Grepable, &args.grepable), (Format::Xml, &args.xml)];
    let files: Vec<(Format, &Path)> =
        files.into_iter().filter_map(|(format, file)| Some((format, file.as_deref()?))).collect();
    let to_stdout = files.iter().filter(|(_, file)| *file == Path::new("-")).count();
    if to_stdout + usize::from(args.json) > 1 {
        bail!("only one format can go to standard output: name files for the others");
    }
    let mut sinks = Vec::new();
    for (format, file) in files {
        if file == Path::new("-") {
            sinks.push(Sink::stdout(format));
            continue;
        }
        if is_rest && file.exists() {
            bail!(
                "{} has what was found before the interruption: name another file for the rest",
                file.display()
            );
        }
        let made =
            File::create(file).with_context(|| format!("cannot write {}", file.display()))?;
        sinks.push(Sink::new(format, made));
    }
    if to_stdout == 0 {
        sinks.push(Sink::stdout(if args.json { Format::Json } else { Format::Text }));
    }
    let shown = match (args.open, args.every) {
        (true, _) => Shown::Open,
        (_, true) => Shown::Every,
        _ => Shown::Usual,
    };
    Ok(Report::new(sinks).show(shown))
}
