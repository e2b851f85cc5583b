//! Other processes of the same program.

use std::io::{Read, stdin};

use super::*;

/// What another process of this program runs: it listens until its input ends.
#[test]
fn stands_for_another_process() {
    let Some(arguments) = std::env::var_os("PORTOLAN_TEST_ALONE").map(|_| std::env::args()) else {
        return;
    };
    assert!(arguments.count() > 1);
    let own = TcpListener::bind(("127.0.0.1", PORT)).expect("free");
    println!("\nlistens");
    let _ = stdin().read_to_end(&mut Vec::new());
    drop(own);
}

fn listening_as(first: &str) -> Program {
    let test = "snapshot::tests::observers::stands_for_another_process";
    let mut program = Program::again(first, test);
    while program.line() != "listens" {}
    program
}

#[test]
fn the_page_of_another_observer_is_not_seen() {
    in_own_namespaces(|way| {
        for (first, seen) in [("map", false), ("hold", true), ("maps", true)] {
            let _other = listening_as(first);
            let mut visitor =
                Program::bash(&format!("exec 3<>/dev/tcp/127.0.0.1/{PORT}; echo open"));
            assert_eq!(visitor.line(), "open");
            let mut snapshot = open(way, true);
            for _ in 0..2 {
                let bundle = read(&mut snapshot).bundle;
                assert_eq!(!bundle.flows.is_empty(), seen, "{first}");
                assert_eq!(!bundle.listeners.is_empty(), seen, "{first}");
            }
        }
    });
}

#[test]
fn another_program_with_such_an_argument_is_seen() {
    in_own_namespaces(|way| {
        let _server = server(0);
        let _client = client(1);
        assert_eq!(read(&mut open(way, true)).bundle.flows.len(), 1);
    });
}
