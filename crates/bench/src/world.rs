//! The worlds of the scenarios, in network namespaces of their own.
//!
//! What a world needs is done by copies of this program ([`Part`]): they hold sockets that do
//! nothing, several because the kernel limits descriptors per process, or accept connections.
//! They end when their standard input does: they cannot outlive whoever started them, however that
//! one ends. Read `world/part.rs` first, then `world/hold.rs`; what checks of ports need is in
//! `world/listen.rs`, `world/stage.rs` and `world/link.rs`.

mod hold;
pub(crate) mod link;
mod listen;
mod part;
mod stage;

use std::fs;

use portolan_sys::netns;

use crate::{Error, Program, scenario};

pub use hold::{CONNECTIONS_MAX, Hold, hold};
pub(crate) use listen::Served;
pub use listen::{Listen, listen};
pub(crate) use part::Part;
pub(crate) use stage::{Scenery, Stage};

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

/// Moves the calling thread into a fresh network namespace whose loopback is up.
pub(crate) fn enter_fresh() -> Result<(), Error> {
    netns::unshare_thread()
        .and_then(|()| netns::loopback_up())
        .map_err(|source| Error::Namespace { source })
}

/// Connections between processes' own ends, in the network namespace of the calling thread.
#[derive(Debug)]
pub struct World {
    holders: Vec<Part>,
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
        enter_fresh()?;
        let mut world = Self { holders: Vec::with_capacity(shares.len()) };
        // All at once, and then one wait for each: they work side by side.
        for share in &shares {
            world.holders.push(Part::start(&own.clone().with(share.to_args()))?);
        }
        for (holder, share) in world.holders.iter_mut().zip(&shares) {
            wait_until_ready(holder, *share)?;
        }
        Ok(world)
    }

    /// How many processes hold the sockets.
    #[must_use]
    pub fn processes(&self) -> usize {
        self.holders.len()
    }
}

fn wait_until_ready(holder: &mut Part, share: Hold) -> Result<(), Error> {
    let failed = |said| Error::Holder { connections: share.connections, said };
    holder.wait_for(&share.ready()).map_err(failed)
}

impl scenario::World for World {}

impl Drop for World {
    fn drop(&mut self) {
        // All are told before the first one is waited for.
        self.holders.iter_mut().for_each(Part::tell_end);
    }
}

#[cfg(test)]
mod tests;
