use super::*;

fn peer() -> CommandLine {
    let install = "apt-get install dash";
    CommandLine {
        name: "sh".to_owned(),
        task: "print",
        baseline: "sh",
        about: "prints a header and two rows",
        file: Executable::Peer { program: "sh", needs: &[], install },
        args: vec!["-c", "printf 'header\\n1\\n2\\n'"],
        output: Output::Rows { heading: 1, mark: "" },
        rows: |size| size..=size,
        counts_reads: false,
        size_max: Some(10),
    }
}

#[test]
fn rows_are_counted_in_the_warm_up_only() {
    let mut peer = peer();
    assert_eq!(peer.run(2, Purpose::WarmUp).map(|sample| sample.rows), Ok(Some(2)));
    assert_eq!(peer.run(2, Purpose::Timed).map(|sample| sample.rows), Ok(None));
}

#[test]
fn rows_are_lines_with_a_mark_or_a_number_somewhere() {
    let rows = |output| CommandLine { output, ..peer() }.run(2, Purpose::WarmUp).unwrap().rows;
    assert_eq!(rows(Output::Rows { heading: 0, mark: "" }), Some(3));
    assert_eq!(rows(Output::Rows { heading: 0, mark: "ea" }), Some(1));
    assert_eq!(rows(Output::Total { mark: "2" }), Some(2));
    let without = CommandLine { output: Output::Total { mark: "head" }, ..peer() };
    assert!(matches!(without.clone().run(2, Purpose::WarmUp), Err(Fault::Wrong(_))));
    assert_eq!(without.clone().run(2, Purpose::Timed).map(|sample| sample.rows), Ok(None));
}

#[test]
fn a_missing_program_says_how_to_get_it() {
    let install = "apt-get install dash";
    let with = |program, needs| {
        let file = Executable::Peer { program, needs, install };
        CommandLine { file, ..peer() }.absent(1)
    };
    assert_eq!(
        with("no-such-program", &[]).as_deref(),
        Some("not installed: apt-get install dash")
    );
    assert!(with("sh", &["cat", "no-such-program"]).is_some());
    assert_eq!(with("sh", &["cat"]), None);
}

#[test]
fn the_own_program_fails_where_its_method_is_not_refused() {
    let program = Program::new("/bin/sh", ["-c", "exit 2", "sh"]);
    let file = Executable::Own { program, method: Some(MethodName::Procfs) };
    let mut own = CommandLine { file, ..peer() };
    assert!(own.is_own() && !peer().is_own());
    assert_eq!(own.absent(1), None);
    assert_eq!(own.run(1, Purpose::WarmUp), Err(Fault::Failed("exit code 2".to_owned())));
}

#[test]
fn a_slow_program_is_left_out_of_large_sizes() {
    assert_eq!(peer().absent(10), None);
    let why = peer().absent(11).unwrap();
    assert!(why.contains("left out above 10") && why.contains("--all"), "{why}");
}

#[test]
fn a_program_that_fails_is_quoted() {
    let fails = |script| {
        let mut peer = CommandLine { args: vec!["-c", script], ..peer() };
        peer.run(1, Purpose::Timed).unwrap_err()
    };
    assert_eq!(fails("echo no right >&2; exit 4"), Fault::Failed("exit code 4: no right".into()));
    assert_eq!(fails("kill -9 $$"), Fault::Failed("ended by a signal".to_owned()));
}

#[test]
fn reads_are_counted_where_that_is_asked() {
    assert_eq!(peer().count_reads(), None);
    let mut peer = CommandLine { counts_reads: true, ..peer() };
    assert_eq!(peer.count_reads(), Some(Ok(0)), "needs {}: {}", strace::PROGRAM, strace::INSTALL);
}
