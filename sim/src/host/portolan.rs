//! The stack that is to be tested, as a host.

use std::{
    collections::{HashMap, VecDeque},
    net::SocketAddr,
    time::Duration,
};

use portolan_stack::{
    Checksum, Departure, Instant, Stack, Unsent,
    tcp::{self, ConnectionId, Error, ListenerId, Ready, Reason, Tcp},
};

use super::{
    Deliver, Event, Failure, Handle, Holdings, Host, Numbers, Received, Setup, State, address,
    device,
};
use crate::{
    coverage::{Coverage, Happening},
    frame::Frame,
};

mod counts;
mod datagrams;
mod setup;

/// A host that runs [`Stack`].
pub struct Portolan {
    stack: Stack,
    number: usize,
    ipv6: bool,
    /// For the next frame.
    buffer: Vec<u8>,
    listeners: Vec<Listening>,
    bound: datagrams::Bound,
    handles: Handles,
    events: VecDeque<Event>,
    frames: VecDeque<Frame>,
    accepted_slowly: u64,
    /// The moment of the last call.
    now: Instant,
}

/// A port that is listened on, and the program there.
struct Listening {
    port: u16,
    id: ListenerId,
    /// How long it takes to accept one.
    every: Duration,
    next_at: Instant,
    /// Whether somebody waits to be accepted.
    is_waited_for: bool,
}

/// The names of connections, here and there.
#[derive(Default)]
struct Handles {
    count: Handle,
    open: HashMap<Handle, Open>,
    by_id: HashMap<ConnectionId, Handle>,
}

struct Open {
    id: ConnectionId,
    local: SocketAddr,
    was_up: bool,
    is_finished: bool,
}

impl Portolan {
    /// The host of this number.
    #[must_use]
    pub fn new(number: usize, ipv6: bool, setup: &Setup, now: Instant) -> Self {
        let longest = setup.mtu.max(setup.device_segments);
        Self {
            stack: setup::stack(number, ipv6, setup, now),
            number,
            ipv6,
            buffer: vec![0; longest + HEADERS_BYTES_MAX],
            listeners: Vec::new(),
            bound: Default::default(),
            handles: Handles::default(),
            events: VecDeque::new(),
            frames: VecDeque::new(),
            accepted_slowly: 0,
            now,
        }
    }

    fn tcp(&mut self) -> &mut Tcp {
        self.stack.tcp()
    }

    fn id(&self, handle: Handle) -> Option<ConnectionId> {
        Some(self.handles.open.get(&handle)?.id)
    }

    fn hear(&mut self) {
        while let Some(event) = self.stack.poll_event() {
            let event = match event {
                portolan_stack::Event::Tcp(event) => event,
                portolan_stack::Event::Udp(_) => {
                    self.events.push_back(Event::Datagram);
                    continue;
                }
                portolan_stack::Event::AddressConflict(_) => continue,
            };
            match event {
                tcp::Event::Acceptable(listener) => {
                    let at = self.listeners.iter().position(|one| one.id == listener);
                    let Some(at) = at else { continue };
                    self.listeners[at].is_waited_for = true;
                    self.accept(at);
                }
                tcp::Event::Connection { id, ready } => {
                    let Some(handle) = self.handles.by_id.get(&id).copied() else { continue };
                    if let Some(open) = self.handles.open.get_mut(&handle) {
                        open.was_up |= ready.contains(Ready::CONNECTED);
                        open.is_finished |= ready.contains(Ready::FINISHED);
                    }
                    self.events.push_back(Event::Ready(handle));
                }
            }
        }
    }

    /// Accepts who waits, as far as the program is through with those before.
    fn accept(&mut self, at: usize) {
        let now = self.now;
        let Some(listening) = self.listeners.get_mut(at) else { return };
        while now >= listening.next_at {
            let tcp = self.stack.tcp();
            let accepted = tcp.accept(listening.id, now).ok().flatten();
            listening.is_waited_for = accepted.is_some();
            let Some(id) = accepted else { return };
            listening.next_at = now + listening.every;
            let Ok(info) = tcp.info(id) else { continue };
            let remote = SocketAddr::new(info.flow.remote, info.flow.remote_port);
            let local = SocketAddr::new(info.flow.local, info.flow.local_port);
            let handle = self.handles.add(id, local);
            self.accepted_slowly += u64::from(!listening.every.is_zero());
            self.events.push_back(Event::Accepted { port: listening.port, remote, handle });
        }
    }
}

