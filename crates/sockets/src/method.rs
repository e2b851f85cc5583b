//! The ways to list sockets, behind one interface.

mod choice;
mod slices;

use std::{fmt, num::NonZero, sync::Arc};

use portolan_flow::Transport;

use crate::{
    Error, Filter, Place, Row, States, diag::Diag, iter::Iter, procfs::Procfs, walk::Walk,
};
pub use choice::{Choice, PassedOver, Wish, choose};
pub use slices::{read_in_slices, worthwhile_slices};

/// What rows carry beside addresses, state and queues. A method may give more than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Details {
    /// How much waits in the queues.
    pub queues: bool,
    /// User and inode number.
    pub holder: bool,
    /// The kernel's unique number of the socket.
    pub cookie: bool,
    /// The timer that runs.
    pub timer: bool,
    /// [`crate::TcpInfo`]; makes a reply of sock_diag three times as long.
    pub tcp_info: bool,
    /// How much memory its queues take.
    pub memory: bool,
}

impl Details {
    /// Nothing but addresses and state.
    pub const NONE: Self = Self {
        queues: false,
        holder: false,
        cookie: false,
        timer: false,
        tcp_info: false,
        memory: false,
    };

    /// Whether all that `other` has is in these too.
    #[must_use]
    pub fn cover(self, other: Self) -> bool {
        let all = |details: Self| {
            let Self { queues, holder, cookie, timer, tcp_info, memory } = details;
            [queues, holder, cookie, timer, tcp_info, memory]
        };
        all(self).iter().zip(all(other)).all(|(&has, asked)| has || !asked)
    }
}

/// What a listing shows where nothing else is asked for: the queues.
impl Default for Details {
    fn default() -> Self {
        Self { queues: true, ..Self::NONE }
    }
}

/// A part of a listing. The slices of a whole are disjoint, about equal, and together the whole, so
/// that several threads can share the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    pub(crate) index: u32,
    pub(crate) of: u32,
}

impl Slice {
    /// All of it.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// Whether it is the one that a method has to deliver all in that knows no slices.
    #[must_use]
    pub fn is_first(self) -> bool {
        self.index == 0
    }

    /// The whole in so many slices.
    pub fn all(of: NonZero<u32>) -> impl Iterator<Item = Self> {
        (0..of.get()).map(move |index| Self { index, of: of.get() })
    }
}

/// What to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The transport protocol.
    pub transport: Transport,
    /// The states wanted.
    pub states: States,
    /// What rows carry beside addresses, state and queues.
    pub details: Details,
    /// Which of these sockets are wanted; all where there is no filter.
    pub filter: Option<Arc<Filter>>,
    /// Which part of all that.
    pub slice: Slice,
}

impl Query {
    /// All sockets of a transport, without details and filter.
    #[must_use]
    pub fn all(transport: Transport) -> Self {
        Self {
            transport,
            states: States::ALL,
            details: Details::default(),
            filter: None,
            slice: Slice::WHOLE,
        }
    }

    /// The states of the query that the filter wants too.
    pub(crate) fn wanted_states(&self) -> States {
        match &self.filter {
            None => self.states,
            Some(filter) => self.states.intersection(filter.states()),
        }
    }
}

/// How complete a listing was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Rows delivered.
    pub rows: u64,
    /// Lines or messages that could not be understood and were left out.
    pub skipped: u64,
    /// The table changed while it was read, so that a row may be missing or doubled.
    pub torn: bool,
}

impl Coverage {
    /// Adds another part of the same listing.
    pub fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.skipped += other.skipped;
        self.torn |= other.torn;
    }
}

/// A way to list the sockets of one network namespace, IPv4 and IPv6.
pub trait Method: Send {
    /// Which one it is.
    fn name(&self) -> MethodName;

    /// Hands every socket that `query` asks for to `each`, in constant memory.
    ///
    /// # Errors
    /// When the table cannot be read; rows delivered until then are valid.
    fn read(&mut self, query: &Query, each: &mut dyn FnMut(&Row)) -> Result<Coverage, Error>;
}

/// The name of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MethodName {
    /// A BPF program that follows the chains of TCP's hash table.
    Walk,
    /// Netlink sock_diag.
    Diag,
    /// BPF iterators.
    Iter,
    /// The files under `/proc/net`.
    Procfs,
}

impl MethodName {
    /// All methods, the fastest first.
    pub const ALL: [Self; 4] = [Self::Walk, Self::Diag, Self::Iter, Self::Procfs];

    /// As `--method` takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Walk => "walk",
            Self::Diag => "diag",
            Self::Iter => "iter",
            Self::Procfs => "procfs",
        }
    }

    /// For people.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Walk => "BPF walk over TCP's hash table",
            Self::Diag => "netlink sock_diag",
            Self::Iter => "BPF iterator",
            Self::Procfs => "/proc/net",
        }
    }

    /// What it can tell beside addresses and state.
    #[must_use]
    pub fn details(self) -> Details {
        match self {
            Self::Walk => Details { queues: true, holder: true, ..Details::NONE },
            Self::Diag => Details {
                queues: true,
                holder: true,
                cookie: true,
                timer: true,
                tcp_info: true,
                memory: true,
            },
            Self::Iter => {
                Details { queues: true, holder: true, cookie: true, timer: true, ..Details::NONE }
            }
            Self::Procfs => Details { queues: true, holder: true, timer: true, ..Details::NONE },
        }
    }
}

impl fmt::Display for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Opens a method for the namespace at `place`.
///
/// # Errors
/// When the namespace cannot be entered or the kernel refuses.
pub fn open(method: MethodName, place: &Place) -> Result<Box<dyn Method>, Error> {
    Ok(match method {
        MethodName::Walk => Box::new(Walk::open(place)?),
        MethodName::Diag => Box::new(Diag::open(place)?),
        MethodName::Iter => Box::new(Iter::open(place)?),
        MethodName::Procfs => Box::new(Procfs::open(place)?),
    })
}

#[cfg(test)]
mod tests;
