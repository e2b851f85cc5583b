//! smoltcp as a host: a second implementation, to tell the network's errors from the stack's.

use std::{collections::VecDeque, net::SocketAddr, time::Duration};

use portolan_stack::Instant;
use smoltcp::{
    iface::{Config, Interface, SocketHandle, SocketSet},
    phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken},
    socket::tcp::{self, Socket, SocketBuffer},
    time,
    wire::{EthernetAddress, HardwareAddress, IpCidr, IpEndpoint},
};

use super::{
    Deliver, Event, Failure, Handle, Holdings, Host, Received, Setup, State, address, mac,
};
use crate::frame::Frame;

/// A host that runs smoltcp.
pub struct Smoltcp {
    interface: Interface,
    wire: Wire,
    sockets: SocketSet<'static>,
    open: Vec<Open>,
    events: VecDeque<Event>,
    setup: Setup,
    count: Handle,
}

/// A socket of smoltcp's, and what the program knows of it.
struct Open {
    handle: Handle,
    socket: SocketHandle,
    /// The port that it listens on until somebody connects.
    listens: Option<u16>,
    /// The program gave it back.
    is_given_back: bool,
    /// The state that the last event told of.
    told: tcp::State,
    was_up: bool,
    saw_end: bool,
}

impl Smoltcp {
    /// The host of this number.
    #[must_use]
    pub fn new(number: usize, ipv6: bool, setup: &Setup, now: Instant) -> Self {
        let mut wire = Wire { mtu: setup.mtu, ..Wire::default() };
        let hardware = EthernetAddress(mac(number).0);
        let mut config = Config::new(HardwareAddress::Ethernet(hardware));
        config.random_seed = setup.secret;
        let mut interface = Interface::new(config, &mut wire, moment(now));
        let prefix = if ipv6 { 64 } else { 24 };
        interface.update_ip_addrs(|addresses| {
            let pushed = addresses.push(IpCidr::new(address(number, ipv6).into(), prefix));
            debug_assert!(pushed.is_ok(), "smoltcp has room for an address");
        });
        Self {
            interface,
            wire,
            sockets: SocketSet::new(Vec::new()),
            open: Vec::new(),
            events: VecDeque::new(),
            setup: setup.clone(),
            count: 0,
        }
    }

    fn add(&mut self, listens: Option<u16>) -> (Handle, SocketHandle) {
        let buffer = |bytes: usize| SocketBuffer::new(vec![0; bytes]);
        let socket = Socket::new(buffer(self.setup.receive_bytes), buffer(self.setup.send_bytes));
        let socket = self.sockets.add(socket);
        self.count += 1;
        self.open.push(Open {
            handle: self.count,
            socket,
            listens,
            is_given_back: false,
            told: tcp::State::Closed,
            was_up: false,
            saw_end: false,
        });
        (self.count, socket)
    }

    fn of(&self, handle: Handle) -> Option<(&Open, &Socket<'static>)> {
        let open = self.open.iter().find(|open| open.handle == handle && !open.is_given_back)?;
        Some((open, self.sockets.get(open.socket)))
    }

    fn socket(&mut self, handle: Handle) -> Option<(&mut Open, &mut Socket<'static>)> {
        let mut all = self.open.iter_mut();
        let open = all.find(|open| open.handle == handle && !open.is_given_back)?;
        let socket = self.sockets.get_mut(open.socket);
        Some((open, socket))
    }

    fn poll(&mut self, now: Instant) {
        self.interface.poll(moment(now), &mut self.wire, &mut self.sockets);
        let mut again = Vec::new();
        for open in &mut self.open {
            let socket = self.sockets.get_mut::<Socket<'_>>(open.socket);
            if open.is_given_back && socket.can_recv() {
                // With nobody to read, what comes is refused, as elsewhere.
                socket.abort();
            }
            let state = socket.state();
            if let (Some(port), Some(remote)) = (open.listens, socket.remote_endpoint())
                && socket.may_send()
            {
                let remote = SocketAddr::new(remote.addr.into(), remote.port);
                self.events.push_back(Event::Accepted { port, remote, handle: open.handle });
                open.listens = None;
                again.push(port);
            }
            open.was_up |= socket.may_send() || socket.may_recv();
            if open.listens.is_none() && !open.is_given_back {
                let is_news = state != open.told || socket.can_recv() || socket.can_send();
                if is_news && !self.events.contains(&Event::Ready(open.handle)) {
                    self.events.push_back(Event::Ready(open.handle));
                }
            }
            open.told = state;
        }
        for port in again {
            let (_, socket) = self.add(Some(port));
            let listens = self.sockets.get_mut::<Socket<'_>>(socket).listen(port);
            debug_assert!(listens.is_ok(), "a new socket listens");
        }
        self.forget();
    }

    /// Removes the sockets that are over and that nobody holds.
    fn forget(&mut self) {
        let sockets = &mut self.sockets;
        self.open.retain(|open| {
            let state = sockets.get::<Socket<'_>>(open.socket).state();
            // What aborts still has its RST to send while it knows the other end.
            let is_over = open.is_given_back
                && state == tcp::State::Closed
                && sockets.get::<Socket<'_>>(open.socket).remote_endpoint().is_none();
            if is_over {
                sockets.remove(open.socket);
            }
            !is_over
        });
    }
}

