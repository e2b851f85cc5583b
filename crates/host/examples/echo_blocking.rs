//! An echo server with a thread per connection:
//! `sudo cargo run --example echo_blocking`, then
//! `sudo ip addr add 192.168.200.1/24 dev ptl0; nc 192.168.200.10 7`.

use std::{error::Error, io, thread};

use portolan_host::{Config, blocking::Endpoint, nic::Tap};

fn main() -> Result<(), Box<dyn Error>> {
    let taps = Tap::open("ptl0", 1)?;
    taps[0].set_up(true)?;
    let config = Config::new(vec!["192.168.200.10/24".parse()?]);
    let endpoint = Endpoint::start(&config, taps)?;
    let listener = endpoint.listen(None, 7)?;
    loop {
        let connection = listener.accept()?;
        thread::spawn(move || {
            // Dropped at the end, and so closed.
            io::copy(&mut &connection, &mut &connection)
        });
    }
}
