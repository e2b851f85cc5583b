//! UDP: bound ports and what waits there: RFC 768, RFC 1122, section 4.1.

use core::net::{IpAddr, SocketAddr};

use alloc::{collections::VecDeque, vec::Vec};

use thiserror::Error;

use crate::{
    counters::Dropped,
    keyed::{Keyed, KeyedMap},
    random::Random,
    tcp::ErrorKind,
};

/// A bound port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UdpId {
    index: u32,
    generation: u32,
}

/// Why a verb of UDP did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UdpError {
    /// The handle is of a port that was given back.
    #[error("the port is not bound any more: bind it again")]
    Closed,
    /// Somebody has the port.
    #[error("UDP port {0} is bound already: take another one, or 0 for any")]
    InUse(u16),
    /// The address is not ours.
    #[error("{0} is no address of this host: bind one of its own, or none")]
    NotOwn(IpAddr),
    /// As many ports are bound as may be, or all are.
    #[error("no UDP port is left: give one back, or raise the limit")]
    Full,
    /// The queue to the device is full.
    #[error("too much waits for the device: send again when frames have left")]
    Busy,
    /// The datagram is too long.
    #[error("a datagram of {found} bytes is too long: at most {max} fit")]
    TooLong {
        /// The longest in bytes.
        max: usize,
        /// This one's length.
        found: usize,
    },
    /// Nothing leads there.
    #[error("no route to {0}: add one, or an address of its version")]
    NoRoute(IpAddr),
}

/// A datagram that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Who sent it.
    pub source: SocketAddr,
    /// For which address it was: one of ours, or of a group.
    pub destination: IpAddr,
    /// Its length in bytes; what is beyond the length of the buffer is lost.
    pub len: usize,
}

/// An ICMP error about a datagram that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// For whom the datagram was.
    pub remote: SocketAddr,
    /// What went wrong.
    pub kind: ErrorKind,
}

#[derive(Debug)]
struct Datagram {
    source: SocketAddr,
    destination: IpAddr,
    payload: Vec<u8>,
}

#[derive(Debug)]
struct Binding {
    generation: u32,
    is_open: bool,
    address: Option<IpAddr>,
    port: u16,
    queue: VecDeque<Datagram>,
    queued: usize,
    /// The last ones to whom was sent: only about these, errors are believed.
    peers: [Option<SocketAddr>; PEERS_MAX],
    next_peer: usize,
    failures: VecDeque<Failure>,
    /// Whether the program was told that something waits.
    is_told: bool,
}

/// All bound ports.
#[derive(Debug)]
pub struct Udp {
    bindings: Vec<Binding>,
    free: Vec<u32>,
    ports: KeyedMap<(u16, Option<IpAddr>), u32>,
    events: VecDeque<UdpId>,
    random: Random,
    bindings_max: usize,
    queue_bytes_max: usize,
}

impl Udp {
    /// No port is bound.
    pub fn new(bindings_max: usize, queue_bytes_max: usize, key: Keyed, random: Random) -> Self {
        Self {
            bindings: Vec::new(),
            free: Vec::new(),
            ports: KeyedMap::with_hasher(key),
            events: VecDeque::new(),
            random,
            bindings_max,
            queue_bytes_max,
        }
    }

    /// Binds a port of one address, or of all; any port for 0: RFC 6056, section 3.3.1.
    ///
    /// # Errors
    ///
    /// [`UdpError::InUse`], [`UdpError::Full`].
    pub fn bind(&mut self, address: Option<IpAddr>, port: u16) -> Result<UdpId, UdpError> {
        if self.ports.len() >= self.bindings_max {
            return Err(UdpError::Full);
        }
        let port = match port {
            0 => self.free_port(address).ok_or(UdpError::Full)?,
            port => port,
        };
        if self.ports.contains_key(&(port, address)) {
            return Err(UdpError::InUse(port));
        }
        let index = match self.free.pop() {
            Some(index) => index,
            None => u32::try_from(self.bindings.len()).map_err(|_| UdpError::Full)?,
        };
        let at = index as usize;
        let generation = self.bindings.get(at).map_or(0, |old| old.generation.wrapping_add(1));
        let binding = Binding {
            generation,
            is_open: true,
            address,
            port,
            queue: VecDeque::new(),
            queued: 0,
            peers: [None; PEERS_MAX],
            next_peer: 0,
            failures: VecDeque::new(),
            is_told: false,
        };
        match self.bindings.get_mut(at) {
            Some(place) => *place = binding,
            None => self.bindings.push(binding),
        }
        self.ports.insert((port, address), index);
        Ok(UdpId { index, generation })
    }

    fn free_port(&mut self, address: Option<IpAddr>) -> Option<u16> {
        let count = u16::MAX - EPHEMERAL_FIRST + 1;
        let start = u16::try_from(self.random.below(count.into())).unwrap_or(0);
        let mut ports = (0..count).map(|step| EPHEMERAL_FIRST + (start + step) % count);
        ports.find(|port| {
            // One that somebody has for all addresses is taken for each.
            !self.ports.contains_key(&(*port, address)) && !self.ports.contains_key(&(*port, None))
        })
    }

