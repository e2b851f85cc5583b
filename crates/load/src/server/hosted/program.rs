//! What runs on each queue's thread of the host.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use portolan_host::{
    Config, Context, Ending, Error, Next, Program,
    stack::{
        DuplicateDetection, Event, Instant, UdpId,
        tcp::{self, ConnectionId, ListenerId, Ready},
    },
};
use rustix::time::{ClockId, clock_gettime};

use super::{one, stream::Connection};
use crate::{
    ServerOptions,
    server::{
        Transports,
        connections::{Connections, Goes},
        counters::Tally,
        datagrams::{ANSWERED_IN_TURN, DATAGRAM, respond},
        service::Serve,
    },
    socket,
};

/// Connections that are half-open, and those that wait to be accepted, for each port.
const BACKLOG: usize = 4_096;

/// How often connections are looked at that keep HTTP waiting.
const SWEEP: Duration = Duration::from_secs(1);

/// How often the thread's CPU time is asked for, while it has any.
const CPU_READ: Duration = Duration::from_millis(50);

pub(super) struct Serving {
    places: Arc<[Serve]>,
    transports: Transports,
    timeout: u32,
    /// Addresses are used only once it is known that nobody else has them.
    is_detecting: bool,
    tally: Arc<Tally>,
    listeners: Vec<(ListenerId, usize)>,
    ports: Vec<(UdpId, usize)>,
    connections: Connections<ConnectionId>,
    /// By the connection's index: who it is, and what is done with it.
    by_index: Vec<Option<(ConnectionId, Place)>>,
    /// Connections that could go on, and ports where datagrams still wait.
    queue: Vec<u32>,
    waiting_ports: Vec<UdpId>,
    read: Box<[u8]>,
    response: Box<[u8]>,
    has_http: bool,
    swept_at: u32,
    cpu_read_at: Instant,
}

#[derive(Clone, Copy)]
enum Place {
    /// It is served, in this slot.
    Slot(u32),
    /// The host ends: its end was announced, and what comes is thrown away.
    Closing,
}

impl Serving {
    pub(super) fn new(
        places: Arc<[Serve]>,
        options: &ServerOptions,
        config: &Config,
        tally: Arc<Tally>,
    ) -> Self {
        Self {
            is_detecting: config.duplicates == DuplicateDetection::Full,
            transports: options.transports,
            timeout: u32::try_from(options.timeout.as_secs()).unwrap_or(u32::MAX),
            tally,
            listeners: Vec::new(),
            ports: Vec::new(),
            connections: Connections::new(),
            by_index: Vec::new(),
            queue: Vec::new(),
            waiting_ports: Vec::new(),
            read: vec![0; DATAGRAM].into(),
            response: vec![0; DATAGRAM].into(),
            has_http: places.iter().any(|place| !place.service.has_datagrams()),
            swept_at: 0,
            cpu_read_at: Instant::ZERO,
            places,
        }
    }

    fn place(&self, id: ConnectionId) -> Option<Place> {
        let (whose, place) = (*self.by_index.get(id.index())?)?;
        (whose == id).then_some(place)
    }

    fn set_place(&mut self, id: ConnectionId, place: Option<Place>) {
        if self.by_index.len() <= id.index() {
            self.by_index.resize(id.index() + 1, None);
        }
        self.by_index[id.index()] = place.map(|place| (id, place));
    }

    fn accept(&mut self, context: &mut Context<'_>, listener: ListenerId) {
        let Some(&(_, port)) = self.listeners.iter().find(|(id, _)| *id == listener) else {
            return;
        };
        while let Ok(Some(id)) = context.stack.tcp().accept(listener, context.now) {
            // No response waits for the acknowledgement of the one before.
            let _ = context.stack.tcp().set_nodelay(id, true, context.now);
            self.tally.ports[port].accepted.add(1);
            let service = self.places[port].service;
            let slot = self.connections.insert(id, u32::try_from(port).unwrap_or(0), service);
            self.set_place(id, Some(Place::Slot(slot)));
            self.serve(context, slot, false);
        }
    }

    fn serve(&mut self, context: &mut Context<'_>, slot: u32, has_ended: bool) {
        let goes = self.connections.go_on(slot, has_ended, &self.tally.ports, |&id, has_ended| {
            Connection { stack: context.stack, now: context.now, id, has_ended }
        });
        match goes {
            // An event tells when there is more.
            Goes::Reading | Goes::Writing => {}
            Goes::Again => self.enqueue(slot),
            Goes::Ended => {
                if let Some(id) = self.connections.close(slot, &self.tally.ports) {
                    self.set_place(id, None);
                    // It is ours until here.
                    let _ = context.stack.tcp().close(id, context.now);
                }
            }
        }
    }

    fn enqueue(&mut self, slot: u32) {
        if self.connections.enqueue(slot) {
            self.queue.push(slot);
        }
    }

    /// Something happened to a connection.
    fn go_on(&mut self, context: &mut Context<'_>, id: ConnectionId, ready: Ready) {
        let has_ended = ready.contains(Ready::FINISHED) || ready.contains(Ready::CLOSED);
        match self.place(id) {
            Some(Place::Slot(slot)) => self.serve(context, slot, has_ended),
            Some(Place::Closing) => {
                let tcp = context.stack.tcp();
                let _ = tcp.consume(id, usize::MAX, context.now);
                if has_ended {
                    let _ = tcp.close(id, context.now);
                    self.set_place(id, None);
                }
            }
            None => {}
        }
    }

