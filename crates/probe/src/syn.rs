//! Asking by segments of one's own: SYN out, SYN+ACK or RST in; the kernel's reset ends it.

mod filter;
mod flights;
#[cfg(fuzzing)]
pub mod fuzzing;
mod hear;
mod neighbours;
mod outgoing;
mod ports;
mod raw;
mod reserve;
mod ring;
mod routes;
mod segment;

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    event::epoll::{self, EventData, EventFlags},
    io::Errno,
    rand::{GetRandomFlags, getrandom},
};

use self::{
    flights::{Flights, Heard},
    raw::RawLink,
    reserve::Reservation,
    ring::RingLink,
    routes::{Hop, Route, Routes},
};
use crate::{Answer, Asked, Id, Method, MethodName, Noise, connecting};

/// How a [`Syn`] is set up.
#[derive(Clone, Copy, Debug)]
pub struct SynSettings {
    /// Source ports to ask from: so many checks of one and the same target can be under way at
    /// once. Rounded up to a power of two, at most 1,024; each takes a descriptor.
    pub ports: u16,
    /// Send to routers and listen straight on the links, past the kernel's IP, where that is
    /// possible: for many targets.
    pub past_ip: bool,
    /// Checks under way at once, at most.
    pub capacity: usize,
}

impl Default for SynSettings {
    fn default() -> Self {
        Self { ports: 64, past_ip: false, capacity: 1 << 16 }
    }
}

/// Checks by raw sockets and, if wanted, packet sockets. Needs `CAP_NET_RAW` to open, and no
/// privilege afterwards.
#[derive(Debug)]
pub struct Syn {
    settings: SynSettings,
    raw: RawLink,
    ring: Option<RingLink>,
    routes: Routes,
    /// Which of the two links a check uses.
    uses_ring: Vec<bool>,
    /// All of its sockets; none until somebody waits, since what is in it costs with each packet.
    poll: Option<OwnedFd>,
    noise: Noise,
}

impl Syn {
    /// Opens what it needs in the network namespace of the calling thread.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`; `EMFILE` without descriptors; `EADDRINUSE` where no block of
    /// source ports is free.
    pub fn open(settings: SynSettings) -> io::Result<Self> {
        let raw = RawLink::open(flights(settings.ports)?)?;
        let ring = match settings.past_ip {
            // Where there are no packet sockets, raw ones do as well.
            true => RingLink::open(flights(settings.ports)?).ok(),
            false => None,
        };
        let routes = Routes::open()?;
        Ok(Self {
            settings,
            raw,
            ring,
            routes,
            uses_ring: Vec::new(),
            poll: None,
            noise: Noise::default(),
        })
    }

    fn epoll(&self) -> io::Result<OwnedFd> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for fd in self.ring.iter().flat_map(RingLink::descriptors) {
            epoll::add(&poll, fd, EventData::new_u64(0), EventFlags::IN)?;
        }
        Ok(poll)
    }

    fn link(&mut self, id: Id, route: &Route, attempt: u8) -> Link<'_> {
        let place = id.0 as usize;
        if self.uses_ring.len() <= place {
            self.uses_ring.resize(place + 1, false);
        }
        if attempt == 0 {
            self.uses_ring[place] = route.hop != Hop::Kernel;
        }
        match (&mut self.ring, self.uses_ring[place], route.hop) {
            (_, _, Hop::Kernel) => Link::Raw(&mut self.raw),
            (Some(ring), true, _) => Link::Ring(ring),
            _ => Link::Raw(&mut self.raw),
        }
    }
}

enum Link<'a> {
    Raw(&'a mut RawLink),
    Ring(&'a mut RingLink),
}

impl Method for Syn {
    fn name(&self) -> MethodName {
        MethodName::Syn
    }

    fn capacity(&self) -> usize {
        self.settings.capacity
    }

    fn ask(&mut self, id: Id, target: SocketAddr, attempt: u8) -> Asked {
        let target = on_the_wire(target);
        let zone = match target {
            SocketAddr::V4(_) => 0,
            SocketAddr::V6(v6) => v6.scope_id(),
        };
        let route = match self.routes.to(target.ip(), zone) {
            Ok(route) => route,
            Err(errno) => return Asked::Answered(refused(errno, target)),
        };
        let is_steady = self.routes.is_steady();
        match self.link(id, &route, attempt) {
            Link::Raw(raw) => raw.ask(id, target, &route, is_steady),
            Link::Ring(ring) => ring.ask(id, target, &route),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.raw.flush();
        if let Some(ring) = &mut self.ring {
            ring.flush();
        }
        Ok(())
    }

    fn take_unsent(&mut self, each: &mut dyn FnMut(Id)) {
        self.raw.take_unsent(each);
        if let Some(ring) = &mut self.ring {
            ring.take_unsent(each);
        }
    }

    fn hear(&mut self, each: &mut dyn FnMut(Id, Answer)) -> io::Result<()> {
        let noise = &mut self.noise;
        let mut take = |heard| match heard {
            Heard::Answer(id, answer) => each(id, answer),
            Heard::Foreign => noise.foreign += 1,
            Heard::Forged => noise.forged += 1,
        };
        self.raw.hear(&mut take)?;
        if let Some(ring) = &mut self.ring {
            ring.hear(&mut take);
            noise.overflowed += u64::from(ring.take_lost());
        }
        Ok(())
    }

    fn forget(&mut self, id: Id) {
        // It is under way on one of them.
        self.raw.forget(id);
        if let Some(ring) = &mut self.ring {
            ring.forget(id);
        }
    }

    fn noise(&self) -> Noise {
        self.noise
    }

    fn pollable(&mut self) -> io::Result<BorrowedFd<'_>> {
        let poll = match self.poll.take() {
            Some(poll) => poll,
            None => self.epoll()?,
        };
        let poll: &OwnedFd = self.poll.insert(poll);
        self.raw
            .watch(&mut |fd| Ok(epoll::add(poll, fd, EventData::new_u64(0), EventFlags::IN)?))?;
        Ok(poll.as_fd())
    }
}

/// A block of ports of its own, and nothing under way yet.
fn flights(ports: u16) -> io::Result<(Reservation, Flights)> {
    let mut random = [0; 18];
    getrandom(&mut random, GetRandomFlags::empty())?;
    let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| random[at + byte]));
    let reservation = Reservation::new(ports, u16::from_ne_bytes([random[16], random[17]]))?;
    let flights = Flights::new((word(0), word(8)), reservation.ports());
    Ok((reservation, flights))
}

/// As connect(2) has it: an IPv4-mapped address is IPv4, and no address is this host.
fn on_the_wire(mut target: SocketAddr) -> SocketAddr {
    let ip = match target.ip().to_canonical() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    target.set_ip(ip);
    target
}

/// What follows from this host's refusal to send.
fn refused(errno: i32, target: SocketAddr) -> Answer {
    let errno = Errno::from_raw_os_error(errno);
    let (verdict, evidence) = connecting::outcome::of_refusal(errno, &target);
    Answer { verdict, evidence, attempt: None }
}

#[cfg(test)]
mod tests;
