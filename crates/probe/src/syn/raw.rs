//! By way of the kernel's IP: raw sockets. They follow every route, neighbour, translation of
//! addresses and rule of the host, and work on loopback.

use std::{
    io,
    net::SocketAddr,
    os::fd::{AsFd, BorrowedFd},
};

use portolan_sys::{
    address::Destination,
    datagrams::{BATCH, Inbox, Received},
    raw::{Family, RawIp, Upper},
};

use super::{
    filter,
    flights::{Flights, Heard},
    hear,
    outgoing::{Outgoing, drain_errors},
    reserve::Reservation,
    routes::Route,
};
use crate::{Asked, Id};

/// What the kernel may queue of answers, in bytes: some 10,000.
const RECEIVE_BYTES: usize = 8 << 20;
/// What the kernel may queue of ICMP messages.
const ERROR_BYTES: usize = 1 << 20;
/// So many errors in a row, of so many tries, are not about what was sent.
const ERRORS_MAX: usize = BATCH / 2;
/// Longer than any answer to a SYN.
const PACKET_BYTES: usize = 512;

/// Raw sockets of both families.
#[derive(Debug)]
pub struct RawLink {
    flights: Flights,
    _ports: Reservation,
    v4: Pair,
    /// `None` where the host has no IPv6.
    v6: Option<Pair>,
    inbox: Inbox<PACKET_BYTES>,
}

/// The sockets of one family.
#[derive(Debug)]
struct Pair {
    segments: RawIp,
    errors: RawIp,
    /// First questions over IPv4: the kernel adds the header, which is cheaper by some percent
    /// (with a header of one's own, it makes a route for each packet).
    bare: Outgoing,
    /// All others, with the IP header: should the kernel choose another source address than it
    /// told, of which the checksum of the first question knows nothing, these are right.
    whole: Outgoing,
    /// What the socket is set to.
    sends_whole: bool,
    /// It was asked over this family.
    is_used: bool,
    /// It is waited for.
    is_watched: bool,
}

impl Pair {
    fn open(family: Family, flights: &Flights) -> io::Result<Self> {
        let ports = flights.ports();
        let (segments, errors) = match family {
            Family::V4 => (filter::raw_v4(ports), filter::icmp_v4()),
            Family::V6 => (filter::raw_v6(ports), filter::icmp_v6()),
        };
        Ok(Self {
            segments: RawIp::open(family, Upper::Tcp, &segments, RECEIVE_BYTES)?,
            errors: RawIp::open(family, Upper::Icmp, &errors, ERROR_BYTES)?,
            bare: Outgoing::new(family, true)?,
            whole: Outgoing::new(family, false)?,
            sends_whole: false,
            is_used: false,
            is_watched: false,
        })
    }

    fn outgoing(&mut self) -> [&mut Outgoing; 2] {
        [&mut self.bare, &mut self.whole]
    }

    fn flush(&mut self) {
        for whole in [false, true] {
            let outgoing = if whole { &mut self.whole } else { &mut self.bare };
            if outgoing.is_empty() {
                continue;
            }
            if self.sends_whole != whole && self.segments.include_header(whole).is_ok() {
                self.sends_whole = whole;
            }
            outgoing.flush(&self.segments);
        }
    }
}

