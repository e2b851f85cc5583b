//! Asking with the kernel's own sockets: `connect`, `linger`, `quiet`.
//!
//! A handshake over loopback is over when `connect(2)` returns, so it is asked for twice in a row
//! and only what is then still under way becomes known to epoll.

use std::{
    fmt, fs, io, iter,
    net::SocketAddr,
    ops::RangeInclusive,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use portolan_sys::{
    error_queue::{self, Received},
    limits,
};
use rustix::{
    event::{
        Timespec,
        epoll::{self, CreateFlags, Event, EventData, EventFlags},
    },
    io::Errno,
    net::{self, AddressFamily, SocketFlags, SocketType, sockopt},
};

use crate::{Answer, Asked, Evidence, Id, Method, MethodName, Verdict};

use outcome::{CLOSED, OPEN, Outcome};
use under_way::{Key, Socket, UnderWay};

pub(crate) mod outcome;
mod under_way;

/// Checks by `connect(2)`. No privilege is needed.
///
/// Each question has a socket of its own, because the kernel repeats a SYN after a second at the
/// earliest; the first answer to any of a check's questions counts, and ends them all. Memory
/// follows the largest [`Id`] and the most sockets there ever were.
pub struct Connecting {
    name: MethodName,
    epoll: OwnedFd,
    under_way: UnderWay,
    /// How many sockets may be open at once.
    limit: usize,
    /// The ports that the kernel may give to our sockets.
    ephemeral: RangeInclusive<u16>,
}

impl Connecting {
    /// How many questions about one check are asked; after that the kernel alone repeats.
    pub const ATTEMPTS: u8 = 16;

    /// Prepares one of the three methods in the calling thread's network namespace, where it has
    /// to be used as well. How much it can do at once follows the limit of descriptors at this
    /// moment: raise that first ([`limits::raise_descriptors`]).
    ///
    /// # Errors
    /// `InvalidInput` for [`MethodName::Syn`], which is no method of the kernel's sockets; else
    /// when there is no descriptor left.
    pub fn new(name: MethodName) -> io::Result<Self> {
        if name == MethodName::Syn {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "syn is not done with sockets of the kernel: use connect, linger or quiet",
            ));
        }
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        // Where the range cannot be read, any port might be one of ours.
        let (first, last) = limits::ephemeral_ports().unwrap_or((0, u16::MAX));
        Ok(Self {
            name,
            epoll,
            under_way: UnderWay::new(),
            limit: room(limits::descriptors().soft, open_descriptors()),
            ephemeral: first..=last,
        })
    }

    fn open(&self, target: &SocketAddr) -> Result<OwnedFd, Errno> {
        let family = if target.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
        if self.name != MethodName::Connect {
            sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
        }
        if self.name == MethodName::Quiet {
            // The kernel then keeps its acknowledgement for 200 ms (TCP_DELACK_MAX), to send it
            // along with data; the reset comes first (tcp_rcv_synsent_state_process in
            // net/ipv4/tcp_input.c).
            sockopt::set_tcp_quickack(&socket, false)?;
        }
        // A firewall that rejects by ICMP is ECONNREFUSED as well; only the queue can tell. It
        // has to be on before the SYN leaves: on loopback the answer is there when connect returns.
        error_queue::enable(&socket, target.is_ipv6()).map_err(|error| errno_of(&error))?;
        Ok(socket)
    }

    /// Starts a handshake; `None` while it is under way.
    fn start(
        &self,
        socket: &OwnedFd,
        target: &SocketAddr,
        may_meet_itself: bool,
    ) -> Result<Option<Outcome>, Errno> {
        match net::connect(socket, target) {
            Ok(()) => return Ok(Some(connected(socket, may_meet_itself))),
            Err(Errno::INPROGRESS) => {}
            Err(errno) if outcome::is_shortage(errno) => return Err(errno),
            Err(errno) => return Ok(Some(outcome::of_refusal(errno, target))),
        }
        match net::connect(socket, target) {
            Ok(()) | Err(Errno::ISCONN) => Ok(Some(connected(socket, may_meet_itself))),
            Err(Errno::ALREADY) => Ok(None),
            Err(errno) => Ok(Some(failed(socket, errno))),
        }
    }

    /// Lets epoll tell when the handshake is over.
    fn wait_for(&mut self, socket: Socket) -> Result<(), Errno> {
        let key = self.under_way.insert(socket);
        let Some(socket) = self.under_way.get(key) else { return Ok(()) };
        // Edge-triggered: a socket that a forked child still holds stays in epoll after we closed
        // it, and must not make it readable for ever.
        let flags = EventFlags::OUT | EventFlags::ET;
        let added = epoll::add(&self.epoll, &socket.fd, EventData::new_u64(key.0), flags);
        if added.is_err() {
            self.under_way.close(key);
        }
        added
    }

    /// There is nothing left to ask with. A check that was asked before goes on with that: it may
    /// be the very one that has what is missing, and the kernel repeats its SYN.
    fn short(&self, id: Id) -> Asked {
        if self.under_way.has(id) { Asked::Sent } else { Asked::Busy }
    }

    /// A question that could not be asked.
    fn troubled(&self, errno: Errno, id: Id, attempt: u8) -> Asked {
        if outcome::is_shortage(errno) && self.under_way.len() > 0 {
            return self.short(id);
        }
        let (verdict, evidence) = outcome::of_errno(errno);
        Asked::Answered(Answer { verdict, evidence, attempt: Some(attempt) })
    }

    /// What an event says; `None` if nothing is concluded from it.
    fn heard(&mut self, key: Key, flags: EventFlags) -> Option<(Id, Answer)> {
        // The same buffer may hold events of sockets that an answer just closed.
        let socket = self.under_way.get(key)?;
        let (id, attempt) = (socket.id, socket.attempt);
        let is_over = flags.contains(EventFlags::HUP);
        let (verdict, evidence) = if flags.contains(EventFlags::OUT) && !is_over {
            // Not said before the handshake is over (tcp_poll in net/ipv4/tcp.c), and what
            // happened afterwards does not matter.
            connected(&socket.fd, socket.may_meet_itself)
        } else {
            ended(&socket.fd, is_over)?
        };
        self.under_way.close(key);
        // The kernel gave up on one question; the others may still be answered.
        if verdict == Verdict::Filtered && self.under_way.has(id) {
            return None;
        }
        self.under_way.close_all(id);
        Some((id, Answer { verdict, evidence, attempt: Some(attempt) }))
    }
}

