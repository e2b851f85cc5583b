use super::*;
use crate::{Contestant, Fault, Program, Purpose};

/// Runs `peer` on what `text` prints instead of the real program.
fn rows(peer: CommandLine, text: &str) -> Result<Option<u64>, Fault> {
    let program = Program::new("/bin/printf", [text]);
    let file = Executable::Own { program, method: None };
    let mut fake = CommandLine { file, args: Vec::new(), ..peer };
    fake.run(1, Purpose::WarmUp).map(|sample| sample.rows)
}

#[test]
fn headings_are_no_rows() {
    let ss = "State Recv-Q\nLISTEN 0\nESTAB 0\n";
    assert_eq!(rows(super::ss(&["-tan"]), ss), Ok(Some(2)));
    let netstat = "Active Internet connections\nProto Recv-Q\ntcp 0\n";
    assert_eq!(rows(super::netstat(&["-tan"]), netstat), Ok(Some(1)));
    assert_eq!(rows(cat(), "sl local\n 0: 0100007F\nsl local\n"), Ok(Some(1)));
}

#[test]
fn a_row_without_its_owner_does_not_count() {
    let ss = "State Process\nESTAB users:((\"a\",pid=1,fd=3))\nESTAB\n";
    assert_eq!(rows(ss_owners(None), ss), Ok(Some(1)));
    let netstat = "Active\nProto PID/Program name\ntcp 1/a\ntcp -\n";
    assert_eq!(rows(netstat_owners(None), netstat), Ok(Some(1)));
}

#[test]
fn counts_say_how_many_were_counted() {
    let ss = "Total: 9\nTCP:   9 (estab 7)\n\nTransport Total\nRAW\t  0\nTCP\t  7         7\n";
    assert_eq!(rows(ss_summary(), ss), Ok(Some(7)));
    assert_eq!(rows(ss_awk(), "5 127.0.0.1\n2 0.0.0.0\n7 total\n"), Ok(Some(7)));
    let fault = rows(ss_awk(), "5 127.0.0.1\n").unwrap_err();
    assert_eq!(fault, Fault::Wrong("a result without \"total\"".to_owned()));
}

#[test]
fn baselines_have_their_names() {
    assert_eq!(ss(&["-tan"]).name, LIST_BASELINE);
    assert_eq!(ss_owners(None).name, OWNERS_BASELINE);
}
