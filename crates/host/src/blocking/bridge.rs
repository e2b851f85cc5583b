//! The program on a queue's thread that serves the handles.

use std::{collections::VecDeque, net::SocketAddr, sync::Arc, time::Duration};

use portolan_stack::{
    Event, UdpError, UdpId,
    tcp::{self, ConnectionId, ListenerId, Ready},
};

use super::{
    connection::Connection,
    datagrams::{Datagram, Post},
    listener::Line,
    mailbox::{Mailbox, Order},
    pipe::{BUFFER_BYTES, Failure, Pipe, State},
};
use crate::{Context, Ending, Error, Next, Program};

/// Datagrams that found no room in the queue to the device are tried again after this time.
const BUSY: Duration = Duration::from_millis(1);

/// The longest datagram.
const DATAGRAM_BYTES_MAX: usize = 65_535;

pub(super) struct Bridge {
    mailbox: Arc<Mailbox>,
    orders: VecDeque<Order>,
    lines: Vec<(ListenerId, Arc<Line>)>,
    posts: Vec<(UdpId, Arc<Post>)>,
    /// By the connection's index.
    links: Vec<Option<Link>>,
    buffer: Box<[u8]>,
    /// Ports with datagrams that found no room.
    busy: Vec<UdpId>,
    is_ending: bool,
}

/// A connection and its pipe.
struct Link {
    id: ConnectionId,
    pipe: Arc<Pipe>,
    /// The peer has finished; data may be unread in the stack.
    has_peer_finished: bool,
    is_over: bool,
    /// The stack was told that nothing more is written.
    has_finished: bool,
}

impl Bridge {
    pub(super) fn new(mailbox: Arc<Mailbox>) -> Self {
        Self {
            mailbox,
            orders: VecDeque::new(),
            lines: Vec::new(),
            posts: Vec::new(),
            links: Vec::new(),
            buffer: vec![0; DATAGRAM_BYTES_MAX].into(),
            busy: Vec::new(),
            is_ending: false,
        }
    }

    fn link(&mut self, id: ConnectionId) -> Option<&mut Link> {
        self.links.get_mut(id.index())?.as_mut().filter(|link| link.id == id)
    }

    /// The connection of a pipe, if it is still there.
    fn id_of(&self, pipe: &Arc<Pipe>) -> Option<ConnectionId> {
        let index = pipe.lock().index?;
        let link = self.links.get(index)?.as_ref()?;
        Arc::ptr_eq(&link.pipe, pipe).then_some(link.id)
    }

    fn insert(&mut self, id: ConnectionId, pipe: Arc<Pipe>) {
        if self.links.len() <= id.index() {
            self.links.resize_with(id.index() + 1, || None);
        }
        let (has_peer_finished, is_over, has_finished) = (false, false, false);
        let link = Link { id, pipe, has_peer_finished, is_over, has_finished };
        self.links[id.index()] = Some(link);
    }

    fn obey(&mut self, context: &mut Context<'_>, order: Order) {
        match order {
            Order::Listen { address, port, line, answer } => {
                let opened = context.listen(address, port, line.backlog());
                let opened = opened.map(|id| self.lines.push((id, line)));
                // Who asked waits for it.
                let _ = answer.send(opened);
            }
            Order::Bind { address, port, post, answer } => {
                let bound = context.bind(address, port).map(|id| {
                    self.posts.push((id, post));
                    context.stack.udp_local(id).map_or(port, |(_, port)| port)
                });
                let _ = answer.send(bound);
            }
            Order::Connect { remote, pipe } => match context.stack.connect(remote, context.now) {
                Ok(id) => {
                    pipe.lock().index = Some(id.index());
                    self.insert(id, pipe);
                }
                Err(error) => pipe.fail(Failure::Connection(error)),
            },
            Order::Do { pipe, verb } => {
                // Where the connection is gone, who asked learns it by the sender that is dropped.
                if let Some(id) = self.id_of(&pipe) {
                    (verb.0)(context.stack.tcp(), id, context.now);
                }
            }
            Order::Pump(pipe) => {
                pipe.lock().is_ordered = false;
                if let Some(id) = self.id_of(&pipe) {
                    self.pump(context, id, Ready::default());
                }
            }
            Order::Accept(line) => self.accept_of(context, &line),
            Order::Exchange(post) => self.exchange_of(context, &post),
        }
    }

