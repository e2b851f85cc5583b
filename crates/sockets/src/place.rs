//! Where sockets live: the network namespaces of this host.

use std::{fmt, fs, io, os::unix::fs::MetadataExt, path::PathBuf};

use portolan_flow::{Namespace, NetnsId};
use portolan_sys::netns::{self, Netns};
use rustix::net::{AddressFamily, SocketType, netdevice};

use crate::Error;

/// A network namespace to list.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its identity while it lives; 0 where `/proc` does not tell.
    pub netns: NetnsId,
    /// Its name in records.
    pub namespace: Namespace,
    /// How to get there; `None` for the namespace that the process is in already.
    entrance: Option<Netns>,
}

impl Place {
    /// The namespace of the calling thread.
    #[must_use]
    pub fn here() -> Self {
        Self {
            netns: netns::current().unwrap_or(0),
            namespace: Namespace::new(Namespace::HOST),
            entrance: None,
        }
    }

    fn elsewhere(found: Netns) -> Self {
        let namespace = Namespace::of(found.inode, found.name.as_deref());
        Self { netns: found.inode, namespace, entrance: Some(found) }
    }

    /// The name of one of its interfaces; `None` where it has none of this index any more, or
    /// cannot be entered.
    #[must_use]
    pub fn interface_name(&self, index: u32) -> Option<String> {
        let ask = || {
            // Any socket will do to ask with.
            let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).ok()?;
            netdevice::index_to_name(socket, index).ok()
        };
        self.run(ask).ok().flatten()
    }

    /// Runs `work` inside the namespace.
    ///
    /// # Errors
    /// When it cannot be entered: no CAP_SYS_ADMIN, or it is gone.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        match &self.entrance {
            None => Ok(work()),
            Some(found) => way_into(found)
                .and_then(|path| netns::run_in(&path, work))
                .map_err(Error::system("enter the network namespace", self.to_string())),
        }
    }
}

/// The process that a namespace was found by may have ended, and its id may be another's now, while
/// the namespace lives on by others.
fn way_into(found: &Netns) -> io::Result<PathBuf> {
    if fs::metadata(&found.path).is_ok_and(|meta| meta.ino() == found.inode) {
        return Ok(found.path.clone());
    }
    let now = netns::list()?.namespaces.into_iter().find(|now| now.inode == found.inode);
    now.map(|now| now.path).ok_or_else(|| io::ErrorKind::NotFound.into())
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.entrance {
            None => write!(f, "namespace {}", self.namespace.name()),
            Some(found) => {
                write!(f, "namespace {} at {}", self.namespace.name(), found.path.display())
            }
        }
    }
}

/// The namespaces of this host, the own one first.
#[derive(Clone, Debug)]
pub struct Places {
    /// The namespaces.
    pub places: Vec<Place>,
    /// How many processes may live in others that cannot be seen.
    pub hidden_processes: usize,
}

/// Finds all network namespaces that can be seen from here.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn places() -> Result<Places, Error> {
    let here = Place::here();
    let listing = netns::list().map_err(Error::system("list network namespaces", "/proc"))?;
    let elsewhere = listing
        .namespaces
        .into_iter()
        .filter(|found| found.inode != here.netns)
        .map(Place::elsewhere);
    let places = std::iter::once(here.clone()).chain(elsewhere).collect();
    Ok(Places { places, hidden_processes: listing.hidden_processes })
}