impl RawLink {
    /// Opens the sockets.
    pub fn open((ports, flights): (Reservation, Flights)) -> io::Result<Self> {
        let v4 = Pair::open(Family::V4, &flights)?;
        let v6 = match Pair::open(Family::V6, &flights) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
            opened => opened.ok(),
        };
        Ok(Self { flights, _ports: ports, v4, v6, inbox: Inbox::default() })
    }

    /// Hands over what is to be waited for and was not handed over before: sockets of a family that
    /// was asked. Nobody takes from the others what ICMP tells the host about other things.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn watch(
        &mut self,
        each: &mut dyn FnMut(BorrowedFd<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        for pair in std::iter::once(&mut self.v4).chain(&mut self.v6) {
            if pair.is_used && !pair.is_watched {
                each(pair.segments.as_fd())?;
                each(pair.errors.as_fd())?;
                pair.is_watched = true;
            }
        }
        Ok(())
    }

    /// See [`Method::ask`](crate::Method::ask); `is_steady` if the kernel is sure to send from the
    /// address that the route has.
    pub fn ask(&mut self, id: Id, target: SocketAddr, route: &Route, is_steady: bool) -> Asked {
        let pair = match (target, &mut self.v6) {
            (SocketAddr::V4(_), _) => &mut self.v4,
            (SocketAddr::V6(_), Some(v6)) => v6,
            (SocketAddr::V6(_), None) => {
                let errno = rustix::io::Errno::AFNOSUPPORT.raw_os_error();
                return Asked::Answered(super::refused(errno, target));
            }
        };
        if pair.outgoing().iter().any(|outgoing| outgoing.is_full()) {
            pair.flush();
            if pair.outgoing().iter().any(|outgoing| outgoing.is_full()) {
                return Asked::Busy;
            }
        }
        let Some((flight, attempt)) = self.flights.launch(id, target, route.source) else {
            return Asked::Busy;
        };
        pair.is_used = true;
        let mut to = target;
        // A raw socket takes the port for a protocol (net/ipv6/raw.c).
        to.set_port(0);
        let is_bare = attempt == 0 && is_steady && target.is_ipv4();
        let outgoing = if is_bare { &mut pair.bare } else { &mut pair.whole };
        outgoing.push(id, &flight, attempt, &Destination::Ip(to));
        Asked::Sent
    }

    /// See [`Method::flush`](crate::Method::flush).
    pub fn flush(&mut self) {
        std::iter::once(&mut self.v4).chain(&mut self.v6).for_each(Pair::flush);
    }

    /// See [`Method::take_unsent`](crate::Method::take_unsent).
    pub fn take_unsent(&mut self, each: &mut dyn FnMut(Id)) {
        let Self { flights, v4, v6, .. } = self;
        for outgoing in std::iter::once(v4).chain(v6).flat_map(Pair::outgoing) {
            outgoing.take_unsent(&mut |id| {
                flights.take_back(id);
                each(id);
            });
        }
    }

    /// See [`Method::hear`](crate::Method::hear).
    pub fn hear(&mut self, each: &mut dyn FnMut(Heard)) -> io::Result<()> {
        let Self { flights, v4, v6, inbox, .. } = self;
        if v4.is_used {
            v4.outgoing().into_iter().for_each(|outgoing| outgoing.hear(each));
            let packet = |it: Received<'_>| hear::hear_v4(flights, it.bytes, it.is_cut);
            // Errors are rare; where answers came, they can wait for the next time.
            if !drain(&v4.segments, inbox, flights.count(), false, packet, each)? {
                drain(&v4.errors, inbox, BATCH, false, packet, each)?;
            }
        }
        if let Some(v6) = v6.as_mut().filter(|v6| v6.is_used) {
            v6.outgoing().into_iter().for_each(|outgoing| outgoing.hear(each));
            let segment = |it: Received<'_>| match it.source {
                Some(source) => flights.hear_segment(source.ip(), it.bytes, it.is_cut),
                None => Heard::Foreign,
            };
            if !drain(&v6.segments, inbox, flights.count(), true, segment, each)? {
                let error = |it: Received<'_>| hear::hear_icmp_v6(flights, it.bytes);
                drain(&v6.errors, inbox, BATCH, false, error, each)?;
            }
        }
        Ok(())
    }

    /// See [`Method::forget`](crate::Method::forget).
    pub fn forget(&mut self, id: Id) {
        self.flights.land(id);
        for pair in std::iter::once(&mut self.v4).chain(&mut self.v6) {
            pair.outgoing().into_iter().for_each(|outgoing| outgoing.forget(id));
        }
    }
}

/// Takes what a socket has, a bounded number of times, where so many answers are `expected`;
/// whether there was anything.
fn drain(
    socket: &RawIp,
    inbox: &mut Inbox<PACKET_BYTES>,
    expected: usize,
    needs_source: bool,
    understand: impl Fn(Received<'_>) -> Heard,
    each: &mut dyn FnMut(Heard),
) -> io::Result<bool> {
    let (mut some, mut errors) = (false, 0);
    for _ in 0..BATCH {
        let received = match expected {
            ..=1 => inbox.receive_one(socket, needs_source).map(|packet| {
                each(understand(packet));
                1
            }),
            _ => inbox.receive(socket, |packet| each(understand(packet))),
        };
        match received {
            Ok(count) => {
                some = true;
                if count < BATCH {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // It is about something that was sent, mostly; the same again and again is not.
            Err(error) => {
                drain_errors(socket);
                errors += 1;
                if errors == ERRORS_MAX {
                    return Err(error);
                }
            }
        }
    }
    Ok(some)
}