    /// A line has room again, or was closed.
    fn accept_of(&mut self, context: &mut Context<'_>, line: &Arc<Line>) {
        let Some(at) = self.lines.iter().position(|(_, own)| Arc::ptr_eq(own, line)) else {
            return;
        };
        if line.is_closed() {
            let (id, _) = self.lines.swap_remove(at);
            // It is ours until here.
            let _ = context.stack.tcp().close_listener(id, context.now);
        } else {
            self.accept(context, self.lines[at].0);
        }
    }

    fn accept(&mut self, context: &mut Context<'_>, listener: ListenerId) {
        let Some((_, line)) = self.lines.iter().find(|(id, _)| *id == listener) else { return };
        let line = Arc::clone(line);
        while line.has_room() {
            let tcp = context.stack.tcp();
            let Ok(Some(id)) = tcp.accept(listener, context.now) else { return };
            let pipe = Arc::new(Pipe::connecting(Arc::clone(&self.mailbox)));
            establish(&mut pipe.lock(), tcp, id);
            self.insert(id, Arc::clone(&pipe));
            // One that is given back is dropped, and so closed.
            drop(line.push(Connection::new(pipe)));
        }
    }

    /// Moves bytes between the stack and the handle, and passes on what has changed.
    fn pump(&mut self, context: &mut Context<'_>, id: ConnectionId, ready: Ready) {
        let (is_ending, now) = (self.is_ending, context.now);
        let Some(link) = self.link(id) else { return };
        link.has_peer_finished |= ready.contains(Ready::FINISHED);
        link.is_over |= ready.contains(Ready::CLOSED);
        let tcp = context.stack.tcp();
        let pipe = Arc::clone(&link.pipe);
        let mut state = pipe.lock();
        if ready.contains(Ready::CONNECTED) && state.ends.is_none() {
            establish(&mut state, tcp, id);
        }
        pull(&mut state, tcp, id, now);
        let has_all = !state.is_starved;
        state.has_peer_finished |= link.has_peer_finished && has_all;
        push(&mut state, tcp, id, now);
        if link.is_over && has_all {
            // Who was told that the peer has finished reads that, as with Linux.
            let reason = tcp.info(id).ok().and_then(|info| info.reason);
            let failure = reason.map_or(tcp::Error::Finished, tcp::Error::Ended);
            state.failure.get_or_insert(Failure::Connection(failure));
        }
        let wants_end = state.has_finished || state.is_dropped || is_ending;
        if wants_end && state.outgoing.is_empty() && !link.has_finished {
            link.has_finished = true;
            let _ = tcp.finish(id, now);
        }
        let is_unread = state.is_dropped && (state.is_starved || !state.incoming.is_empty());
        let is_sent = state.outgoing.is_empty();
        let is_done = match () {
            () if state.is_aborted || is_unread => {
                let _ = tcp.abort(id, now);
                true
            }
            // What was written goes out, and then FIN.
            () if state.is_dropped && is_sent && !is_ending || link.is_over && state.is_dropped => {
                let _ = tcp.close(id, now);
                true
            }
            () if is_ending && (link.has_peer_finished || link.is_over) => {
                let _ = tcp.close(id, now);
                true
            }
            () => false,
        };
        drop(state);
        pipe.changed.notify_all();
        if is_done {
            self.links[id.index()] = None;
        }
    }

    /// A post has room again, something to send, or was closed.
    fn exchange_of(&mut self, context: &mut Context<'_>, post: &Arc<Post>) {
        let Some(at) = self.posts.iter().position(|(_, own)| Arc::ptr_eq(own, post)) else {
            return;
        };
        let id = self.posts[at].0;
        self.exchange(context, id);
        if post.is_closed() {
            self.posts.swap_remove(at);
            // It is ours until here.
            let _ = context.stack.udp_unbind(id);
        }
    }

    fn exchange(&mut self, context: &mut Context<'_>, id: UdpId) {
        let Some((_, post)) = self.posts.iter().find(|(own, _)| *own == id) else { return };
        while post.has_room() {
            let Ok(Some(received)) = context.stack.udp_receive(id, &mut self.buffer) else {
                // Nobody asks for errors: they are taken, so that datagrams are told again.
                while let Ok(Some(_)) = context.stack.udp_failure(id) {}
                break;
            };
            let payload = self.buffer[..received.len.min(self.buffer.len())].to_vec();
            post.push(Datagram { other: received.source, payload });
        }
        if context.queue == 0 {
            let is_left = post.send_all(|to, payload| {
                let sent = context.stack.udp_send(id, to, payload, context.now);
                sent != Err(UdpError::Busy)
            });
            if is_left && !self.busy.contains(&id) {
                self.busy.push(id);
            }
        }
    }

