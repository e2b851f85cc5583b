use super::*;

#[test]
fn a_process_that_ends_early_is_an_error_that_quotes_it() {
    let own = Program::new("/bin/sh", ["-c", "echo no more sockets"]);
    let share = Hold { connections: 5, share: 0 };
    let mut holder = Part::start(&own).unwrap();
    let said = wait_until_ready(&mut holder, share).unwrap_err().to_string();
    assert!(said.contains("5 connections") && said.contains("no more sockets"), "{said}");
    drop(World { holders: vec![holder] });
}

#[test]
fn the_sockets_of_a_world_are_connections_and_listeners() {
    assert_eq!((sockets(1_000), listeners(1_000)), (1_004, 4));
    assert_eq!((sockets(18_001), listeners(18_001)), (18_010, 8));
    assert_eq!(sockets(0), 0);
}

#[test]
fn a_world_that_does_not_fit_says_what_it_needs() {
    let text = "MemTotal:       24684084 kB\nMemAvailable:    2097152 kB\n";
    let available = available_kib(text).unwrap();
    assert_eq!(too_little(400_000, available), None);
    let why = too_little(1_000_000, available).unwrap();
    assert!(why.starts_with("needs 4883 MiB of memory, of which 2048 MiB are available"), "{why}");
    assert_eq!(available_kib("MemTotal: 5 kB\n"), None);
}