    /// Answers datagrams, as many as are one port's turn.
    fn answer(&mut self, context: &mut Context<'_>, id: UdpId) {
        let Some(&(_, port)) = self.ports.iter().find(|(own, _)| *own == id) else { return };
        let (service, counters) = (self.places[port].service, &self.tally.ports[port]);
        for _ in 0..ANSWERED_IN_TURN {
            let Ok(Some(received)) = context.stack.udp_receive(id, &mut self.read) else {
                while let Ok(Some(_)) = context.stack.udp_failure(id) {
                    counters.errors.add(1);
                }
                return;
            };
            let len = received.len.min(self.read.len());
            counters.datagrams_received.add(1);
            counters.bytes_received.add(len as u64);
            let response = respond(service, &self.read[..len], &mut self.response);
            let Some(response) = response else { continue };
            match context.stack.udp_send(id, received.source, response, context.now) {
                Ok(()) => {
                    counters.datagrams_sent.add(1);
                    counters.bytes_sent.add(response.len() as u64);
                }
                Err(_) => counters.errors.add(1),
            }
        }
        self.waiting_ports.push(id);
    }

    fn note_cpu(&mut self, now: Instant) {
        if now.since(self.cpu_read_at) >= CPU_READ {
            self.cpu_read_at = now;
            let cpu = u64::try_from(socket::thread_cpu().as_nanos()).unwrap_or(u64::MAX);
            self.tally.cpu_ns.set(cpu);
        }
    }

    fn note_time(&mut self, context: &mut Context<'_>) {
        let now = context.now;
        if !self.has_http {
            return;
        }
        let seconds = u32::try_from(now.as_millis() / 1_000).unwrap_or(u32::MAX);
        let date = clock_gettime(ClockId::RealtimeCoarse).tv_sec;
        self.connections.set_time(seconds, u64::try_from(date).unwrap_or(0));
        if seconds != self.swept_at {
            self.swept_at = seconds;
            let Self { connections, by_index, .. } = self;
            connections.sweep(self.timeout, &self.tally.ports, |id| {
                if let Some(place) = by_index.get_mut(id.index()) {
                    *place = None;
                }
                let _ = context.stack.tcp().close(id, now);
            });
        }
    }
}

impl Program for Serving {
    fn begin(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        let places = Arc::clone(&self.places);
        for (nth, Serve { address, service }) in places.iter().enumerate() {
            let (ip, port) = (one(*address), address.port());
            if self.transports != Transports::Udp {
                self.listeners.push((context.listen(ip, port, BACKLOG)?, nth));
            }
            if self.transports != Transports::Tcp && service.has_datagrams() {
                // Each by itself, so that answers come from where the question went; all at once
                // where they are not in use yet. What somebody has at one address stays his.
                let is_taken = |ip: &IpAddr| {
                    let here = SocketAddr::new(*ip, port);
                    places.iter().any(|it| it.address == here && it.service.has_datagrams())
                };
                let own: Vec<Option<IpAddr>> = match ip {
                    Some(ip) => vec![Some(ip)],
                    None if self.is_detecting => vec![None],
                    None => {
                        context.stack.addresses().filter(|ip| !is_taken(ip)).map(Some).collect()
                    }
                };
                for ip in own {
                    self.ports.push((context.bind(ip, port)?, nth));
                }
            }
        }
        self.note_time(context);
        Ok(())
    }

    fn data(&mut self, connection: ConnectionId, bytes: &[u8]) -> usize {
        match self.place(connection) {
            Some(Place::Slot(slot)) => {
                let taken = self.connections.take_in_place(slot, bytes, &self.tally.ports);
                if taken > 0 {
                    self.enqueue(slot);
                }
                taken
            }
            Some(Place::Closing) => bytes.len(),
            None => 0,
        }
    }

    fn event(&mut self, context: &mut Context<'_>, event: Event) {
        match event {
            Event::Tcp(tcp::Event::Acceptable(listener)) => self.accept(context, listener),
            Event::Tcp(tcp::Event::Connection { id, ready }) => self.go_on(context, id, ready),
            Event::Udp(id) => self.answer(context, id),
            // The stack counts it.
            Event::AddressConflict(_) => {}
        }
    }

    fn turn(&mut self, context: &mut Context<'_>) -> Next {
        self.note_cpu(context.now);
        self.note_time(context);
        for slot in std::mem::take(&mut self.queue) {
            self.connections.dequeue(slot);
            self.serve(context, slot, false);
        }
        for id in std::mem::take(&mut self.waiting_ports) {
            self.answer(context, id);
        }
        match self.queue.is_empty() && self.waiting_ports.is_empty() {
            true if self.has_http => Next::At(context.now + SWEEP),
            true => Next::Wait,
            false => Next::Again,
        }
    }

    fn end(&mut self, context: &mut Context<'_>, how: Ending) {
        for (listener, _) in self.listeners.drain(..) {
            let _ = context.stack.tcp().close_listener(listener, context.now);
        }
        for slot in self.connections.slots() {
            let Some(id) = self.connections.close(slot, &self.tally.ports) else { continue };
            self.set_place(id, Some(Place::Closing));
            let tcp = context.stack.tcp();
            let _ = tcp.consume(id, usize::MAX, context.now);
            let _ = tcp.finish(id, context.now);
        }
        if how == Ending::AtOnce {
            for (id, _) in self.by_index.drain(..).flatten() {
                let _ = context.stack.tcp().abort(id, context.now);
            }
        }
    }
}
