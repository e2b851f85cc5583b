//! What other threads want of a queue's thread.

use std::{
    collections::VecDeque,
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, OnceLock, mpsc::SyncSender},
};

use portolan_stack::{
    Instant,
    tcp::{ConnectionId, Tcp},
};

use super::{
    datagrams::Post,
    listener::Line,
    pipe::{Pipe, ended},
};
use crate::{Error, Remote, shared::lock};

/// Something to be done. Of each handle there is one at most, or one for each thread that waits for
/// it, so that there is a bound.
#[derive(Debug)]
pub(super) enum Order {
    Listen {
        address: Option<IpAddr>,
        port: u16,
        line: Arc<Line>,
        answer: SyncSender<Result<(), Error>>,
    },
    Connect {
        remote: SocketAddr,
        pipe: Arc<Pipe>,
    },
    Bind {
        address: Option<IpAddr>,
        port: u16,
        post: Arc<Post>,
        /// With the port, which may have been anyone's choice.
        answer: SyncSender<Result<u16, Error>>,
    },
    /// Something that a connection's user waits for.
    Do {
        pipe: Arc<Pipe>,
        verb: Verb,
    },
    /// There are bytes to send, room for more, or an end.
    Pump(Arc<Pipe>),
    /// There is room for connections, or it was closed.
    Accept(Arc<Line>),
    /// There are datagrams to send, room for more, or an end.
    Exchange(Arc<Post>),
}

/// What is done with a connection in its stack.
pub(super) struct Verb(pub(super) Box<Call>);

type Call = dyn FnOnce(&mut Tcp, ConnectionId, Instant) + Send;

impl fmt::Debug for Verb {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Verb")
    }
}

#[derive(Debug)]
pub(super) struct Mailbox {
    queue: usize,
    remote: OnceLock<Remote>,
    mail: Mutex<Mail>,
}

#[derive(Debug, Default)]
struct Mail {
    orders: VecDeque<Order>,
    has_ended: bool,
}

impl Mailbox {
    pub(super) fn new(queue: usize) -> Self {
        Self { queue, remote: OnceLock::new(), mail: Mutex::default() }
    }

    /// Once there is somebody to be woken.
    pub(super) fn connect_to(&self, remote: Remote) {
        // It is set once.
        let _ = self.remote.set(remote);
    }

    /// # Errors
    /// When the host has ended.
    pub(super) fn order(&self, order: Order) -> io::Result<()> {
        let mut mail = lock(&self.mail);
        if mail.has_ended {
            return Err(ended());
        }
        mail.orders.push_back(order);
        drop(mail);
        if let Some(remote) = self.remote.get() {
            remote.wake(self.queue);
        }
        Ok(())
    }

    /// Exchanges the orders for an empty queue.
    pub(super) fn take(&self, orders: &mut VecDeque<Order>) {
        std::mem::swap(&mut lock(&self.mail).orders, orders);
    }

    /// Nothing is taken from now on. What was, is given back, to be dropped without the lock.
    pub(super) fn end(&self) -> VecDeque<Order> {
        let mut mail = lock(&self.mail);
        mail.has_ended = true;
        std::mem::take(&mut mail.orders)
    }
}
