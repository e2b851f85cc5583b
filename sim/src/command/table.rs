//! `sim table`: throughput.

use anyhow::Result;

#[derive(clap::Args)]
pub struct Arguments {}

pub fn run(_arguments: &Arguments) -> Result<bool> {
    Ok(true)
}
