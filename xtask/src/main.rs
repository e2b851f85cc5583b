//! Checks and chores of the repository: `cargo xtask tidy`, `cargo xtask cli-reference`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};

#[cfg(test)]
mod fixture;
mod tidy;
mod tree;

const USAGE: &str = "\
Usage: cargo xtask <COMMAND>

Commands:
  tidy                     Check the rules of CONTRIBUTING.md; exit status 1 where one is broken
  cli-reference [--write]  Print docs/cli/portolan.md as the program says it should be, or write it
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[&str]) -> Result<ExitCode> {
    match arguments {
        ["tidy"] => tidy::run(&root()?),
        ["cli-reference"] => {
            print!("{}", tidy::reference::generate(&root()?)?);
            Ok(ExitCode::SUCCESS)
        }
        ["cli-reference", "--write"] => {
            tidy::reference::write(&root()?)?;
            Ok(ExitCode::SUCCESS)
        }
        [] | ["-h" | "--help" | "help"] => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => anyhow::bail!("unknown arguments: {}\n\n{USAGE}", arguments.join(" ")),
    }
}

fn root() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    root.map(Path::to_path_buf).context("xtask has no parent directory")
}
