//! The server of the worlds in which ports are checked.

use std::{
    io::{self, BufRead, Read, Write},
    net::{Ipv4Addr, SocketAddrV4, TcpListener, UdpSocket},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    net::{AddressFamily, Shutdown, SocketFlags, SocketType, ipproto, sockopt, sockopt::Timeout},
};
use serde::{Deserialize, Serialize};

use crate::{Error, read::cpu_time};

/// What is said when connections can come.
const READY: &str = "ready";

/// The kernel takes it down to `net.core.somaxconn`.
const BACKLOG: i32 = 65_535;

/// Who neither sends nor closes is waited for this long.
const CLIENT_TIME_MAX: Duration = Duration::from_millis(100);

/// Between two datagrams of [`Listen::ticks`].
const TICK: Duration = Duration::from_millis(100);

/// Connections that are on their way are waited for this long at most.
const SETTLING_MAX: Duration = Duration::from_secs(1);

/// As long twice without a connection, and none is on its way.
const QUIET: Duration = Duration::from_millis(2);

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// The address; 0.0.0.0 for all of the namespace.
    pub address: SocketAddrV4,
    /// Where to send a datagram ten times a second, which nobody answers if they are broadcast
    /// addresses. Programs that read from the network may notice that their time is over only when
    /// something arrives, and on a real network something always does.
    pub ticks: Vec<SocketAddrV4>,
}

/// What the server has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// Connections that were accepted, and closed when their clients closed them.
    pub accepted: u64,
    /// CPU time of the process, microseconds.
    pub cpu_us: u64,
}

impl Listen {
    /// As the command line of the hidden `portolan bench listen` takes it.
    #[must_use]
    pub fn to_args(&self) -> Vec<String> {
        let address = ["--address".to_owned(), self.address.to_string()];
        let ticks = self.ticks.iter().flat_map(|tick| ["--tick".to_owned(), tick.to_string()]);
        address.into_iter().chain(ticks).collect()
    }

    /// What is said when connections can come.
    pub(super) fn ready() -> &'static str {
        READY
    }
}

/// Accepts connections at `plan.address`, one at a time, and closes them after their clients.
/// Writes `ready`; then, for each line that
/// `asked` has, and once more at its end, which ends this: what was done so far, as JSON.
///
/// # Errors
/// When it cannot listen there.
pub fn listen(plan: &Listen, out: &mut dyn Write, asked: &mut dyn BufRead) -> Result<(), Error> {
    let what = || format!("listen at {}", plan.address);
    let listener = listener(plan.address).map_err(Error::system(what()))?;
    let socket = (!plan.ticks.is_empty()).then(ticker).transpose();
    let socket = socket.map_err(Error::system("send datagrams"))?;
    let counts = Counts::default();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| accept_all(&listener, &counts, &is_over));
        if let Some(socket) = &socket {
            scope.spawn(|| tick(socket, &plan.ticks, &is_over));
        }
        let settled = || settled(&listener, &counts);
        let done = answer(settled, out, asked).map_err(Error::system("tell what was accepted"));
        is_over.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection: accept fails from now on.
        let _ = rustix::net::shutdown(&listener, Shutdown::Both);
        done
    })
}

fn listener(address: SocketAddrV4) -> io::Result<TcpListener> {
    let tcp = Some(ipproto::TCP);
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, tcp)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    // What is accepted inherits it.
    sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(CLIENT_TIME_MAX))?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(TcpListener::from(socket))
}

/// How many connections there were.
#[derive(Debug, Default)]
struct Counts {
    accepted: AtomicU64,
    closed: AtomicU64,
}

fn accept_all(listener: &TcpListener, counts: &Counts, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((mut connection, _)) => {
                counts.accepted.fetch_add(1, Ordering::SeqCst);
                // As any server, which waits for a request: it closes after the client, never
                // before. That decides how many packets there are.
                let _ = connection.read(&mut [0; 64]);
                drop(connection);
                counts.closed.fetch_add(1, Ordering::SeqCst);
            }
            // Nobody came for a while, or a connection that is no more.
            Err(_) => thread::yield_now(),
        }
    }
}

fn ticker() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.set_broadcast(true)?;
    Ok(socket)
}

fn tick(socket: &UdpSocket, ticks: &[SocketAddrV4], is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        for to in ticks {
            // There may be no way yet; nobody needs the single one.
            let _ = socket.send_to(&[0], to);
        }
        thread::sleep(TICK);
    }
}

fn answer(
    settled: impl Fn() -> u64,
    out: &mut dyn Write,
    asked: &mut dyn BufRead,
) -> io::Result<()> {
    writeln!(out, "{READY}")?;
    out.flush()?;
    let mut line = String::new();
    loop {
        line.clear();
        let is_last = asked.read_line(&mut line)? == 0;
        let accepted = settled();
        let cpu_us = u64::try_from(cpu_time().as_micros()).unwrap_or(u64::MAX);
        writeln!(out, "{}", serde_json::to_string(&Served { accepted, cpu_us })?)?;
        out.flush()?;
        if is_last {
            return Ok(());
        }
    }
}

/// How many were accepted, once nobody waits for that, none is open, and it stays so.
fn settled(listener: &TcpListener, counts: &Counts) -> u64 {
    let deadline = Instant::now() + SETTLING_MAX;
    let accepted = || counts.accepted.load(Ordering::SeqCst);
    let mut last = None;
    loop {
        let is_calm = !is_awaited(listener) && counts.closed.load(Ordering::SeqCst) == accepted();
        // One that is neither waiting nor counted, for it is just being accepted, is seen the
        // second time.
        let now = is_calm.then(accepted);
        if (now.is_some() && now == last) || Instant::now() >= deadline {
            return accepted();
        }
        last = now;
        thread::sleep(QUIET);
    }
}

/// Whether a connection waits to be accepted.
fn is_awaited(listener: &TcpListener) -> bool {
    let mut listeners = [PollFd::new(listener, PollFlags::IN)];
    rustix::event::poll(&mut listeners, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
        .is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests;
