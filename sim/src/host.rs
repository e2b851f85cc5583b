//! What the simulator needs of a stack: the only seam between the two.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use portolan_stack::Instant;
use portolan_wire::{Seq, ethernet};
use serde::{Deserialize, Serialize};

use crate::{coverage::Coverage, frame::Frame};

mod device;
mod peer;
mod portolan;

pub use peer::Smoltcp;
pub use portolan::Portolan;

/// A connection, as its host names it.
pub type Handle = u64;

/// Offers the data of a connection where it lies; the answer is how much of it was taken.
pub type Deliver<'a> = &'a mut dyn FnMut(Handle, &[u8]) -> usize;

/// A host on the wire: frames, time and verbs go in, frames, a time and events come out.
pub trait Host {
    /// A frame arrived.
    fn handle_frame(&mut self, frame: &[u8], now: Instant, deliver: Deliver<'_>);
    /// The moment of [`poll_timeout`](Self::poll_timeout) came.
    fn handle_timeout(&mut self, now: Instant);
    /// The next frame to send.
    fn poll_transmit(&mut self, now: Instant) -> Option<Frame>;
    /// When to call [`handle_timeout`](Self::handle_timeout), if nothing happens before.
    fn poll_timeout(&mut self, now: Instant) -> Option<Instant>;
    /// What the program should know.
    fn poll_event(&mut self) -> Option<Event>;
    /// Connections to this port are accepted from now on, one in such a time at most.
    ///
    /// # Errors
    ///
    /// [`Failure`] where the stack refuses.
    fn listen(&mut self, port: u16, backlog: usize, every: Duration) -> Result<(), Failure>;
    /// Opens a connection, from this port where one is given.
    ///
    /// # Errors
    ///
    /// [`Failure`] where the stack refuses.
    fn connect(
        &mut self,
        remote: SocketAddr,
        from: Option<u16>,
        now: Instant,
    ) -> Result<Handle, Failure>;
    /// The address and port of this end.
    fn local(&self, handle: Handle) -> Option<SocketAddr>;
    /// Whether the handshake was ever through.
    fn was_up(&self, handle: Handle) -> bool;
    /// Sends as much of it as there is room for.
    ///
    /// # Errors
    ///
    /// [`Failure`] where the connection is over.
    fn write(&mut self, handle: Handle, bytes: &[u8], now: Instant) -> Result<usize, Failure>;
    /// Takes data that arrived.
    fn read(&mut self, handle: Handle, into: &mut [u8], now: Instant) -> Received;
    /// No more will be written.
    fn finish(&mut self, handle: Handle, now: Instant);
    /// Gives the handle back; the rest happens by itself.
    fn close(&mut self, handle: Handle, now: Instant);
    /// Resets the connection and gives the handle back.
    fn abort(&mut self, handle: Handle, now: Instant);
    /// The state of a connection, if the stack tells.
    fn state(&mut self, _handle: Handle) -> Option<State> {
        None
    }
    /// Datagrams of UDP to this port are taken from now on, if the stack can.
    fn bind(&mut self, _port: u16) -> bool {
        false
    }
    /// Sends a datagram of UDP. Whether it left.
    fn send_datagram(&mut self, _remote: SocketAddr, _payload: &[u8], _now: Instant) -> bool {
        false
    }
    /// The next datagram of UDP that has arrived.
    fn receive_datagram(&mut self) -> Option<Vec<u8>> {
        None
    }
    /// Where the connection of these two ends stands, whoever has it; none where there is none, or
    /// the stack does not tell.
    fn numbers(&mut self, _local: SocketAddr, _remote: SocketAddr) -> Option<Numbers> {
        None
    }
    /// The connection is given up when nothing was acknowledged for so long; a stack that cannot
    /// does as ever.
    fn set_user_timeout(&mut self, _handle: Handle, _timeout: Duration, _now: Instant) {}
    /// What happened in the stack is added to this.
    fn cover(&mut self, _coverage: &mut Coverage) {}
    /// Whether packets that TCP sent never left, for want of the neighbour's hardware address.
    fn has_lost(&self) -> bool {
        false
    }
    /// What the stack holds.
    fn holdings(&mut self) -> Holdings;
}

/// What the program should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Somebody connected to a port that is listened on.
    Accepted {
        /// Which port.
        port: u16,
        /// Who.
        remote: SocketAddr,
        /// The connection.
        handle: Handle,
    },
    /// A connection is worth a look.
    Ready(Handle),
    /// A datagram of UDP waits.
    Datagram,
}

