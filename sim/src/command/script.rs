//! `sim script`: scripts.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use portolan_sim::script::{Script, play};

use super::replay::write;

#[derive(clap::Args)]
pub struct Arguments {
    /// The files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Writes what was sent in the last one for Wireshark
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Prints the segments
    #[arg(long)]
    segments: bool,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let mut all_right = true;
    for file in &arguments.files {
        let name = file.display();
        let text = fs::read_to_string(file)
            .with_context(|| format!("cannot read {name}: name a script's file"))?;
        let script = Script::parse(&text).with_context(|| format!("{name} is no script"))?;
        let played = play(&script);
        if arguments.segments {
            played.capture.lines().for_each(|line| println!("{line}"));
        }
        if let Some(path) = &arguments.pcap {
            write(path, &played.capture)?;
        }
        match &played.mismatch {
            Some(mismatch) => println!("{name}: {mismatch}"),
            None => println!("{name}: as written"),
        }
        all_right &= played.mismatch.is_none();
    }
    Ok(all_right)
}
