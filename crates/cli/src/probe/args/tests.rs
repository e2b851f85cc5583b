use std::ffi::OsString;

use clap::{Parser, error::ErrorKind};

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    probe: ProbeArgs,
}

fn parse(words: &[&str]) -> Result<ProbeArgs, ErrorKind> {
    let line = Line::try_parse_from([&["probe"], words].concat());
    line.map(|line| line.probe).map_err(|error| error.kind())
}

fn spelled(words: &[&str]) -> Vec<OsString> {
    spelled_like_nmap(words.iter().map(OsString::from))
}

#[test]
fn nmaps_spelling_is_understood() {
    let words = spelled(&["portolan", "probe", "-oX", "a.xml", "-oG", "-", "10.0.0.1"]);
    assert_eq!(words, ["portolan", "probe", "--xml", "a.xml", "--grepable", "-", "10.0.0.1"]);
}

#[test]
fn other_subcommands_are_not_respelled() {
    let words = ["portolan", "map", "-oX", "probe", "-oG"];
    assert_eq!(spelled(&words), words);
    assert_eq!(spelled(&["portolan"]), ["portolan"]);
    assert!(spelled(&[]).is_empty());
}

#[test]
fn a_wait_has_a_time_or_none() {
    assert_eq!(parse(&["a:1"]).unwrap().wait, None);
    assert_eq!(parse(&["a:1", "--wait"]).unwrap().wait, Some(None));
    let thirty = Some(Some(Duration::from_secs(30)));
    assert_eq!(parse(&["a:1", "--wait=30s"]).unwrap().wait, thirty);
    // Otherwise the target behind it would be taken for the time.
    let args = parse(&["--wait", "a:1"]).unwrap();
    assert_eq!((args.wait, args.targets), (Some(None), vec!["a:1".to_owned()]));
}

#[test]
fn all_ports_are_a_hyphen() {
    assert_eq!(parse(&["a", "-p", "-"]).unwrap().ports.as_deref(), Some("-"));
    assert_eq!(parse(&["a", "-p-"]).unwrap().ports.as_deref(), Some("-"));
    assert_eq!(parse(&["a", "-p", "-1024"]).unwrap().ports.as_deref(), Some("-1024"));
}

#[test]
fn a_target_or_a_file_of_them_is_needed() {
    assert_eq!(parse(&[]).unwrap_err(), ErrorKind::MissingRequiredArgument);
    assert!(parse(&["-i", "-"]).unwrap().targets.is_empty());
}

#[test]
fn what_would_not_be_heeded_is_refused() {
    for words in [
        &["a:1", "--count", "5", "--rate", "9"][..],
        &["a:1", "--count", "5", "--max-rate", "9"],
        &["a:1", "--count", "5", "-p", "1", "--xml", "x"],
        &["a:1", "--count", "5", "--grepable", "x"],
        &["a:1", "--count", "5", "--open"],
        &["a:1", "--count", "5", "--every"],
        &["a:1", "--count", "5", "--resume", "x"],
        &["a:1", "--count", "5", "--wait"],
        &["a:1", "--wait", "--resume", "x"],
        &["a:1", "--wait", "--rate", "9"],
        &["a:1", "--wait", "--max-rate", "9"],
        &["a:1", "--wait", "--seed", "1", "--shard", "1/2"],
    ] {
        assert_eq!(parse(words).unwrap_err(), ErrorKind::ArgumentConflict, "{words:?}");
    }
}

#[test]
fn times_and_rates_have_bounds() {
    assert_eq!(timeout("1ms"), Ok(Duration::from_millis(1)));
    assert_eq!(timeout("1h"), Ok(Duration::from_secs(3600)));
    for text in ["0s", "999us", "3601s", "", "5", "fast", "-1s"] {
        assert!(timeout(text).is_err(), "{text}");
    }
    assert_eq!(rate("0.01"), Ok(0.01));
    assert_eq!(rate("1e8"), Ok(1e8));
    for text in ["0", "-0", "0.009", "1e9", "-5", "nan", "inf", "-inf", "", "fast"] {
        assert!(rate(text).is_err(), "{text}");
    }
}
