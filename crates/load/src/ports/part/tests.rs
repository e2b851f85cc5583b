use std::path::PathBuf;

use super::*;

fn shell(script: &str) -> Part {
    let program = Program {
        path: PathBuf::from("/bin/sh"),
        arguments: vec!["-c".into(), script.into(), "sh".into()],
    };
    let address = "127.0.0.1:1".parse().unwrap();
    Part::start(&program, &Task::Serve { address, is_late: true }).unwrap()
}

#[test]
fn what_is_asked_is_answered_line_by_line() {
    let stop = Stop::new().unwrap();
    let mut part = shell("echo \"$1\"; while read line; do echo \"<$line>\"; done");
    let task = part.line(&stop).unwrap().unwrap();
    assert_eq!(task, "{\"serve\":{\"address\":\"127.0.0.1:1\",\"is_late\":true}}");
    part.ask("one").unwrap();
    part.ask("two").unwrap();
    assert_eq!(part.line(&stop).unwrap().as_deref(), Some("<one>"));
    assert_eq!(part.line(&stop).unwrap().as_deref(), Some("<two>"));
}

#[test]
fn one_that_ends_early_is_an_error_and_nobody_waits_after_the_end_was_asked_for() {
    let stop = Stop::new().unwrap();
    assert!(shell("exit 0").line(&stop).is_err());
    let mut silent = shell("exec sleep 1000");
    stop.ask();
    assert_eq!(silent.line(&stop).unwrap(), None);
    let pid = silent.child.id();
    drop(silent);
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "nothing is left");
}
