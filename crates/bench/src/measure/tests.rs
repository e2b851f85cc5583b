use super::*;

const LIMIT: Duration = Duration::from_secs(60);

fn shell(script: &str, stdout: Stdout) -> Result<Measured, Error> {
    measure(&Program::new("/bin/sh", ["-c", script]), stdout, LIMIT)
}

#[test]
fn lines_are_counted_output_is_kept_or_dropped() {
    let script = "printf 'a\\nb\\nc\\n'";
    let count =
        |heading, mark| shell(script, Stdout::CountLines { heading, mark }).unwrap().lines.unwrap();
    assert_eq!((count(0, ""), count(1, ""), count(5, "")), (3, 2, 0));
    assert_eq!((count(0, "b"), count(2, "b"), count(0, "long")), (1, 0, 0));
    assert_eq!(shell(script, Stdout::Keep { bytes_max: 3 }).unwrap().kept, b"a\nb");
    assert_eq!(shell(script, Stdout::Store { bytes_max: 9 }).unwrap().kept, b"a\nb\nc\n");
    let discarded = shell(script, Stdout::Discard).unwrap();
    assert_eq!((discarded.lines, discarded.kept.len()), (None, 0));
}

#[test]
fn a_failure_comes_with_its_code_and_what_was_said() {
    let failed = shell("echo no such table >&2; exit 3", Stdout::Discard).unwrap();
    assert_eq!(failed.usage.code, Some(3));
    assert_eq!(failed.complaint(), "no such table");
}

#[test]
fn the_account_is_that_of_the_child() {
    let busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let busy = shell(busy, Stdout::Discard).unwrap().usage;
    assert!(!(busy.user + busy.system).is_zero());
    assert!(busy.peak_kib > 0);
}

#[test]
fn what_takes_too_long_is_ended() {
    let program = Program::new("/bin/sh", ["-c", "exec sleep 600"]);
    let result = measure(&program, Stdout::Discard, Duration::from_millis(50));
    assert!(matches!(result, Err(Error::TooSlow { .. })), "{result:?}");
}

#[test]
fn a_program_that_is_not_there_is_an_error_that_names_it() {
    let result = measure(&Program::new("/no/such/program", ["-x"]), Stdout::Discard, LIMIT);
    let said = result.unwrap_err().to_string();
    assert!(said.contains("run program -x"), "{said}");
}

#[test]
fn the_own_peak_is_known() {
    assert!(own_peak_kib() > 0);
}
