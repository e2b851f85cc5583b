use std::net::TcpListener;

use super::*;

#[test]
fn what_is_reserved_is_read() {
    assert_eq!(parse_reserved("8080,9000-9010"), [8080..=8080, 9000..=9010]);
    assert_eq!(parse_reserved(""), []);
}

#[test]
fn listeners_are_read_and_nothing_after_them() {
    let table = "  sl  local_address rem_address   st tx_queue\n   \
        0: 0100007F:1F90 00000000:0000 0A 00000000\n   \
        1: 00000000000000000000000000000000:0016 0:0000 0A 00000000\n   \
        2: 0100007F:A000 0100007F:1F90 01 00000000\n   \
        3: 0100007F:A001 00000000:0000 0A 00000000\n";
    assert_eq!(listening(table.as_bytes()), [8080, 22]);
    assert!(listening("".as_bytes()).is_empty());
    assert!(listening("head\nnothing of this form\n".as_bytes()).is_empty());
}

#[test]
fn a_listener_of_this_host_is_among_them() {
    // Of 127.0.0.1, other tests may have all ports in TIME-WAIT.
    let listener = TcpListener::bind("127.77.0.1:0").unwrap();
    let host = Host::read();
    assert!(host.listening.contains(&listener.local_addr().unwrap().port()), "{host:?}");
    assert!(host.listening.is_sorted() && !host.ephemeral.is_empty(), "{host:?}");
}