    /// Nobody waits in vain.
    fn tell_end(&self) {
        for (_, line) in &self.lines {
            line.end();
        }
        for (_, post) in &self.posts {
            post.end();
        }
        for link in self.links.iter().flatten() {
            link.pipe.fail(Failure::HostEnded);
        }
        for order in self.mailbox.end() {
            match order {
                Order::Connect { pipe, .. } | Order::Pump(pipe) => pipe.fail(Failure::HostEnded),
                Order::Accept(line) => line.end(),
                Order::Exchange(post) => post.end(),
                // Who asked learns it by the answer's sender that is dropped.
                Order::Listen { .. } | Order::Bind { .. } | Order::Do { .. } => {}
            }
        }
    }

    fn ids(&self) -> Vec<ConnectionId> {
        self.links.iter().flatten().map(|link| link.id).collect()
    }
}

impl Program for Bridge {
    fn begin(&mut self, _context: &mut Context<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn data(&mut self, connection: ConnectionId, bytes: &[u8]) -> usize {
        let Some(link) = self.link(connection) else { return 0 };
        let mut state = link.pipe.lock();
        if state.is_dropped {
            return 0;
        }
        let count = bytes.len().min(BUFFER_BYTES.saturating_sub(state.incoming.len()));
        state.incoming.extend(&bytes[..count]);
        state.is_starved |= count < bytes.len();
        drop(state);
        link.pipe.changed.notify_all();
        count
    }

    fn event(&mut self, context: &mut Context<'_>, event: Event) {
        match event {
            Event::Tcp(tcp::Event::Acceptable(listener)) => self.accept(context, listener),
            Event::Tcp(tcp::Event::Connection { id, ready }) => self.pump(context, id, ready),
            Event::Udp(id) => self.exchange(context, id),
            // The stack counts it.
            Event::AddressConflict(_) => {}
        }
    }

    fn turn(&mut self, context: &mut Context<'_>) -> Next {
        let mut orders = std::mem::take(&mut self.orders);
        self.mailbox.take(&mut orders);
        for order in orders.drain(..) {
            self.obey(context, order);
        }
        self.orders = orders;
        for id in std::mem::take(&mut self.busy) {
            self.exchange(context, id);
        }
        if self.busy.is_empty() { Next::Wait } else { Next::At(context.now + BUSY) }
    }

    fn end(&mut self, context: &mut Context<'_>, how: Ending) {
        self.is_ending = true;
        self.tell_end();
        for (listener, _) in self.lines.drain(..) {
            let _ = context.stack.tcp().close_listener(listener, context.now);
        }
        for id in self.ids() {
            match how {
                Ending::Orderly => self.pump(context, id, Ready::default()),
                Ending::AtOnce => {
                    let _ = context.stack.tcp().abort(id, context.now);
                }
            }
        }
    }
}

impl Drop for Bridge {
    /// Also where the thread fails or panics.
    fn drop(&mut self) {
        self.tell_end();
    }
}

/// The two ends are known.
fn establish(state: &mut State, tcp: &tcp::Tcp, id: ConnectionId) {
    state.index = Some(id.index());
    if let Ok(tcp::Info { flow, .. }) = tcp.info(id) {
        let own = SocketAddr::new(flow.local, flow.local_port);
        state.ends = Some((own, SocketAddr::new(flow.remote, flow.remote_port)));
    }
}

/// Takes received bytes from the stack, as many as there is room for.
fn pull(state: &mut State, tcp: &mut tcp::Tcp, id: ConnectionId, now: portolan_stack::Instant) {
    state.is_starved = false;
    while let Ok(front @ [_, ..]) = tcp.front(id) {
        let count = front.len().min(BUFFER_BYTES.saturating_sub(state.incoming.len()));
        if count == 0 {
            state.is_starved = true;
            return;
        }
        state.incoming.extend(&front[..count]);
        // It is ours, or there were nothing in front.
        let _ = tcp.consume(id, count, now);
    }
}

/// Gives written bytes to the stack, as many as it has room for.
fn push(state: &mut State, tcp: &mut tcp::Tcp, id: ConnectionId, now: portolan_stack::Instant) {
    while !state.outgoing.is_empty() {
        let (front, _) = state.outgoing.as_slices();
        match tcp.write(id, front, now) {
            Ok(0) => return,
            Ok(count) => drop(state.outgoing.drain(..count)),
            // The event of its end tells why.
            Err(_) => return state.outgoing.clear(),
        }
    }
}
