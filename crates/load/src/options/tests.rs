use super::*;

fn good() -> ClientOptions {
    let targets = vec![SocketAddr::from(([127, 0, 0, 1], 9))];
    ClientOptions { targets, count: Some(1), ..ClientOptions::default() }
}

#[test]
fn what_makes_no_sense_is_refused_and_says_what_would() {
    let no = |options: ClientOptions| options.check().unwrap_err().to_string();
    assert!(good().check().is_ok());
    assert!(no(ClientOptions { targets: vec![], ..good() }).contains("no target"));
    assert!(no(ClientOptions { count: None, ..good() }).contains("when to end"));
    assert!(no(ClientOptions { rate: Some(f64::NAN), ..good() }).contains("rate"));
    assert!(no(ClientOptions { rate: Some(0.0), ..good() }).contains("rate"));
    assert!(no(ClientOptions { threads: 0, ..good() }).contains("threads"));
    assert!(no(ClientOptions { threads: 9, connections: 8, ..good() }).contains("connection"));
    assert!(no(ClientOptions { request_bytes: 0, ..good() }).contains("1 to 1048576"));
    let long = ClientOptions { response_bytes: DATAGRAM_BYTES_MAX + 1, ..good() };
    assert!(long.check().is_ok());
    assert!(no(ClientOptions { mode: Mode::Udp, ..long }).contains("65507"));
    assert!(no(ClientOptions { timeout: Duration::ZERO, ..good() }).contains("timeout"));
}

#[test]
fn a_server_needs_a_place_and_sizes() {
    let listen = vec![SocketAddr::from(([127, 0, 0, 1], 9))];
    let good = ServerOptions { listen, ..ServerOptions::default() };
    assert!(good.check().is_ok());
    assert!(ServerOptions::default().check().is_err());
    assert!(ServerOptions { request_bytes: 0, ..good.clone() }.check().is_err());
    let long = ServerOptions { response_bytes: DATAGRAM_BYTES_MAX + 1, ..good };
    assert!(long.check().is_err());
    assert!(ServerOptions { transports: Transports::Tcp, ..long }.check().is_ok());
}