impl Host for Portolan {
    fn handle_frame(&mut self, frame: &[u8], now: Instant, deliver: Deliver<'_>) {
        self.now = now;
        let by_id = &self.handles.by_id;
        self.stack.handle_frame(
            frame,
            Checksum::Unknown,
            now,
            &mut |id, data| match by_id.get(&id) {
                Some(handle) => deliver(*handle, data),
                None => 0,
            },
        );
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.stack.handle_timeout(now);
        for at in 0..self.listeners.len() {
            if self.listeners[at].is_waited_for {
                self.accept(at);
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Frame> {
        self.now = now;
        if self.frames.is_empty() {
            let departure = self.stack.poll_transmit(now, &mut self.buffer)?;
            let frame = self.buffer.get(..departure.len)?.to_vec();
            self.frames.extend(device::done(frame, work(&departure)));
        }
        self.frames.pop_front()
    }

    fn poll_timeout(&mut self, _now: Instant) -> Option<Instant> {
        let waited_for = self.listeners.iter().filter(|one| one.is_waited_for);
        waited_for.map(|one| one.next_at).chain(self.stack.poll_timeout()).min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.hear();
        self.events.pop_front()
    }

    fn listen(&mut self, port: u16, backlog: usize, every: Duration) -> Result<(), Failure> {
        let id = self.tcp().listen(None, port, backlog).map_err(failure)?;
        let (next_at, is_waited_for) = (self.now, false);
        self.listeners.push(Listening { port, id, every, next_at, is_waited_for });
        Ok(())
    }

    fn connect(
        &mut self,
        remote: SocketAddr,
        from: Option<u16>,
        now: Instant,
    ) -> Result<Handle, Failure> {
        let local = address(self.number, self.ipv6);
        let id = match from {
            Some(port) => {
                let local = SocketAddr::new(local, port);
                self.stack.connect_from(local, remote, now)
            }
            None => self.stack.connect(remote, now),
        };
        let id = id.map_err(failure)?;
        let flow = self.tcp().info(id).map_err(failure)?.flow;
        Ok(self.handles.add(id, SocketAddr::new(flow.local, flow.local_port)))
    }

    fn local(&self, handle: Handle) -> Option<SocketAddr> {
        Some(self.handles.open.get(&handle)?.local)
    }

    fn was_up(&self, handle: Handle) -> bool {
        self.handles.open.get(&handle).is_some_and(|open| open.was_up)
    }

    fn write(&mut self, handle: Handle, bytes: &[u8], now: Instant) -> Result<usize, Failure> {
        let id = self.id(handle).ok_or(Failure::Unknown)?;
        self.tcp().write(id, bytes, now).map_err(failure)
    }

    fn read(&mut self, handle: Handle, into: &mut [u8], now: Instant) -> Received {
        let Some(open) = self.handles.open.get(&handle) else {
            return Received::Failed(Failure::Unknown);
        };
        let is_finished = open.is_finished;
        match self.stack.tcp().read(open.id, into, now) {
            Ok(0) if is_finished => Received::Finished,
            Ok(0) => Received::Nothing,
            Ok(count) => Received::Bytes(count),
            Err(error) => Received::Failed(failure(error)),
        }
    }

    fn finish(&mut self, handle: Handle, now: Instant) {
        if let Some(id) = self.id(handle) {
            let done = self.tcp().finish(id, now);
            debug_assert!(done.is_ok(), "the handle is known: {done:?}");
        }
    }

    fn close(&mut self, handle: Handle, now: Instant) {
        if let Some(id) = self.handles.remove(handle) {
            let done = self.tcp().close(id, now);
            debug_assert!(done.is_ok(), "the handle is known: {done:?}");
        }
    }

    fn abort(&mut self, handle: Handle, now: Instant) {
        if let Some(id) = self.handles.remove(handle) {
            let done = self.tcp().abort(id, now);
            debug_assert!(done.is_ok(), "the handle is known: {done:?}");
        }
    }

    fn state(&mut self, handle: Handle) -> Option<State> {
        let id = self.id(handle)?;
        let info = self.tcp().info(id).ok()?;
        Some(state(info.state))
    }

    fn numbers(&mut self, local: SocketAddr, remote: SocketAddr) -> Option<Numbers> {
        let numbers = self.stack.tcp().numbers(&tcp::Flow {
            local: local.ip(),
            remote: remote.ip(),
            local_port: local.port(),
            remote_port: remote.port(),
        })?;
        Some(Numbers {
            state: state(numbers.state),
            snd_una: numbers.snd_una,
            snd_nxt: numbers.snd_nxt,
            rcv_nxt: numbers.rcv_nxt,
            rcv_wnd: numbers.rcv_wnd,
        })
    }

    fn bind(&mut self, port: u16) -> bool {
        self.bound.bind(&mut self.stack, port)
    }

    fn send_datagram(&mut self, remote: SocketAddr, payload: &[u8], now: Instant) -> bool {
        self.bound.send(&mut self.stack, remote, payload, now)
    }

    fn receive_datagram(&mut self) -> Option<Vec<u8>> {
        self.bound.receive(&mut self.stack)
    }

    fn set_user_timeout(&mut self, handle: Handle, timeout: Duration, now: Instant) {
        if let Some(id) = self.id(handle) {
            let set = self.tcp().set_user_timeout(id, Some(timeout), now);
            debug_assert!(set.is_ok(), "the handle is known: {set:?}");
        }
    }

    fn cover(&mut self, coverage: &mut Coverage) {
        counts::add(&mut self.stack, coverage);
        coverage.add(Happening::AcceptedSlowly, self.accepted_slowly);
    }

    fn has_lost(&self) -> bool {
        let counters = self.stack.counters();
        let reasons = [Unsent::NeighborSilent, Unsent::NeighborWaitingFull, Unsent::OutboxFull];
        reasons.into_iter().any(|reason| counters.unsent(reason) > 0)
    }

    fn holdings(&mut self) -> Holdings {
        let tcp = self.tcp();
        Holdings {
            connections: tcp.connections() + tcp.time_waits(),
            blocks: tcp.blocks_in_use(),
            timers: tcp.timers(),
        }
    }
}

impl Handles {
    fn add(&mut self, id: ConnectionId, local: SocketAddr) -> Handle {
        self.count += 1;
        self.open.insert(self.count, Open { id, local, was_up: false, is_finished: false });
        self.by_id.insert(id, self.count);
        self.count
    }

    fn remove(&mut self, handle: Handle) -> Option<ConnectionId> {
        let id = self.open.remove(&handle)?.id;
        self.by_id.remove(&id);
        Some(id)
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Ended(Reason::Refused) => Failure::Refused,
        Error::Ended(Reason::Reset) => Failure::Reset,
        Error::Ended(Reason::TimedOut) => Failure::TimedOut,
        Error::Ended(Reason::Unreachable) => Failure::Unreachable,
        Error::NoFreePort(_) | Error::TooManyConnections(_) | Error::ConnectionInUse(_) => {
            Failure::Full
        }
        _ => Failure::Unknown,
    }
}

fn state(state: tcp::State) -> State {
    match state {
        tcp::State::SynSent => State::SynSent,
        tcp::State::SynReceived => State::SynReceived,
        tcp::State::Established => State::Established,
        tcp::State::FinWait1 => State::FinWait1,
        tcp::State::FinWait2 => State::FinWait2,
        tcp::State::CloseWait => State::CloseWait,
        tcp::State::Closing => State::Closing,
        tcp::State::LastAck => State::LastAck,
        tcp::State::TimeWait => State::TimeWait,
        tcp::State::Closed => State::Closed,
    }
}

/// What is left to the device.
fn work(departure: &Departure) -> device::Work {
    let split = departure.segmentation;
    device::Work {
        checksum: departure.checksum.is_some(),
        segmentation: split.map(|split| (split.header_len.into(), split.payload.into())),
    }
}

/// Ethernet, IP and TCP with options, and some room.
const HEADERS_BYTES_MAX: usize = 256;
