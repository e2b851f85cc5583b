//! The reference of the command line is what the program itself says.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use super::directions;
use crate::tree::{Tree, Violation};

const RULE: &str = "cli reference";

const PROGRAM: &str = "portolan";
const REFERENCE: &str = "docs/cli/portolan.md";
const REMEDY: &str = "run `cargo xtask cli-reference --write`";

const TOP: &str = "\
# The command line

What `portolan --help` and the help of each subcommand say. Made by
`cargo xtask cli-reference --write`; `cargo xtask tidy` compares.
";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let written = tree.text(REFERENCE).unwrap_or_default();
    let (line, message) = match generate(tree.root()) {
        Err(error) => (1, format!("cannot be compared: {error:#}")),
        Ok(said) => match difference(&written, &said) {
            None => return Vec::new(),
            Some(line) => (line, format!("is not what the program says; {REMEDY}")),
        },
    };
    vec![Violation { path: REFERENCE.to_owned(), line, rule: RULE, message }]
}

/// The first line on which two texts differ.
fn difference(one: &str, other: &str) -> Option<usize> {
    if one == other {
        return None;
    }
    let same = one.lines().zip(other.lines()).take_while(|(one, other)| one == other).count();
    Some(same + 1)
}

/// Writes the reference anew.
pub fn write(root: &Path) -> Result<()> {
    let path = root.join(REFERENCE);
    let text = generate(root)?;
    fs::create_dir_all(path.parent().context("the reference has no folder")?)?;
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// What the reference should be, from the program as it is now.
pub fn generate(root: &Path) -> Result<String> {
    let program = build(root)?;
    compose(&|subcommand: &[&str]| ask(&program, subcommand))
}

/// Builds the program; that is quick where nothing changed, and an old one would say old things.
fn build(root: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--package", "portolan-cli"])
        .current_dir(root)
        .output()
        .context("cannot run cargo")?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        let error = said.lines().find(|line| line.starts_with("error")).unwrap_or_default();
        bail!("portolan-cli does not build ({error}); make it build");
    }
    let metadata = directions::metadata(root)?;
    let target = metadata["target_directory"].as_str().context("no target directory")?;
    Ok(Path::new(target).join("debug").join(PROGRAM))
}

fn ask(program: &Path, subcommand: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(subcommand)
        .arg("--help")
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .env("HOME", "/home/you")
        .env_remove("XDG_STATE_HOME")
        .env_remove("XDG_DATA_HOME")
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let called = [&[PROGRAM], subcommand, &["--help"]].concat().join(" ");
    ensure!(output.status.success(), "`{called}` ended with {}", output.status);
    let text = String::from_utf8(output.stdout).context("the help is not UTF-8")?;
    ensure!(!text.trim().is_empty(), "`{called}` says nothing");
    Ok(text)
}

/// All help texts, each subcommand after the one it belongs to.
fn compose(help: &dyn Fn(&[&str]) -> Result<String>) -> Result<String> {
    let mut text = TOP.to_owned();
    append(&mut text, &[], help)?;
    Ok(text)
}

fn append(
    text: &mut String,
    path: &[&str],
    help: &dyn Fn(&[&str]) -> Result<String>,
) -> Result<()> {
    let said = help(path)?;
    let name = [&[PROGRAM], path].concat().join(" ");
    let lines: Vec<&str> = said.trim_end().lines().map(str::trim_end).collect();
    text.push_str(&format!("\n## `{name}`\n\n```text\n{}\n```\n", lines.join("\n")));
    for subcommand in subcommands(&said) {
        append(text, &[path, &[subcommand]].concat(), help)?;
    }
    Ok(())
}

/// The names in the section "Commands:", without `help`.
fn subcommands(help: &str) -> Vec<&str> {
    let section = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    section
        .take_while(|line| line.starts_with("  ") || line.is_empty())
        // Descriptions that go on are indented further.
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}

#[cfg(test)]
mod tests;
