//! The other end of the connections.

use std::{
    cell::Cell,
    io::{self, BufRead, Write},
    net::SocketAddr,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use rustix::{
    io::Errno,
    net::{
        self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, accept_with, bind,
        recv, send, socket_with, sockopt,
    },
};

use super::task::word;

/// The kernel takes it down to `net.core.somaxconn`.
const BACKLOG: i32 = 65_535;

/// For how long a byte is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn serve(
    address: SocketAddr,
    is_late: bool,
    asked: &mut dyn BufRead,
    out: &mut dyn Write,
) -> io::Result<()> {
    let listener = listen(&address)?;
    let held = Arc::new(Mutex::new(Vec::new()));
    let accepted = Arc::clone(&held);
    // It ends with the process.
    let (begin, may_begin) = mpsc::channel();
    thread::Builder::new().name("accept".to_owned()).spawn(move || {
        if !is_late || may_begin.recv().is_ok() {
            accept(&listener, &accepted);
        }
    })?;
    writeln!(out, "{}", word::READY)?;
    out.flush()?;
    let (mut seen, mut echoed) = (0, 0);
    for line in asked.lines() {
        if line? == word::ECHO {
            // It fails when the thread has begun already.
            let _ = begin.send(());
            let held = held.lock().unwrap_or_else(PoisonError::into_inner);
            let (patience, new) = (Patience::default(), held.get(seen..).unwrap_or_default());
            echoed += new.iter().filter(|held| echo(held, &patience)).count();
            seen = held.len();
            writeln!(out, "{echoed}")?;
            out.flush()?;
        }
    }
    Ok(())
}

/// Listens, together with the other processes.
fn listen(address: &SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let listener = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseport(&listener, true)?;
    bind(&listener, address)?;
    net::listen(&listener, BACKLOG)?;
    Ok(listener)
}

fn accept(listener: &OwnedFd, held: &Mutex<Vec<OwnedFd>>) {
    loop {
        match accept_with(listener, SocketFlags::CLOEXEC) {
            Ok(connection) => {
                let _ = sockopt::set_socket_linger(&connection, Some(Duration::ZERO));
                held.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            }
            // What comes later waits in the backlog, and is missed at the end.
            Err(Errno::MFILE | Errno::NFILE) => return,
            Err(_) => {}
        }
    }
}

fn echo(held: &OwnedFd, patience: &Patience) -> bool {
    patience.receive(held).is_some_and(|byte| send(held, &[byte], SendFlags::NOSIGNAL) == Ok(1))
}

/// Waits for a byte on each of many connections; once one did not come, no longer.
#[derive(Debug, Default)]
pub(super) struct Patience {
    is_over: Cell<bool>,
}

impl Patience {
    /// The one byte that comes; `None` if none does, or more than one.
    pub(super) fn receive(&self, held: &OwnedFd) -> Option<u8> {
        let mut bytes = [0_u8; 2];
        let flags = if self.is_over.get() { RecvFlags::DONTWAIT } else { RecvFlags::empty() };
        let _ = sockopt::set_socket_timeout(held, sockopt::Timeout::Recv, Some(PATIENCE));
        let received = recv(held, &mut bytes, flags).map(|(_, count)| count);
        self.is_over.set(self.is_over.get() || received.is_err());
        (received == Ok(1)).then_some(bytes[0])
    }
}
