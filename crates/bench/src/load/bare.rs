//! New connections as fast as a few lines of C would make them: what our client is held against.

use std::{
    io,
    net::SocketAddrV4,
    thread,
    time::{Duration, Instant},
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};
use serde::{Deserialize, Serialize};

use crate::Error;

/// A loop of `socket`, `connect` and `close` in each of some threads. The kernel chooses the source
/// ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BareLoop {
    /// Where to.
    pub target: SocketAddrV4,
    /// How many threads; at least one.
    pub threads: usize,
    /// How long.
    pub duration: Duration,
    /// Connections are reset instead of closed in order, so that nothing is left in TIME-WAIT.
    pub resets: bool,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Connected {
    /// Connections that were established.
    pub connected: u64,
    /// Those that were not, for want of a port most of all.
    pub errors: u64,
    /// From the first call to the last.
    pub seconds: f64,
}

impl BareLoop {
    /// As the command line of the hidden `portolan bench bare` takes it.
    #[must_use]
    pub fn to_args(self) -> Vec<String> {
        let (target, threads) = (self.target.to_string(), self.threads.to_string());
        let duration = self.duration.as_millis().to_string();
        let flags = [["--target", &target], ["--threads", &threads], ["--duration-ms", &duration]];
        let resets = self.resets.then_some("--reset");
        flags.as_flattened().iter().copied().chain(resets).map(str::to_owned).collect()
    }
}

/// Connects as `plan` says.
///
/// # Errors
/// When a thread cannot be started. Connections that fail are counted.
pub fn bare_loop(plan: BareLoop) -> Result<Connected, Error> {
    let begun = Instant::now();
    let counts = thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, || repeat(plan, begun));
        let threads: Vec<_> = (0..plan.threads.max(1)).map(start).collect::<io::Result<_>>()?;
        let ended = threads
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Ok(ended.collect::<Vec<_>>())
    });
    let counts = counts.map_err(Error::system("start a thread"))?;
    let sum = |of: fn(&(u64, u64)) -> u64| counts.iter().map(of).sum();
    Ok(Connected {
        connected: sum(|counts| counts.0),
        errors: sum(|counts| counts.1),
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// Connections and errors of a thread.
fn repeat(plan: BareLoop, begun: Instant) -> (u64, u64) {
    let (mut connected, mut errors) = (0, 0);
    while begun.elapsed() < plan.duration {
        match connect(plan) {
            Ok(()) => connected += 1,
            Err(_) => errors += 1,
        }
    }
    (connected, errors)
}

fn connect(plan: BareLoop) -> rustix::io::Result<()> {
    let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, Some(ipproto::TCP))?;
    if plan.resets {
        sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    }
    rustix::net::connect(&socket, &plan.target)
}

#[cfg(test)]
mod tests;