/// What a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// So many bytes, at least one.
    Bytes(usize),
    /// Nothing yet.
    Nothing,
    /// Nothing any more: all that the other end sent was read.
    Finished,
    /// Nothing any more, and not all may have arrived.
    Failed(Failure),
}

/// Why a connection is over before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The other end reset it.
    Reset,
    /// Nobody listens there.
    Refused,
    /// The other end was silent for too long.
    TimedOut,
    /// The way there is said not to exist.
    Unreachable,
    /// A bound of the stack is reached.
    Full,
    /// The handle is not known, or was given back.
    Unknown,
}

/// The states of RFC 9293, section 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the RFC's")]
pub enum State {
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

/// How far a connection is, by the names of RFC 9293, section 3.3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the RFC's")]
pub struct Numbers {
    pub state: State,
    pub snd_una: Seq,
    pub snd_nxt: Seq,
    pub rcv_nxt: Seq,
    pub rcv_wnd: u32,
}

/// What a stack holds: nothing of it may be left when all connections are over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Connections, those in TIME-WAIT and half-open ones included.
    pub connections: usize,
    /// Blocks of the buffer pool.
    pub blocks: usize,
    /// Timers of connections.
    pub timers: usize,
}

/// How a host is set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Setup {
    /// Which stack it runs.
    pub kind: Kind,
    /// The largest IP packet that its link takes.
    pub mtu: usize,
    /// Whether it controls congestion by NewReno instead of CUBIC.
    pub newreno: bool,
    /// Whether it sends selective acknowledgments.
    pub sack: bool,
    /// Whether it sends timestamps.
    pub timestamps: bool,
    /// Whether it uses ECN.
    pub ecn: bool,
    /// The most that it keeps for the program to read, in bytes of a connection.
    pub receive_bytes: usize,
    /// The most that it keeps to be sent, in bytes of a connection.
    pub send_bytes: usize,
    /// Blocks of its buffer pool; 0 for as many as a run may need.
    pub blocks: usize,
    /// Whether the device fills in checksums.
    pub device_checksums: bool,
    /// Up to how many bytes of data the device makes segments of; 0 if it makes none.
    pub device_segments: usize,
    /// Whether it answers SYN by cookies when a backlog is full.
    pub cookies: bool,
    /// How it probes idle connections, if it does.
    pub keepalive: Option<Keepalive>,
    /// Its secret.
    pub secret: u64,
}

/// How idle connections are probed: RFC 9293, section 3.8.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keepalive {
    /// After how long without a segment, in microseconds.
    pub idle_us: u64,
    /// How long between two probes, in microseconds.
    pub interval_us: u64,
    /// After how many of them the connection is given up.
    pub probes: u8,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            kind: Kind::Portolan,
            mtu: 1_500,
            newreno: false,
            sack: true,
            timestamps: true,
            ecn: false,
            receive_bytes: 64 * 1024,
            send_bytes: 64 * 1024,
            blocks: 0,
            device_checksums: false,
            device_segments: 0,
            cookies: true,
            keepalive: None,
            secret: 0,
        }
    }
}

/// Which stack a host runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The one that is to be tested.
    #[default]
    Portolan,
    /// smoltcp, as a peer that somebody else wrote.
    Smoltcp,
}

/// The hardware address of a host, by its number.
#[must_use]
pub fn mac(host: usize) -> ethernet::Address {
    ethernet::Address([2, 0, 0, 0, 0, last_octet(host)])
}

/// The address of a host, by its number: of a network for documentation, `/24` or `/64`.
#[must_use]
pub fn address(host: usize, ipv6: bool) -> IpAddr {
    let last = last_octet(host);
    if ipv6 {
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last.into()))
    } else {
        IpAddr::V4(Ipv4Addr::new(198, 51, 100, last))
    }
}

fn last_octet(host: usize) -> u8 {
    u8::try_from(host + 1).unwrap_or(u8::MAX)
}
