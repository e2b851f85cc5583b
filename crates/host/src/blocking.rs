//! Handles for other threads, whose calls wait: the blocking style of programming.
//!
//! ```no_run
//! use std::io::{Read, Write};
//!
//! use portolan_host::{Config, blocking::Endpoint, nic::Tap};
//!
//! let taps = Tap::open("tap0", 1)?;
//! taps[0].set_up(true)?;
//! let endpoint = Endpoint::start(&Config::new(vec!["192.0.2.7/24".parse()?]), taps)?;
//! let listener = endpoint.listen(None, 7)?;
//! let mut connection = listener.accept()?;
//! let mut buffer = [0; 1_024];
//! let count = connection.read(&mut buffer)?;
//! connection.write_all(&buffer[..count])?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Between a handle and its queue's thread lie two bounded buffers: reading waits while one is
//! empty, writing while the other is full, and what is not read fills the window that the peer
//! sees. A handle that is dropped closes what it stands for. When the host ends, whoever waits gets
//! an error.
//!
//! Errors have the kinds that sockets of the kernel have in the standard library:
//!
//! | kind | when |
//! |---|---|
//! | `TimedOut` | a call has waited as long as it may; or the peer has not answered for too long |
//! | `ConnectionRefused` | nothing listens there |
//! | `ConnectionReset` | the peer does not know the connection (any more) |
//! | `ConnectionAborted` | this host gave it up |
//! | `HostUnreachable`, `NetworkUnreachable` | a router or a silent neighbour; no route |
//! | `AddrNotAvailable`, `QuotaExceeded` | no free port; the limit of connections |
//! | `BrokenPipe` | written after [`Connection::finish`], or after the other end was gone |
//! | `InvalidInput` | no address or port to connect to; a datagram that is too long |
//! | `NotConnected` | the host has ended; [`Endpoint::stop`] says why |

mod bridge;
mod connection;
mod datagrams;
mod listener;
mod mailbox;
mod pipe;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, SyncSender},
    },
    time::Duration,
};

use portolan_nic::Nic;
use portolan_stack::{Cidr, tcp::Info};

use crate::{Config, Error, Host, Readings, shared::lock};
use bridge::Bridge;
pub use connection::Connection;
pub use datagrams::Datagrams;
pub use listener::Listener;
use mailbox::{Mailbox, Order};
use pipe::Pipe;

/// Connections of a listener that nobody has accepted yet, for each queue of the host.
const BACKLOG: usize = 1_024;

/// A host whose connections are used by other threads.
///
/// It ends when it is dropped, or by [`Endpoint::stop`].
#[derive(Debug)]
pub struct Endpoint {
    host: Mutex<Host>,
    mailboxes: Vec<Arc<Mailbox>>,
    addresses: Vec<IpAddr>,
    /// Whose turn it is to open a connection.
    next: AtomicUsize,
}

impl Endpoint {
    /// Starts a host with these queues of one device.
    ///
    /// # Errors
    /// As of [`Host::start`].
    pub fn start<N: Nic + Send + 'static>(config: &Config, nics: Vec<N>) -> Result<Self, Error> {
        let mailboxes: Vec<_> = (0..nics.len()).map(|nth| Arc::new(Mailbox::new(nth))).collect();
        let bridges = mailboxes.iter().map(|mailbox| Bridge::new(Arc::clone(mailbox)));
        let host = Host::start(config, nics.into_iter().zip(bridges).collect())?;
        for mailbox in &mailboxes {
            mailbox.connect_to(host.remote());
        }
        let addresses = config.addresses.iter().map(Cidr::address).collect();
        Ok(Self { host: Mutex::new(host), mailboxes, addresses, next: AtomicUsize::new(0) })
    }

    /// Takes connections to a port, at one address or at all.
    ///
    /// # Errors
    /// [`Error::Listen`], [`Error::NotOwn`], [`Error::Ended`].
    pub fn listen(&self, address: Option<IpAddr>, port: u16) -> Result<Listener, Error> {
        // With IPv6 there is a link-local address that nobody gave.
        let is_own = |ip: &IpAddr| match ip {
            IpAddr::V6(v6) if v6.is_unicast_link_local() => true,
            ip => self.addresses.contains(ip),
        };
        if let Some(foreign) = address.filter(|ip| !is_own(ip)) {
            return Err(Error::NotOwn(foreign));
        }
        let listener = Listener::new(self.mailboxes.clone(), (address, port), BACKLOG);
        for mailbox in &self.mailboxes {
            let line = listener.line();
            ask(mailbox, |answer| Order::Listen { address, port, line, answer })?;
        }
        Ok(listener)
    }

    /// Opens a connection, and waits until it is established: [`Config::tcp`]'s `connect_timeout`,
    /// three minutes unless it says else.
    ///
    /// # Errors
    /// What connections end by, and `NotConnected` when the host has ended.
    pub fn connect(&self, remote: SocketAddr) -> io::Result<Connection> {
        self.connect_within(remote, None)
    }

    /// As [`connect`](Self::connect), and gives up after so long at the latest, with `TimedOut`.
    ///
    /// # Errors
    /// As of [`connect`](Self::connect).
    pub fn connect_timeout(&self, remote: SocketAddr, longest: Duration) -> io::Result<Connection> {
        self.connect_within(remote, Some(longest))
    }

    fn connect_within(
        &self,
        remote: SocketAddr,
        longest: Option<Duration>,
    ) -> io::Result<Connection> {
        let nth = self.next.fetch_add(1, Ordering::Relaxed) % self.mailboxes.len().max(1);
        let Some(mailbox) = self.mailboxes.get(nth) else { return Err(pipe::ended()) };
        let pipe = Arc::new(Pipe::connecting(Arc::clone(mailbox)));
        mailbox.order(Order::Connect { remote, pipe: Arc::clone(&pipe) })?;
        let connection = Connection::new(pipe);
        connection.wait_for_handshake(remote, longest)?;
        Ok(connection)
    }

    /// Binds a UDP port, at one address or at all; any free port for 0.
    ///
    /// # Errors
    /// [`Error::Bind`], [`Error::Ended`].
    pub fn bind(&self, address: Option<IpAddr>, port: u16) -> Result<Datagrams, Error> {
        let mut datagrams = Datagrams::new(self.mailboxes.clone(), (address, port));
        for mailbox in &self.mailboxes {
            let post = datagrams.post();
            // The first one chooses for all.
            let (_, port) = datagrams.local();
            let port = ask(mailbox, |answer| Order::Bind { address, port, post, answer })?;
            datagrams.set_port(port);
        }
        Ok(datagrams)
    }

    /// How all its connections stand: see [`Host::connections`].
    #[must_use]
    pub fn connections(&self) -> Vec<Info> {
        lock(&self.host).connections()
    }

    /// What each queue has counted.
    #[must_use]
    pub fn readings(&self) -> Vec<Readings> {
        lock(&self.host).readings()
    }

    /// Ends the host, and waits for that: connections are closed, and then reset.
    ///
    /// # Errors
    /// Why it ended early, as when the device went away.
    pub fn stop(&self) -> Result<(), Error> {
        lock(&self.host).stop()
    }
}

/// Asks the queue's thread, and waits for its answer.
fn ask<T>(
    mailbox: &Mailbox,
    order: impl FnOnce(SyncSender<Result<T, Error>>) -> Order,
) -> Result<T, Error> {
    let (answer, answered) = mpsc::sync_channel(1);
    mailbox.order(order(answer)).map_err(|_ended| Error::Ended)?;
    answered.recv().unwrap_or(Err(Error::Ended))
}