impl Host for Smoltcp {
    fn handle_frame(&mut self, frame: &[u8], now: Instant, _deliver: Deliver<'_>) {
        self.wire.arrived.push_back(frame.to_vec());
        self.poll(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.poll(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Frame> {
        if self.wire.sent.is_empty() {
            self.poll(now);
        }
        self.wire.sent.pop_front()
    }

    fn poll_timeout(&mut self, now: Instant) -> Option<Instant> {
        let at = self.interface.poll_at(moment(now), &self.sockets)?;
        let micros = u64::try_from(at.total_micros()).unwrap_or_default();
        // It says "at once" where it waits for nothing but time as well.
        Some(Instant::from_micros(micros.max(now.as_micros() + 100)))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn listen(&mut self, port: u16, backlog: usize, _every: Duration) -> Result<(), Failure> {
        for _ in 0..backlog.max(1) {
            let (_, socket) = self.add(Some(port));
            let socket = self.sockets.get_mut::<Socket<'_>>(socket);
            socket.listen(port).map_err(|_| Failure::Full)?;
        }
        Ok(())
    }

    fn connect(
        &mut self,
        remote: SocketAddr,
        from: Option<u16>,
        _now: Instant,
    ) -> Result<Handle, Failure> {
        let (handle, socket) = self.add(None);
        // Never one that was used before.
        let port = from.unwrap_or(PORT_MIN + u16::try_from(handle).unwrap_or_default());
        let socket = self.sockets.get_mut::<Socket<'_>>(socket);
        let remote = IpEndpoint::new(remote.ip().into(), remote.port());
        let begun = socket.connect(self.interface.context(), remote, port);
        begun.map(|()| handle).map_err(|_| Failure::Full)
    }

    fn local(&self, handle: Handle) -> Option<SocketAddr> {
        let local = self.of(handle)?.1.local_endpoint()?;
        Some(SocketAddr::new(local.addr.into(), local.port))
    }

    fn was_up(&self, handle: Handle) -> bool {
        self.of(handle).is_some_and(|(open, _)| open.was_up)
    }

    fn write(&mut self, handle: Handle, bytes: &[u8], _now: Instant) -> Result<usize, Failure> {
        let (open, socket) = self.socket(handle).ok_or(Failure::Unknown)?;
        if !socket.may_send() {
            let fails = open.was_up || socket.state() == tcp::State::Closed;
            return if fails { Err(Failure::Reset) } else { Ok(0) };
        }
        socket.send_slice(bytes).map_err(|_| Failure::Reset)
    }

    fn read(&mut self, handle: Handle, into: &mut [u8], _now: Instant) -> Received {
        let Some((open, socket)) = self.socket(handle) else {
            return Received::Failed(Failure::Unknown);
        };
        match socket.recv_slice(into) {
            Ok(0) => Received::Nothing,
            Ok(bytes) => Received::Bytes(bytes),
            Err(tcp::RecvError::Finished) => {
                open.saw_end = true;
                Received::Finished
            }
            Err(_) if open.saw_end => Received::Finished,
            Err(_) if socket.state() == tcp::State::Closed => {
                let why = if open.was_up { Failure::Reset } else { Failure::Refused };
                Received::Failed(why)
            }
            Err(_) => Received::Nothing,
        }
    }

    fn finish(&mut self, handle: Handle, _now: Instant) {
        if let Some((_, socket)) = self.socket(handle) {
            socket.close();
        }
    }

    fn close(&mut self, handle: Handle, _now: Instant) {
        if let Some((open, socket)) = self.socket(handle) {
            open.is_given_back = true;
            // With nobody to read, what still comes is refused, as elsewhere.
            if socket.can_recv() { socket.abort() } else { socket.close() }
        }
    }

    fn abort(&mut self, handle: Handle, _now: Instant) {
        if let Some((open, socket)) = self.socket(handle) {
            open.is_given_back = true;
            socket.abort();
        }
    }

    fn state(&mut self, handle: Handle) -> Option<State> {
        Some(match self.of(handle)?.1.state() {
            tcp::State::Closed | tcp::State::Listen => State::Closed,
            tcp::State::SynSent => State::SynSent,
            tcp::State::SynReceived => State::SynReceived,
            tcp::State::Established => State::Established,
            tcp::State::FinWait1 => State::FinWait1,
            tcp::State::FinWait2 => State::FinWait2,
            tcp::State::CloseWait => State::CloseWait,
            tcp::State::Closing => State::Closing,
            tcp::State::LastAck => State::LastAck,
            tcp::State::TimeWait => State::TimeWait,
        })
    }

    fn holdings(&mut self) -> Holdings {
        let connections = self.open.iter().filter(|open| open.listens.is_none()).count();
        Holdings { connections, ..Holdings::default() }
    }
}

/// smoltcp's idea of a device.
#[derive(Default)]
struct Wire {
    mtu: usize,
    arrived: VecDeque<Frame>,
    sent: VecDeque<Frame>,
}

struct Arrived(Frame);

struct Sent<'a>(&'a mut VecDeque<Frame>);

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Sent<'a>;

    fn receive(&mut self, _now: time::Instant) -> Option<(Arrived, Sent<'_>)> {
        let frame = self.arrived.pop_front()?;
        Some((Arrived(frame), Sent(&mut self.sent)))
    }

    fn transmit(&mut self, _now: time::Instant) -> Option<Sent<'_>> {
        (self.sent.len() < SENT_MAX).then_some(Sent(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = self.mtu + portolan_wire::ethernet::HEADER_BYTES;
        capabilities
    }
}

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        let mut frame = vec![0; length];
        let result = fill(&mut frame);
        self.0.push_back(frame);
        result
    }
}

fn moment(now: Instant) -> time::Instant {
    time::Instant::from_micros(i64::try_from(now.as_micros()).unwrap_or(i64::MAX))
}

const SENT_MAX: usize = 64;
const PORT_MIN: u16 = 49_152;
