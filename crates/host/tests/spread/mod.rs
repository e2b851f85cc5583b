//! A device with several queues that gives each frame to whoever asks first.

use std::{
    os::fd::BorrowedFd,
    sync::{Arc, Mutex},
};

use portolan_host::nic::{self, Arrival, Departure, Nic, Offloads};

/// One of its queues.
#[derive(Debug)]
pub struct Spread<N>(Arc<Mutex<N>>);

/// So many queues of a device.
pub fn spread<N>(device: N, queues: usize) -> Vec<Spread<N>> {
    let device = Arc::new(Mutex::new(device));
    (0..queues).map(|_| Spread(Arc::clone(&device))).collect()
}

impl<N: Nic> Nic for Spread<N> {
    fn receive(&mut self, take: &mut dyn FnMut(Arrival<'_>)) -> Result<usize, nic::Error> {
        self.0.lock().unwrap().receive(take)
    }

    fn transmit(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> Option<Departure>,
    ) -> Result<usize, nic::Error> {
        self.0.lock().unwrap().transmit(fill)
    }

    fn offloads(&self) -> Offloads {
        self.0.lock().unwrap().offloads()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