impl Method for Connecting {
    fn name(&self) -> MethodName {
        self.name
    }

    fn capacity(&self) -> usize {
        // Each question takes a socket, and who is silent is asked again.
        (self.limit / SOCKETS_PER_CHECK).max(1)
    }

    fn ask(&mut self, id: Id, target: SocketAddr, attempt: u8) -> Asked {
        if attempt >= Self::ATTEMPTS {
            return Asked::Sent;
        }
        if self.under_way.len() >= self.limit {
            return self.short(id);
        }
        // An IPv4-mapped address is IPv4 on the wire, and in ICMP.
        let mut target = target;
        target.set_ip(target.ip().to_canonical());
        let socket = match self.open(&target) {
            Ok(socket) => socket,
            Err(errno) => return self.troubled(errno, id, attempt),
        };
        let may_meet_itself = self.ephemeral.contains(&target.port());
        match self.start(&socket, &target, may_meet_itself) {
            Ok(Some((verdict, evidence))) => {
                self.under_way.close_all(id);
                Asked::Answered(Answer { verdict, evidence, attempt: Some(attempt) })
            }
            Ok(None) => match self.wait_for(Socket { fd: socket, id, attempt, may_meet_itself }) {
                Ok(()) => Asked::Sent,
                Err(errno) => self.troubled(errno, id, attempt),
            },
            Err(errno) => self.troubled(errno, id, attempt),
        }
    }

    fn hear(&mut self, each: &mut dyn FnMut(Id, Answer)) -> io::Result<()> {
        // Not kept in `self`: an event may be a pointer, and what holds one stays on its thread.
        let nothing = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut buffer = [nothing; EVENTS];
        // Bounded: each socket has one edge to tell, rarely two.
        for _ in 0..=self.under_way.len() / EVENTS {
            let events = match epoll::wait(&self.epoll, &mut buffer[..], Some(&AT_ONCE)) {
                Ok(events) => events,
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            };
            for event in &buffer[..events] {
                let Event { flags, data } = *event;
                if let Some((id, answer)) = self.heard(Key(data.u64()), flags) {
                    each(id, answer);
                }
            }
            if events < EVENTS {
                break;
            }
        }
        Ok(())
    }

