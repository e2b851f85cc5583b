use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use rustix::net::{AddressFamily, SocketType, bind, connect, getsockname, socket};

use super::*;

#[test]
fn a_port_comes_from_the_range_once_it_is_needed() {
    let listener = TcpListener::bind((Ipv4Addr::new(127, 78, 0, 1), 0)).unwrap();
    let (first, last) = crate::limits::ephemeral_ports().unwrap();
    let range = first + (last - first) / 2..=last;
    let local = |socket: &_| SocketAddr::try_from(getsockname(socket).unwrap()).unwrap();
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    match set_local_range(&socket, &range) {
        Ok(()) => {}
        // Before Linux 6.3.
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => return,
        Err(error) => panic!("{error}"),
    }
    set_bind_address_no_port(&socket).unwrap();
    bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    assert_eq!(local(&socket), SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), "not yet chosen");
    connect(&socket, &listener.local_addr().unwrap()).unwrap();
    assert!(range.contains(&local(&socket).port()), "{} of {range:?}", local(&socket));
}
