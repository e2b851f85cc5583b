//! `sim run`: many seeds.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use portolan_sim::{
    coverage::Happening,
    runner::{Progress, keep_panics_quiet, run_seeds},
    scenario::generated,
    shrink::shrunk,
};

#[derive(clap::Args)]
pub struct Arguments {
    /// The first seed, and the one behind the last
    #[arg(long, value_name = "FIRST..LAST", default_value = "0..2000", value_parser = range)]
    seeds: (u64, u64),
    /// How many run at the same time
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Stops after so many failures
    #[arg(long, default_value_t = 1)]
    failures: usize,
    /// For how long a failing scenario is made smaller, in seconds
    #[arg(long, default_value_t = 30)]
    shrink: u64,
    /// Says how often each kind of trouble happened
    #[arg(long)]
    coverage: bool,
    /// Where failing scenarios are left
    #[arg(long, value_name = "FOLDER", default_value = "sim/scenarios")]
    into: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let began = Instant::now();
    let (first, last) = arguments.seeds;
    let progress = Lines { count: last - first, began };
    keep_panics_quiet();
    let tally = run_seeds(arguments.seeds, arguments.threads, arguments.failures, &progress);
    println!(
        "{} seeds, {} failed; {} segments, {} bytes, {} virtual seconds in {:.1} s",
        tally.runs,
        tally.failures.len(),
        tally.segments,
        tally.bytes,
        tally.virtual_s,
        began.elapsed().as_secs_f64()
    );
    if arguments.coverage {
        for &what in Happening::ALL {
            let (count, runs) = (tally.coverage.count(what), tally.runs_with.count(what));
            println!("{:<45} {count:>12} in {runs:>7} runs", what.name());
        }
    }
    for (seed, violation) in &tally.failures {
        println!("seed {seed}: {violation}");
    }
    for (seed, _) in tally.failures.iter().take(LEFT_MAX) {
        leave(*seed, Duration::from_secs(arguments.shrink), &arguments.into)?;
    }
    Ok(tally.failures.is_empty())
}

/// Says on stderr how it goes on.
struct Lines {
    count: u64,
    began: Instant,
}

impl Progress for Lines {
    fn done(&self, runs: u64) {
        if runs.is_multiple_of(1_000) {
            eprintln!("{runs} of {} seeds, {} s", self.count, self.began.elapsed().as_secs());
        }
    }

    fn stuck(&self, seed: u64) {
        println!("seed {seed}: busy: the run does not end; it is left where it is");
        std::process::exit(1);
    }
}

/// Makes the scenario of a failing seed smaller, and writes it into a file.
fn leave(seed: u64, at_most: Duration, folder: &Path) -> Result<()> {
    let Some((scenario, violation)) = shrunk(&generated(seed), at_most) else {
        bail!("seed {seed} did not fail a second time: something but the seed decides the run");
    };
    let path = folder.join(format!("failing-{seed}.json"));
    fs::write(&path, scenario.to_json())
        .with_context(|| format!("cannot write {}: choose another folder", path.display()))?;
    eprintln!("seed {seed}, made smaller: {violation}");
    eprintln!("see it again: cargo run -p portolan-sim -- replay {}", path.display());
    Ok(())
}

/// More would be the same ones again, mostly.
const LEFT_MAX: usize = 10;

fn range(text: &str) -> Result<(u64, u64), String> {
    let numbers = text.split_once("..").and_then(|(first, last)| {
        let first = if first.is_empty() { 0 } else { first.parse().ok()? };
        Some((first, last.parse().ok()?))
    });
    numbers
        .filter(|(first, last)| first < last)
        .ok_or_else(|| format!("{text} is no range of seeds; write it as 0..2000"))
}
