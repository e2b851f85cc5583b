//! The workers of one process, each in a thread.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::Sender,
    thread::{self, JoinHandle},
};

use super::{gate::Gates, routes::Routes, worker::Worker};
use crate::{ClientOptions, Error, Stop, gather::Message};

#[derive(Debug)]
pub(super) struct Threads {
    pub(super) stop: Stop,
    pub(super) gates: Gates,
    all: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Starts them; they speak to `out`, and wait for the gates.
    pub(super) fn start(options: &ClientOptions, out: Sender<Message>) -> Result<Self, Error> {
        let stop = Stop::new().map_err(Error::system("make an eventfd"))?;
        let gates = Gates::new().map_err(Error::system("make an eventfd"))?;
        let mut threads = Self { stop, gates, all: Vec::with_capacity(options.threads) };
        let handles = (&threads.stop, &threads.gates);
        let (choice, routes) = Routes::all(options)?;
        let workers = (routes.into_iter().enumerate())
            .map(|(nth, routes)| Worker::new(options, routes, &choice, nth, handles, out.clone()))
            .collect::<io::Result<Vec<_>>>()
            .map_err(Error::system("make an epoll"))?;
        for worker in workers {
            let named = thread::Builder::new().name("load client".to_owned());
            let out = out.clone();
            let thread = named.spawn(move || {
                let why = match catch_unwind(AssertUnwindSafe(|| worker.run())) {
                    Ok(Ok(())) => return,
                    Ok(Err(error)) => format!("cannot wait for sockets: {error}"),
                    Err(_panic) => "a thread panicked".to_owned(),
                };
                // Who does not listen any more does not need to know.
                let _ = out.send(Message::Failed(why));
            });
            threads.all.push(thread.map_err(Error::system("start a thread"))?);
        }
        Ok(threads)
    }

    /// Waits until all have ended.
    pub(super) fn join(&mut self) {
        for thread in self.all.drain(..) {
            // What it had to say it has said.
            let _ = thread.join();
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Those that have ended have nothing to be stopped, and were not.
        if !self.all.is_empty() {
            self.stop.ask();
            self.join();
        }
    }
}
