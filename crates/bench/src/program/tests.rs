use super::*;

const PEER: Peer = Peer {
    name: "sh",
    about: "prints a header and two rows",
    program: "sh",
    args: &["-c", "printf 'header\\n1\\n2\\n'"],
    install: "apt-get install dash",
    header_lines: 1,
    size_max: Some(10),
};

#[test]
fn rows_are_counted_in_the_warm_up_only() {
    let mut peer = PEER;
    assert_eq!(peer.run(2, Purpose::WarmUp).map(|sample| sample.rows), Ok(Some(2)));
    assert_eq!(peer.run(2, Purpose::Timed).map(|sample| sample.rows), Ok(None));
}

#[test]
fn fewer_rows_than_there_are_sockets_is_wrong() {
    let fault = PEER.clone().run(3, Purpose::WarmUp).unwrap_err();
    assert_eq!(fault, Fault::Wrong("2 rows, of at least 3".to_owned()));
}

#[test]
fn a_missing_program_says_how_to_get_it() {
    let peer = Peer { program: "no-such-program", ..PEER };
    assert_eq!(peer.absent(1).as_deref(), Some("not installed: apt-get install dash"));
    assert_eq!(PEER.absent(1), None);
}

#[test]
fn a_slow_program_is_left_out_of_large_sizes() {
    assert_eq!(PEER.absent(10), None);
    let why = PEER.absent(11).unwrap();
    assert!(why.contains("left out above 10") && why.contains("--all"), "{why}");
}

#[test]
fn a_program_that_fails_is_quoted() {
    let mut peer = Peer { args: &["-c", "echo no right >&2; exit 4"], ..PEER };
    let fault = peer.run(1, Purpose::Timed).unwrap_err();
    assert_eq!(fault, Fault::Failed("exit code 4: no right".to_owned()));
    let mut peer = Peer { args: &["-c", "kill -9 $$"], ..PEER };
    let fault = peer.run(1, Purpose::Timed).unwrap_err();
    assert_eq!(fault, Fault::Failed("ended by a signal".to_owned()));
}
