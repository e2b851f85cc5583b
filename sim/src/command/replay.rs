//! `sim replay`: one scenario.

use std::{
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use portolan_sim::{
    pcap::Capture,
    scenario::{Scenario, generated},
    world,
};

#[derive(clap::Args)]
pub struct Arguments {
    /// The scenario's file, or a seed
    scenario: String,
    /// Writes what was sent for Wireshark
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Prints the scenario instead of running it
    #[arg(long)]
    print: bool,
    /// Prints the segments
    #[arg(long)]
    segments: bool,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let mut scenario = match arguments.scenario.parse() {
        Ok(seed) => generated(seed),
        Err(_) => read(Path::new(&arguments.scenario))?,
    };
    if arguments.print {
        print!("{}", scenario.to_json());
        return Ok(true);
    }
    scenario.captures = arguments.pcap.is_some() || arguments.segments;
    let outcome = world::run(&scenario);
    if let Some(path) = &arguments.pcap {
        write(path, &outcome.capture)?;
    }
    if arguments.segments {
        outcome.capture.lines().for_each(|line| println!("{line}"));
    }
    let (segments, bytes) = (outcome.segments, outcome.bytes);
    println!("{segments} segments, {bytes} bytes in {:?} of virtual time", outcome.lasted);
    match &outcome.violation {
        Some(violation) => println!("{violation}"),
        None => println!("no rule was broken"),
    }
    Ok(outcome.violation.is_none())
}

fn read(path: &Path) -> Result<Scenario> {
    let name = path.display();
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read {name}: name a scenario's file, or a seed"))?;
    serde_json::from_str(&text).with_context(|| format!("{name} is no scenario"))
}

/// Writes a capture into a file.
pub fn write(path: &Path, capture: &Capture) -> Result<()> {
    let cannot = || format!("cannot write {}: choose another file", path.display());
    let mut file = BufWriter::new(File::create(path).with_context(cannot)?);
    capture.write(&mut file).with_context(cannot)?;
    eprintln!("written: {}", path.display());
    Ok(())
}