    fn forget(&mut self, id: Id) {
        self.under_way.close_all(id);
    }

    fn pollable(&mut self) -> io::Result<BorrowedFd<'_>> {
        Ok(self.epoll.as_fd())
    }
}

impl fmt::Debug for Connecting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let under_way = self.under_way.len();
        let mut out = out.debug_struct("Connecting");
        out.field("name", &self.name).field("under_way", &under_way).finish_non_exhaustive()
    }
}

/// The outcome of a handshake that succeeded.
///
/// Where nothing listens on an ephemeral port of this host, the kernel may choose that very port
/// as the source: the SYN meets its own socket, and RFC 9293 section 3.5 makes that a connection
/// (simultaneous open).
fn connected(socket: &OwnedFd, may_meet_itself: bool) -> Outcome {
    if may_meet_itself && is_itself(socket) { CLOSED } else { OPEN }
}

fn is_itself(socket: &OwnedFd) -> bool {
    match (net::getsockname(socket), net::getpeername(socket)) {
        (Ok(own), Ok(Some(peer))) => own == peer,
        // The peer reset it already: there was one.
        _ => false,
    }
}

/// The outcome of a handshake that failed with `errno`.
fn failed(socket: &OwnedFd, errno: Errno) -> Outcome {
    // After the handshake, ICMP cannot have ended it (RFC 1122 section 4.2.3.9).
    if matches!(errno, Errno::CONNRESET | Errno::PIPE) {
        return OPEN;
    }
    let Some(received) = reported(socket) else { return outcome::of_errno(errno) };
    outcome::of_icmp(&received).unwrap_or_else(|| {
        let Received { kind, code, .. } = received;
        (Verdict::Error(errno.raw_os_error()), Evidence::Icmp { kind, code })
    })
}

/// The outcome of a handshake that has not succeeded; `None` if it goes on. While a system call
/// holds the socket, an ICMP error enters the queue but does not end the handshake
/// (`tcp_v4_err` in net/ipv4/tcp_ipv4.c): it is an answer nevertheless.
fn ended(socket: &OwnedFd, is_over: bool) -> Option<Outcome> {
    // First the error: taking the last entry off the queue clears it (sock_dequeue_err_skb).
    let errno = match sockopt::socket_error(socket) {
        Ok(Ok(())) => None,
        Ok(Err(errno)) | Err(errno) => Some(errno),
    };
    if is_over {
        // What connect(2) says of a socket that was closed without an error.
        return Some(failed(socket, errno.unwrap_or(Errno::CONNABORTED)));
    }
    reported(socket).and_then(|received| outcome::of_icmp(&received))
}

/// Empties the error queue: the first ICMP message in it that answers, else the last that does not.
fn reported(socket: &OwnedFd) -> Option<Received> {
    iter::repeat_with(|| error_queue::receive(socket, &mut []).ok().flatten())
        .take(QUEUED)
        .map_while(|received| received)
        .filter(|received| received.origin.is_icmp())
        .reduce(|first, next| if outcome::of_icmp(&first).is_some() { first } else { next })
}

/// How many sockets fit under a limit of descriptors, besides those that are open and what a
/// program needs.
fn room(limit: Option<u64>, open: usize) -> usize {
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    limit.saturating_sub(RESERVE.min(limit / 4)).saturating_sub(open).clamp(1, SOCKETS)
}

fn open_descriptors() -> usize {
    // One of them is the folder itself.
    fs::read_dir("/proc/self/fd").map_or(0, |all| all.count().saturating_sub(1))
}

fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// The most sockets at once: more than the ephemeral ports to one target.
const SOCKETS: usize = 65_536;
/// Descriptors that are left for the rest of the program, where there are enough.
const RESERVE: usize = 64;
/// Sockets that a silent check has by the end, as usually planned.
const SOCKETS_PER_CHECK: usize = 3;

/// How many events are fetched at once.
const EVENTS: usize = 256;
/// How many entries of an error queue are looked at: a handshake has one, or few.
const QUEUED: usize = 8;
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

#[cfg(test)]
mod tests;
