//! Opening many connections, or binding many sockets, and timing each.

use std::{
    io::{self, BufRead, Write},
    net::SocketAddr,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use portolan_sys::source_port;
use rustix::{
    io::Errno,
    net::{
        AddressFamily, SendFlags, SocketFlags, SocketType, bind, connect, send, socket_with,
        sockopt,
    },
};

use super::{
    Strategy,
    serve::Patience,
    task::{Opened, Opening, word},
};
use crate::{
    socket,
    source_ports::{Choice, End, Host, Lease, PairId, Source, SourcePorts},
};

/// How often it is said how many are open.
const PROGRESS: Duration = Duration::from_millis(200);

pub(super) fn open(
    opening: &Opening,
    asked: &mut dyn BufRead,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut opener = Opener::new(opening);
    let opened = opener.all(out)?;
    writeln!(out, "{}", serde_json::to_string(&opened)?)?;
    out.flush()?;
    for line in asked.lines() {
        let count = match line?.as_str() {
            word::SEND => opener.count(|held| send(held, &[1], SendFlags::NOSIGNAL) == Ok(1)),
            word::RECEIVE => {
                let patience = Patience::default();
                opener.count(|held| patience.receive(held) == Some(1))
            }
            _ => 0,
        };
        writeln!(out, "{count}")?;
        out.flush()?;
    }
    Ok(())
}

struct Opener<'a> {
    opening: &'a Opening,
    ports: SourcePorts,
    pair: PairId,
    /// Leases are never given back: the process ends with its sockets.
    held: Vec<(OwnedFd, Lease)>,
    conflicts: u64,
}

impl<'a> Opener<'a> {
    fn new(opening: &'a Opening) -> Self {
        let host = Host::read();
        let choice = Choice {
            strategy: opening.strategy,
            why: String::new(),
            ports: opening.ports.clone(),
            // Bound first, a connection is what everybody's is not.
            binds_address: false,
        };
        let mut ports = SourcePorts::new(&choice, &host, 0, 1);
        let nowhere = SocketAddr::new(opening.source, 0);
        let pair = ports.pair(opening.source, opening.target.unwrap_or(nowhere), 0);
        let held = Vec::with_capacity(crate::deadlines::position(opening.count));
        Self { opening, ports, pair, held, conflicts: 0 }
    }

    fn all(&mut self, out: &mut dyn Write) -> io::Result<Opened> {
        let count = crate::deadlines::position(self.opening.count);
        let mut opened = Opened { times_ns: Vec::with_capacity(count), ..Opened::default() };
        let mut said_at = Instant::now();
        while self.held.len() < count {
            let began = Instant::now();
            if let Err(why) = self.one() {
                opened.failure = Some(why);
                break;
            }
            let now = Instant::now();
            let took = u32::try_from((now - began).as_nanos()).unwrap_or(u32::MAX);
            opened.times_ns.push(took);
            if now - said_at >= PROGRESS {
                said_at = now;
                writeln!(out, "{} {}", word::PROGRESS, self.held.len())?;
                out.flush()?;
            }
        }
        let local = |(held, _): &(OwnedFd, Lease)| socket::local(held).map_or(0, |it| it.port());
        opened.ports = self.held.iter().map(local).collect();
        opened.conflicts = self.conflicts;
        Ok(opened)
    }

    /// Opens one, whatever ports have to be tried; as many as there are, at most.
    fn one(&mut self) -> Result<(), String> {
        let tries = self.opening.ports.len() + 1;
        for _ in 0..tries {
            let lease = self.ports.take(self.pair).ok_or("no source port is left")?;
            let made = self.socket().map_err(|errno| format!("cannot make a socket: {errno}"))?;
            match self.begin(&made, &lease) {
                Ok(()) => {
                    self.held.push((made, lease));
                    return Ok(());
                }
                Err(errno) if lease.source().is_conflict(errno) => {
                    self.conflicts += 1;
                    self.ports.give_back(lease, End::Conflict);
                }
                Err(errno) => return Err(format!("cannot connect or bind: {errno}")),
            }
        }
        Err("every source port was tried".to_owned())
    }

    /// One that blocks, and that leaves nothing behind when it is closed.
    fn socket(&self) -> Result<OwnedFd, Errno> {
        let family =
            if self.opening.source.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
        let made = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_linger(&made, Some(Duration::ZERO))?;
        Ok(made)
    }

    fn begin(&self, made: &OwnedFd, lease: &Lease) -> Result<(), Errno> {
        if let Some(target) = self.opening.target {
            lease.source().bind(made)?;
            return connect(made, &target);
        }
        let any = SocketAddr::new(self.opening.source, 0);
        match lease.source() {
            Source::Kernel(_) => bind(made, &any),
            // No SO_REUSEADDR: whoever binds to a port to listen there wants it for himself.
            Source::Port(source) => bind(made, source),
            Source::Within(_, ports) => {
                let set = source_port::set_local_range(made, ports);
                set.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::INVAL))?;
                bind(made, &any)
            }
        }
    }

    /// Over how many connections one byte went.
    fn count(&self, has_gone: impl Fn(&OwnedFd) -> bool) -> usize {
        self.held.iter().filter(|(held, _)| has_gone(held)).count()
    }
}

/// Whether the strategy can be measured here.
pub(super) fn is_possible(strategy: Strategy, has_range: bool) -> Result<(), String> {
    if strategy == Strategy::Range && !has_range {
        return Err("this kernel lacks IP_LOCAL_PORT_RANGE (Linux 6.3)".to_owned());
    }
    Ok(())
}
