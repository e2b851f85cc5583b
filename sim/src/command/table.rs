//! `sim table`: throughput.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use portolan_sim::table::table;

#[derive(clap::Args)]
pub struct Arguments {
    /// Where the table is
    #[arg(long, value_name = "FILE", default_value = "sim/throughput.txt")]
    file: PathBuf,
    /// Writes it there instead of comparing
    #[arg(long)]
    write: bool,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let name = arguments.file.display();
    let measured = table();
    if arguments.write {
        fs::write(&arguments.file, &measured)
            .with_context(|| format!("cannot write {name}: choose another file"))?;
        eprintln!("written: {name}");
        return Ok(true);
    }
    print!("{measured}");
    let known = fs::read_to_string(&arguments.file)
        .with_context(|| format!("cannot read {name}: name another file, or use --write"))?;
    if known != measured {
        eprintln!("{name} differs: if that is as it should be, write it with --write");
    }
    Ok(known == measured)
}
