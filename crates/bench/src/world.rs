//! The world of the scenarios: sockets that do nothing, in a namespace of their own.
//!
//! The kernel limits descriptors per process, so several processes hold them. They are copies of
//! this program, and they end when their standard input does: they cannot outlive whoever started
//! them, however that one ends.

mod hold;

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, ChildStdin, Stdio},
    thread,
    time::{Duration, Instant},
};

use portolan_sys::netns;

use crate::{Error, Program, scenario};

pub use hold::{CONNECTIONS_MAX, Hold, hold};

/// A process that was told to end is given this long before it is ended.
const PATIENCE: Duration = Duration::from_secs(20);

/// Kernel memory of a held TCP socket, in KiB: `TCP`, `sock_inode_cache`, `filp` and `dentry` in
/// /proc/slabinfo come to 3.8 (Linux 6.18).
const SOCKET_KIB: u64 = 4;

/// What the readers of the world need for each socket at most, in KiB: who holds it.
const READER_KIB: u64 = 1;

/// How many TCP sockets a world of this size has: both ends of its connections, and listeners.
pub(crate) fn sockets(size: u64) -> u64 {
    size.next_multiple_of(2) + listeners(size)
}

/// How many of them listen.
pub(crate) fn listeners(size: u64) -> u64 {
    let shares = Hold::shares(size).map_or(0, |shares| shares.len());
    u64::try_from(shares * hold::SERVER_PORTS.len()).unwrap_or(u64::MAX)
}

/// Why a world of this size cannot be made in the memory that this host has now.
pub(crate) fn left_out(size: u64) -> Option<String> {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    too_little(size, available_kib(&text)?)
}

fn too_little(size: u64, available_kib: u64) -> Option<String> {
    let needed_kib = size.saturating_mul(SOCKET_KIB + READER_KIB);
    (needed_kib > available_kib).then(|| {
        let mib = |kib: u64| kib.div_ceil(1024);
        format!(
            "needs {} MiB of memory, of which {} MiB are available: free some, or measure smaller \
             sizes (--sizes)",
            mib(needed_kib),
            mib(available_kib)
        )
    })
}

/// The line `MemAvailable` of `/proc/meminfo`.
fn available_kib(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Connections between processes' own ends, in the network namespace of the calling thread.
#[derive(Debug)]
pub struct World {
    holders: Vec<Holder>,
}

#[derive(Debug)]
struct Holder {
    child: Child,
    /// Closed to make the process end.
    stdin: Option<ChildStdin>,
}

impl World {
    /// Moves the calling thread into a fresh network namespace and fills that with at least
    /// `sockets` TCP sockets: connections of which both ends are held, and a few listeners.
    ///
    /// `own` is a program that calls [`hold()`] when [`Hold::to_args`] follows its own arguments.
    ///
    /// # Errors
    /// Without the right to make a namespace, or when a process cannot hold its share.
    pub fn of_sockets(own: &Program, sockets: u64) -> Result<Self, Error> {
        let shares = Hold::shares(sockets)?;
        netns::unshare_thread()
            .and_then(|()| netns::loopback_up())
            .map_err(|source| Error::Namespace { source })?;
        let mut world = Self { holders: Vec::with_capacity(shares.len()) };
        // All at once, and then one wait for each: they work side by side.
        for share in &shares {
            world.holders.push(Holder::start(own, *share)?);
        }
        for (holder, share) in world.holders.iter_mut().zip(&shares) {
            holder.wait_until_ready(*share)?;
        }
        Ok(world)
    }

    /// How many processes hold the sockets.
    #[must_use]
    pub fn processes(&self) -> usize {
        self.holders.len()
    }
}

impl scenario::World for World {}

impl Drop for World {
    fn drop(&mut self) {
        for holder in &mut self.holders {
            drop(holder.stdin.take());
        }
        let deadline = Instant::now() + PATIENCE;
        for holder in &mut self.holders {
            holder.end_by(deadline);
        }
    }
}

impl Holder {
    fn start(own: &Program, share: Hold) -> Result<Self, Error> {
        let program = own.clone().with(share.to_args());
        let mut child = program
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Error::system(format!("run {}", program.describe())))?;
        let stdin = child.stdin.take();
        Ok(Self { child, stdin })
    }

    fn wait_until_ready(&mut self, share: Hold) -> Result<(), Error> {
        let failed = |said: String| Error::Holder { connections: share.connections, said };
        let Some(stdout) = self.child.stdout.take() else {
            return Err(failed("it has no standard output".to_owned()));
        };
        let mut last = String::new();
        for line in BufReader::new(stdout).lines() {
            last = line.map_err(|error| failed(error.to_string()))?;
            if last == share.ready() {
                return Ok(());
            }
        }
        Err(failed(if last.is_empty() { "see above".to_owned() } else { last }))
    }

    fn end_by(&mut self, deadline: Instant) {
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        // Nothing more can be done about a process that does not even end like this.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests;
