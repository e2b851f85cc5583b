//! Asks a web server from an address that this host does not have:
//! `sudo cargo run --example client -- 192.168.200.1:80`, while
//! `sudo ip addr add 192.168.200.1/24 dev ptl0; sudo python3 -m http.server 80` runs.

use std::{
    env,
    error::Error,
    io::{self, Read, Write},
    time::Duration,
};

use portolan_host::{Config, blocking::Endpoint, nic::Tap};

fn main() -> Result<(), Box<dyn Error>> {
    let server = env::args().nth(1).unwrap_or_else(|| "192.168.200.1:80".to_owned());
    let taps = Tap::open("ptl0", 1)?;
    taps[0].set_up(true)?;
    let config = Config::new(vec!["192.168.200.10/24".parse()?]);
    let endpoint = Endpoint::start(&config, taps)?;
    let mut connection = endpoint.connect(server.parse()?)?;
    connection.set_timeout(Some(Duration::from_secs(10)));
    write!(connection, "GET / HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n")?;
    connection.finish();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer)?;
    io::stdout().write_all(&answer)?;
    Ok(())
}
