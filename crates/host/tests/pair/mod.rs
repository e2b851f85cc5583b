//! Two hosts on a link in memory.

use std::net::SocketAddr;

use portolan_host::Config;

/// The first host is the server.
pub const SERVER: &str = "192.0.2.1/24";
pub const CLIENT: &str = "192.0.2.2/24";

pub fn at(port: u16) -> SocketAddr {
    SocketAddr::new("192.0.2.1".parse().unwrap(), port)
}

pub fn config(address: &str) -> Config {
    Config::new(vec![address.parse().unwrap()])
}
