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
    let share = Share { nth: 0, of: 3 };
    let shared = ClientOptions { share, threads: 3, connections: 8, ..good() };
    assert!(no(shared).contains("processes"), "a thread without a connection would never end");
    let long = Some(Duration::from_secs(u64::MAX));
    assert!(no(ClientOptions { duration: long, ..good() }).contains("year"));
    assert!(no(ClientOptions { verify_every: long, ..good() }).contains("year"));
    assert!(no(ClientOptions { request_bytes: 0, ..good() }).contains("1 to 1048576"));
    let long = ClientOptions { response_bytes: DATAGRAM_BYTES_MAX + 1, ..good() };
    assert!(long.check().is_ok());
    assert!(no(ClientOptions { mode: Mode::Udp, ..long }).contains("65507"));
    assert!(no(ClientOptions { timeout: Duration::ZERO, ..good() }).contains("timeout"));
    assert!(no(ClientOptions { depth: 2, ..good() }).contains("persistent"));
    let deep = ClientOptions { mode: Mode::Request, depth: 1_024, connections: 20_000, ..good() };
    assert!(no(deep).contains("under way"));
    assert!(no(ClientOptions { ramp: Duration::from_secs(1), ..good() }).contains("ramp"));
    let warm_up = Duration::from_secs(2);
    assert!(no(ClientOptions { warm_up, duration: Some(warm_up), ..good() }).contains("warm-up"));
    assert!(no(ClientOptions { mode: Mode::Http, ..good() }).contains("URLs"));
    let held = ClientOptions { mode: Mode::Hold, count: None, ..good() };
    assert!(held.check().is_ok(), "it ends by itself");
    let briefly = ClientOptions { duration: Some(Duration::ZERO), ..held.clone() };
    assert!(briefly.check().is_ok());
    assert!(no(ClientOptions { response_bytes: 0, ..held }).contains("alive"));
}
