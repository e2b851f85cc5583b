use super::*;

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

#[test]
fn http_is_not_over_udp_and_waits_for_a_while() {
    let address = SocketAddr::from(([127, 0, 0, 1], 9));
    let serve = vec![Serve { address, service: Service::Http { body_bytes: 1 } }];
    let good = ServerOptions { serve, ..ServerOptions::default() };
    assert!(good.check().is_ok());
    assert!(ServerOptions { timeout: Duration::ZERO, ..good.clone() }.check().is_err());
    assert!(ServerOptions { transports: Transports::Udp, ..good }.check().is_err());
}