    /// Gives a port back; what waits there is thrown away.
    ///
    /// # Errors
    ///
    /// [`UdpError::Closed`].
    pub fn unbind(&mut self, id: UdpId) -> Result<(), UdpError> {
        let binding = self.binding(id)?;
        binding.is_open = false;
        (binding.queue, binding.failures) = (VecDeque::new(), VecDeque::new());
        let name = (binding.port, binding.address);
        self.ports.remove(&name);
        self.free.push(id.index);
        self.events.retain(|event| *event != id);
        Ok(())
    }

    /// The address that is bound, if it is one alone, and the port.
    ///
    /// # Errors
    ///
    /// [`UdpError::Closed`].
    pub fn local(&self, id: UdpId) -> Result<(Option<IpAddr>, u16), UdpError> {
        let binding = self.bindings.get(id.index as usize).filter(|one| one.is(id));
        binding.map(|one| (one.address, one.port)).ok_or(UdpError::Closed)
    }

    /// Remembers to whom was sent, so that errors about it are believed.
    ///
    /// # Errors
    ///
    /// [`UdpError::Closed`].
    pub fn note_peer(&mut self, id: UdpId, peer: SocketAddr) -> Result<(), UdpError> {
        let binding = self.binding(id)?;
        if !binding.peers.contains(&Some(peer)) {
            if let Some(place) = binding.peers.get_mut(binding.next_peer) {
                *place = Some(peer);
            }
            binding.next_peer = (binding.next_peer + 1) % PEERS_MAX;
        }
        Ok(())
    }

    /// Takes a datagram for the one who bound its port.
    ///
    /// # Errors
    ///
    /// [`Dropped::UdpPort`] or [`Dropped::UdpQueueFull`].
    pub fn deliver(
        &mut self,
        source: SocketAddr,
        destination: SocketAddr,
        payload: &[u8],
    ) -> Result<(), Dropped> {
        let (address, port) = (destination.ip(), destination.port());
        let index = self.find(port, address).ok_or(Dropped::UdpPort)?;
        let limit = self.queue_bytes_max;
        let binding = self.bindings.get_mut(index as usize).ok_or(Dropped::UdpPort)?;
        let cost = payload.len() + DATAGRAM_COST;
        if binding.queued + cost > limit {
            return Err(Dropped::UdpQueueFull);
        }
        binding.queued += cost;
        let payload = payload.to_vec();
        binding.queue.push_back(Datagram { source, destination: address, payload });
        self.tell(index);
        Ok(())
    }

    /// Takes an error about a datagram from `local` to `remote`; whether such was sent.
    pub fn fail(&mut self, local: SocketAddr, remote: SocketAddr, kind: ErrorKind) -> bool {
        let Some(index) = self.find(local.port(), local.ip()) else { return false };
        let Some(binding) = self.bindings.get_mut(index as usize) else { return false };
        if !binding.peers.contains(&Some(remote)) {
            return false;
        }
        if binding.failures.len() >= FAILURES_MAX {
            binding.failures.pop_front();
        }
        binding.failures.push_back(Failure { remote, kind });
        self.tell(index);
        true
    }

    /// Takes the first datagram that waits.
    ///
    /// # Errors
    ///
    /// [`UdpError::Closed`].
    pub fn receive(&mut self, id: UdpId, out: &mut [u8]) -> Result<Option<Received>, UdpError> {
        let binding = self.binding(id)?;
        let Some(datagram) = binding.queue.pop_front() else {
            binding.is_told &= !binding.failures.is_empty();
            return Ok(None);
        };
        let Datagram { source, destination, payload } = datagram;
        binding.queued = binding.queued.saturating_sub(payload.len() + DATAGRAM_COST);
        out.iter_mut().zip(&payload).for_each(|(to, byte)| *to = *byte);
        Ok(Some(Received { source, destination, len: payload.len() }))
    }

    /// Takes the first error that waits.
    ///
    /// # Errors
    ///
    /// [`UdpError::Closed`].
    pub fn take_failure(&mut self, id: UdpId) -> Result<Option<Failure>, UdpError> {
        let binding = self.binding(id)?;
        let failure = binding.failures.pop_front();
        binding.is_told &= failure.is_some() || !binding.queue.is_empty();
        Ok(failure)
    }

    /// A port at which something waits.
    pub fn poll_event(&mut self) -> Option<UdpId> {
        self.events.pop_front()
    }

    fn find(&self, port: u16, address: IpAddr) -> Option<u32> {
        let one = self.ports.get(&(port, Some(address)));
        one.or_else(|| self.ports.get(&(port, None))).copied()
    }

    fn binding(&mut self, id: UdpId) -> Result<&mut Binding, UdpError> {
        let binding = self.bindings.get_mut(id.index as usize).filter(|one| one.is(id));
        binding.ok_or(UdpError::Closed)
    }

    /// Tells the program once.
    fn tell(&mut self, index: u32) {
        let Some(binding) = self.bindings.get_mut(index as usize) else { return };
        if !binding.is_told {
            binding.is_told = true;
            self.events.push_back(UdpId { index, generation: binding.generation });
        }
    }
}

impl Binding {
    const fn is(&self, id: UdpId) -> bool {
        self.is_open && self.generation == id.generation
    }
}

/// RFC 6335, section 6.
const EPHEMERAL_FIRST: u16 = 49_152;
const PEERS_MAX: usize = 8;
const FAILURES_MAX: usize = 8;
/// What a datagram costs besides its bytes.
const DATAGRAM_COST: usize = 128;
