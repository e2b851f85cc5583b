//! TCP alone: each packet is for it, and the other host is the only neighbour.

use std::{
    collections::{HashMap, VecDeque},
    net::{IpAddr, SocketAddr},
};

use portolan_stack::{
    Instant,
    random::Keys,
    tcp::{
        self, Arrived, Checksum, ConnectionId, EcnUse, Error, ErrorKind, IcmpError, ListenerId,
        Outgoing, Ready, Reason, Tcp, congestion::Algorithm,
    },
};
use portolan_wire::{icmpv4, icmpv6, ipv4, ipv6, protocol, tcp::Packet};

use super::{
    Deliver, Event, Failure, Handle, Holdings, Host, Received, Setup, State, address, device, mac,
};
use crate::{
    frame::{Datagram, Frame, Way, wrapped},
    neighbor,
    random::Random,
};

/// A host that is nothing but TCP.
pub struct Bare {
    tcp: Tcp,
    number: usize,
    ipv6: bool,
    setup: Setup,
    /// The largest packet that the way to the other host takes.
    path_mtu: u16,
    listeners: Vec<(u16, ListenerId)>,
    handles: Handles,
    events: VecDeque<Event>,
    frames: VecDeque<Frame>,
    /// The moment of the last call.
    now: Instant,
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

impl Bare {
    /// The host of this number.
    #[must_use]
    pub fn new(number: usize, ipv6: bool, setup: &Setup, now: Instant) -> Self {
        let mut random = Random::new(setup.secret, "stack");
        let mut secret = [0; 32];
        for bytes in secret.chunks_mut(8) {
            bytes.copy_from_slice(&random.draw().to_le_bytes());
        }
        Self {
            tcp: Tcp::new(config(setup), &Keys::new(secret), now),
            number,
            ipv6,
            setup: setup.clone(),
            path_mtu: u16::try_from(setup.mtu).unwrap_or(u16::MAX),
            listeners: Vec::new(),
            handles: Handles::default(),
            events: VecDeque::new(),
            frames: VecDeque::new(),
            now,
        }
    }

    fn id(&self, handle: Handle) -> Option<ConnectionId> {
        Some(self.handles.open.get(&handle)?.id)
    }

    /// Takes the error of ICMP in the packet, if there is one.
    fn handle_error(&mut self, datagram: &Datagram<'_>, now: Instant) {
        if !datagram.is_intact() {
            return;
        }
        let Some((kind, quoted, remote)) = error_of(datagram) else { return };
        let Some(quoted) = Packet::parse_quoted_ports(quoted) else { return };
        let error = IcmpError { local: datagram.destination, remote, quoted, kind };
        let is_believed = self.tcp.handle_error(&error, now);
        if let ErrorKind::TooBig { mtu } = kind
            && is_believed
        {
            let mtu = u16::try_from(mtu).unwrap_or(u16::MAX).max(MTU_MIN);
            self.path_mtu = self.path_mtu.min(mtu);
        }
    }

