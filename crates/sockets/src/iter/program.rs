//! The programs of `bpf/iter.bpf.c` and `bpf/files.bpf.c`, and reading what they tell.

use std::{
    fmt,
    io::{self, Read},
    sync::{PoisonError, RwLock, RwLockWriteGuard},
};

use libbpf_rs::{IterOpts, Link, MapCore, MapFlags};
use rustix::time::ClockId;

use crate::{Error, Place, Query, bpf, record};

static SOCKETS: bpf::Lazy = bpf::Lazy::new(include_bytes!("../../bpf/iter.bpf.o"));
static FILES: bpf::Lazy = bpf::Lazy::new(include_bytes!("../../bpf/files.bpf.o"));

/// What the kernel's buffer of an iterator holds where a page is 4 KiB (`BPF_SEQ_FILE` of
/// kernel/bpf/bpf_iter.c): a larger one takes no more.
pub const READ_BYTES: usize = 32 * 1024;

/// After each million of objects that give no byte, the kernel answers `EAGAIN` and goes on from
/// there when it is asked again (`MAX_ITER_OBJECTS` of kernel/bpf/bpf_iter.c). It has no table that
/// is as long as this allows for.
const ATTEMPTS: u32 = 1 << 14;

/// What the map `asked_for` says. A program looks there for every socket, and only while the
/// iterator is read, so that a reader holds this from setting it until the read returns; readers
/// who ask for the same share it.
static ASKED: RwLock<Option<Asked>> = RwLock::new(None);

/// Which table to go through.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// TCP's.
    Tcp,
    /// UDP's.
    Udp,
    /// The descriptors of all processes.
    Files,
}

impl Kind {
    fn object(self) -> &'static bpf::Lazy {
        match self {
            Self::Tcp | Self::Udp => &SOCKETS,
            Self::Files => &FILES,
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::Tcp => "tcp_sockets",
            Self::Udp => "udp_sockets",
            Self::Files => "held_sockets",
        }
    }
}

/// What is to be told of which sockets: `struct asked` of `bpf/iter.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked([u8; 16]);

impl Asked {
    /// What a query asks for, and its filter.
    pub fn new(query: &Query) -> Self {
        // What timers are counted in: the coarse clocks move on with each tick
        // (kernel/time/posix-timers.c).
        let tick = rustix::time::clock_getres(ClockId::MonotonicCoarse);
        let mut bytes = [0; 16];
        bytes[0..4].copy_from_slice(&query.wanted_states().bits().to_ne_bytes());
        bytes[4..8].copy_from_slice(&record::wanted(query).to_ne_bytes());
        bytes[8..16].copy_from_slice(&tick.tv_nsec.to_ne_bytes());
        Self(bytes)
    }

    /// Runs `work` while this is what the programs go by.
    fn during<T>(self, work: impl FnOnce() -> T) -> Result<T, Error> {
        let current = ASKED.read().unwrap_or_else(PoisonError::into_inner);
        if *current == Some(self) {
            return Ok(work());
        }
        drop(current);
        let mut current = ASKED.write().unwrap_or_else(PoisonError::into_inner);
        if *current != Some(self) {
            *current = None;
            let map = bpf::map(SOCKETS.get()?, "asked_for");
            map.update(&0_u32.to_ne_bytes(), &self.0, MapFlags::ANY)
                .map_err(bpf::refused("write to a BPF map"))?;
            *current = Some(self);
        }
        let _current = RwLockWriteGuard::downgrade(current);
        Ok(work())
    }
}

/// One way through a table.
pub struct Reading {
    iterator: libbpf_rs::Iter,
    _link: Link,
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reading")
    }
}

impl Reading {
    /// Begins at the beginning, in the network namespace at `place`, where it stays. Loads the
    /// program first, once in a process.
    ///
    /// # Errors
    /// When BPF is not possible here, or the namespace cannot be entered.
    pub fn begin(kind: Kind, place: &Place) -> Result<Self, Error> {
        let object = kind.object().get()?;
        let link = bpf::program(object, kind.program()).attach_iter_with_opts(IterOpts::None);
        let link = link.map_err(bpf::refused("attach a BPF iterator"))?;
        let iterator = place.run(|| libbpf_rs::Iter::new(&link))?;
        Ok(Self { iterator: iterator.map_err(bpf::refused("start a BPF iterator"))?, _link: link })
    }

    /// Reads the next part of a table of sockets; 0 bytes are the end.
    ///
    /// # Errors
    /// When the kernel cannot go on.
    pub fn read(&mut self, asked: Asked, buffer: &mut [u8]) -> Result<usize, Error> {
        asked.during(|| self.read_files(buffer))?
    }

    /// The same for descriptors, of which all is told.
    ///
    /// # Errors
    /// When the kernel cannot go on.
    pub fn read_files(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        persist(|| self.iterator.read(buffer))
            .map_err(|source| Error::Bpf { what: "read a BPF iterator", source })
    }
}

/// Reads, and once more where that was cut short.
fn persist(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    for _ in 0..ATTEMPTS {
        match read() {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            done => return done,
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "it would not come to an end"))
}

#[cfg(test)]
mod tests;
