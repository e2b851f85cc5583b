//! `sim script`: scripts.

use std::path::PathBuf;

use anyhow::Result;

#[derive(clap::Args)]
pub struct Arguments {
    /// The files
    files: Vec<PathBuf>,
}

pub fn run(_arguments: &Arguments) -> Result<bool> {
    Ok(true)
}
