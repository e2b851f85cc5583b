use std::os::unix::fs::PermissionsExt;

use super::*;

const MAIN: &str = r"Maps.  

Usage: portolan <COMMAND>

Commands:
  map      Draws
           and more
  bench    Measures
  help     Print this message

Options:
  -h, --help  Print help
";

fn help(path: &[&str]) -> Result<String> {
    Ok(match path {
        [] => MAIN.to_owned(),
        ["bench"] => "Measures\n\nCommands:\n  curve  Draws a curve\n\n  list   Lists\n".to_owned(),
        other => format!("help of {}\n", other.join(" ")),
    })
}

#[test]
fn subcommands_are_read_from_the_help() {
    assert_eq!(subcommands(MAIN), ["map", "bench"]);
    assert_eq!(subcommands("Options:\n  -h  Help\n"), [""; 0]);
}

#[test]
fn every_subcommand_has_its_section() {
    let text = compose(&help).expect("all help is there");
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(
        headings,
        [
            "## `portolan`",
            "## `portolan map`",
            "## `portolan bench`",
            "## `portolan bench curve`",
            "## `portolan bench list`",
        ]
    );
    assert!(text.contains("```text\nMaps.\n\nUsage"), "no space at the end of a line");
    assert!(text.contains("\nhelp of bench curve\n```\n"));
}

#[test]
fn the_difference_is_the_first_line_that_differs() {
    assert_eq!(difference("a\nb\n", "a\nb\n"), None);
    assert_eq!(difference("a\nb\n", "a\nc\n"), Some(2));
    assert_eq!(difference("a\n", "a\nb\n"), Some(2));
    assert_eq!(difference("", "a\n"), Some(1));
}

#[test]
fn a_program_is_asked_for_a_fixed_width_and_must_answer() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
        path
    };
    let says = script("says", "echo \"$COLUMNS $HOME $*\"");
    assert_eq!(ask(&says, &["map"]).expect("an answer"), "100 /home/you map --help\n");
    let fails = script("fails", "exit 3");
    assert!(ask(&fails, &[]).is_err());
    let silent = script("silent", "exit 0");
    let error = ask(&silent, &["map"]).expect_err("no answer");
    assert_eq!(error.to_string(), "`portolan map --help` says nothing");
}