    fn hear(&mut self) {
        while let Some(event) = self.tcp.poll_event() {
            match event {
                tcp::Event::Acceptable(listener) => self.accept(listener),
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

    fn accept(&mut self, listener: ListenerId) {
        let port = self.listeners.iter().find(|(_, id)| *id == listener).map(|(port, _)| *port);
        while let Ok(Some(id)) = self.tcp.accept(listener, self.now) {
            let Ok(info) = self.tcp.info(id) else { continue };
            let remote = SocketAddr::new(info.flow.remote, info.flow.remote_port);
            let local = SocketAddr::new(info.flow.local, info.flow.local_port);
            let handle = self.handles.add(id, local);
            let port = port.unwrap_or_default();
            self.events.push_back(Event::Accepted { port, remote, handle });
        }
    }

    fn frames_of(&self, outgoing: Outgoing, segment: &[u8]) -> Vec<Frame> {
        let way = Way {
            source_mac: mac(self.number),
            destination_mac: mac(1 - self.number),
            source: outgoing.source,
            destination: outgoing.destination,
        };
        let frame = wrapped(way, protocol::TCP, outgoing.ecn.bits(), segment);
        let headers = frame.len() - segment.len() + outgoing.header_len;
        let payload = outgoing.segment_payload.map(|payload| (headers, payload.into()));
        let work =
            device::Work { checksum: self.setup.device_checksums, segmentation: payload };
        device::done(frame, work)
    }

}

impl Host for Bare {
    fn handle_frame(&mut self, frame: &[u8], now: Instant, deliver: Deliver<'_>) {
        self.now = now;
        self.frames.extend(neighbor::answer(frame, self.number, self.ipv6));
        let Some(datagram) = Datagram::read(frame) else { return };
        if datagram.destination != address(self.number, self.ipv6) {
            return;
        }
        if datagram.protocol != protocol::TCP {
            return self.handle_error(&datagram, now);
        }
        let path_mtu = self.path_mtu;
        let arrived = Arrived {
            source: datagram.source,
            destination: datagram.destination,
            ecn: tcp::Ecn::from_bits(datagram.ecn),
            checksum: Checksum::Unknown,
            segment: datagram.payload,
            path_mtu: &|_| path_mtu,
        };
        let by_id = &self.handles.by_id;
        self.tcp.handle_segment(arrived, now, &mut |id, data| match by_id.get(&id) {
            Some(handle) => deliver(*handle, data),
            None => 0,
        });
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.tcp.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Frame> {
        self.now = now;
        if self.frames.is_empty() {
            let mut buffer = vec![0; self.setup.mtu.max(self.setup.device_segments) + 128];
            let outgoing = self.tcp.poll_transmit(now, &mut buffer)?;
            let frames = self.frames_of(outgoing, buffer.get(..outgoing.len)?);
            self.frames.extend(frames);
        }
        self.frames.pop_front()
    }

    fn poll_timeout(&mut self, _now: Instant) -> Option<Instant> {
        self.tcp.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.hear();
        self.events.pop_front()
    }

    fn listen(&mut self, port: u16, backlog: usize) -> Result<(), Failure> {
        let listener = self.tcp.listen(None, port, backlog).map_err(failure)?;
        self.listeners.push((port, listener));
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
                self.tcp.connect_from(local, remote, self.path_mtu, now)
            }
            None => self.tcp.connect(local, remote, self.path_mtu, now),
        };
        let id = id.map_err(failure)?;
        let flow = self.tcp.info(id).map_err(failure)?.flow;
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
        self.tcp.write(id, bytes, now).map_err(failure)
    }

    fn read(&mut self, handle: Handle, into: &mut [u8], now: Instant) -> Received {
        let Some(open) = self.handles.open.get(&handle) else {
            return Received::Failed(Failure::Unknown);
        };
        match self.tcp.read(open.id, into, now) {
            Ok(0) if open.is_finished => Received::Finished,
            Ok(0) => Received::Nothing,
            Ok(count) => Received::Bytes(count),
            Err(error) => Received::Failed(failure(error)),
        }
    }

    fn finish(&mut self, handle: Handle, now: Instant) {
        if let Some(id) = self.id(handle) {
            let done = self.tcp.finish(id, now);
            debug_assert!(done.is_ok(), "the handle is known: {done:?}");
        }
    }

    fn close(&mut self, handle: Handle, now: Instant) {
        if let Some(id) = self.handles.remove(handle) {
            let done = self.tcp.close(id, now);
            debug_assert!(done.is_ok(), "the handle is known: {done:?}");
        }
    }

    fn abort(&mut self, handle: Handle, now: Instant) {
        if let Some(id) = self.handles.remove(handle) {
            let done = self.tcp.abort(id, now);
            debug_assert!(done.is_ok(), "the handle is known: {done:?}");
        }
    }

    fn state(&self, handle: Handle) -> Option<State> {
        let info = self.tcp.info(self.id(handle)?).ok()?;
        Some(state(info.state))
    }

    fn holdings(&self) -> Holdings {
        Holdings {
            connections: self.tcp.connections() + self.tcp.time_waits(),
            blocks: self.tcp.blocks_in_use(),
            timers: self.tcp.timers(),
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

pub(super) fn config(setup: &Setup) -> tcp::Config {
    let usual = tcp::Config::default();
    tcp::Config {
        blocks_max: if setup.blocks > 0 { setup.blocks } else { usual.blocks_max },
        send_buffer_bytes: u32::try_from(setup.send_bytes).unwrap_or(u32::MAX),
        receive_buffer_bytes: u32::try_from(setup.receive_bytes).unwrap_or(u32::MAX),
        congestion: if setup.newreno { Algorithm::NewReno } else { Algorithm::Cubic },
        sack: setup.sack,
        timestamps: setup.timestamps,
        ecn: if setup.ecn { EcnUse::Active } else { EcnUse::Passive },
        checksum_offload: setup.device_checksums,
        segment_bytes_max: setup.device_segments,
        ..usual
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

/// What an error says, the segment that it quotes, and where that was to go.
fn error_of<'a>(datagram: &Datagram<'a>) -> Option<(ErrorKind, &'a [u8], IpAddr)> {
    let is_hard = |hard: bool| if hard { ErrorKind::Unreachable } else { ErrorKind::Transient };
    if datagram.protocol == protocol::ICMPV4 {
        use icmpv4::{Kind, unreachable};
        let message = icmpv4::Packet::parse(datagram.payload).ok()?;
        let quoted = ipv4::Packet::parse_quoted(message.quoted()?).ok()?;
        let kind = match (message.next_hop_mtu(), message.kind(), message.code()) {
            (Some(mtu), ..) => ErrorKind::TooBig { mtu: mtu.into() },
            (None, Kind::DESTINATION_UNREACHABLE, code) => {
                is_hard(matches!(code, unreachable::PROTOCOL | unreachable::PORT))
            }
            _ => ErrorKind::Transient,
        };
        return Some((kind, quoted.payload(), quoted.destination().into()));
    }
    let message = icmpv6::Packet::parse(datagram.payload).ok()?;
    let quoted = ipv6::Packet::parse_quoted(message.quoted()?).ok()?;
    let kind = match (message.mtu(), message.kind(), message.code()) {
        (Some(mtu), ..) => ErrorKind::TooBig { mtu },
        (None, icmpv6::Kind::DESTINATION_UNREACHABLE, code) => {
            is_hard(code == icmpv6::unreachable::PORT)
        }
        _ => ErrorKind::Transient,
    };
    Some((kind, quoted.payload(), quoted.destination().into()))
}

/// RFC 791, section 3.1.
const MTU_MIN: u16 = 576;
