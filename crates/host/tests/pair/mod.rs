//! Two hosts on a link in memory.

use std::{
    net::SocketAddr,
    os::fd::BorrowedFd,
    sync::{Arc, Mutex},
};

use portolan_host::{
    Config,
    blocking::Endpoint,
    nic::{Arrival, Departure, Error, Mem, Nic, Offloads, mem},
};

/// The first host is the server.
pub const SERVER: &str = "192.0.2.1/24";
pub const CLIENT: &str = "192.0.2.2/24";

pub fn at(port: u16) -> SocketAddr {
    SocketAddr::new("192.0.2.1".parse().unwrap(), port)
}

pub fn config(address: &str) -> Config {
    Config::new(vec![address.parse().unwrap()])
}

/// A server with so many queues, and a client with one.
pub fn endpoints(queues: usize) -> (Endpoint, Endpoint) {
    let options = mem::Options { checksum: true, segment_bytes_max: 65_535, ..Default::default() };
    let (server, client) = mem::pair(&options);
    let server = Endpoint::start(&config(SERVER), spread(server, queues)).unwrap();
    (server, Endpoint::start(&config(CLIENT), vec![client]).unwrap())
}

/// One of several queues of a device that gives each frame to whoever asks first.
#[derive(Debug)]
pub struct Spread(Arc<Mutex<Mem>>);

pub fn spread(device: Mem, queues: usize) -> Vec<Spread> {
    let device = Arc::new(Mutex::new(device));
    (0..queues).map(|_| Spread(Arc::clone(&device))).collect()
}

impl Nic for Spread {
    fn receive(&mut self, take: &mut dyn FnMut(Arrival<'_>)) -> Result<usize, Error> {
        self.0.lock().unwrap().receive(take)
    }

    fn transmit(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> Option<Departure>,
    ) -> Result<usize, Error> {
        self.0.lock().unwrap().transmit(fill)
    }

    fn offloads(&self) -> Offloads {
        self.0.lock().unwrap().offloads()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
