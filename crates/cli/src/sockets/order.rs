//! `--sort` and `--limit`: which sockets come first.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BinaryHeap, HashSet},
    net::{IpAddr, SocketAddr},
    str::FromStr,
    sync::Arc,
};

use clap::ValueEnum;
use portolan_sockets::Row;

use super::{Listed, columns::Column, text::measured};

/// So many sockets are kept to be sorted or closed: about 350 MB of them.
pub const KEPT_MAX: usize = 2_000_000;

/// What sockets are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The column.
    pub column: Column,
    /// The largest first.
    pub descending: bool,
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (descending, name) = match text.strip_prefix('-') {
            Some(name) => (true, name),
            None => (false, text),
        };
        let column = Column::from_str(name, false).ok().filter(|&column| column != Column::Info);
        column.map(|column| Self { column, descending }).ok_or_else(|| {
            let columns = Column::value_variants().iter().filter(|&&one| one != Column::Info);
            let names: Vec<String> = columns.map(|column| column.name()).collect();
            format!("no column to sort by; there are {}", names.join(", "))
        })
    }
}

/// What a column says of a socket, in a form that compares as people would.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Number(u64),
    /// 4 or 6, the address, the port.
    End(u8, [u64; 2], u16),
    Name(Arc<str>),
}

/// Where a socket stands. Those of which the column says nothing are the last, whatever the order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Ascending(Key),
    Descending(Reverse<Key>),
    Unknown,
}

/// Sockets in an order, and what is kept of each: all of them, or as many as are wanted.
#[derive(Debug)]
pub struct Sorted<T> {
    order: Option<Order>,
    limit: Option<usize>,
    kept: BinaryHeap<Entry<T>>,
    seen: u64,
    /// A name is kept once, however many sockets have it.
    names: HashSet<Arc<str>>,
}

#[derive(Debug)]
struct Entry<T> {
    rank: Rank,
    /// Equal ones stay as they came.
    number: u64,
    kept: T,
}

impl<T> Sorted<T> {
    /// Nothing yet. Without an order, they stay as they come.
    pub fn new(order: Option<Order>, limit: Option<usize>) -> Self {
        Self { order, limit, kept: BinaryHeap::new(), seen: 0, names: HashSet::new() }
    }

    /// Takes a socket, of which `keep` makes what is to be kept, if it is to be kept.
    ///
    /// # Errors
    /// When there are more than [`KEPT_MAX`].
    pub fn add(&mut self, listed: &Listed<'_>, keep: impl FnOnce() -> T) -> anyhow::Result<()> {
        let rank = self.rank(listed);
        let number = self.seen;
        self.seen += 1;
        if self.kept.len() < self.limit.unwrap_or(usize::MAX) {
            anyhow::ensure!(
                self.kept.len() < KEPT_MAX,
                "more than {KEPT_MAX} sockets: too many to keep; narrow the filter, or keep the \
                 first with --limit"
            );
            self.kept.push(Entry { rank, number, kept: keep() });
        } else if let Some(mut last) = self.kept.peek_mut()
            && rank < last.rank
        {
            *last = Entry { rank, number, kept: keep() };
        }
        Ok(())
    }

    /// What was kept, in order.
    pub fn into_vec(self) -> Vec<T> {
        let mut entries = self.kept.into_vec();
        entries.sort_unstable();
        entries.into_iter().map(|entry| entry.kept).collect()
    }

    fn rank(&mut self, listed: &Listed<'_>) -> Rank {
        let Some(Order { column, descending }) = self.order else { return Rank::Unknown };
        match (self.key(column, listed), descending) {
            (None, _) => Rank::Unknown,
            (Some(key), false) => Rank::Ascending(key),
            (Some(key), true) => Rank::Descending(Reverse(key)),
        }
    }

    fn key(&mut self, column: Column, listed: &Listed<'_>) -> Option<Key> {
        let process = listed.holder.map(|holder| &holder.process);
        let name = match column {
            Column::Netid => listed.row.transport.name(),
            Column::Namespace => listed.place.namespace.name(),
            Column::Process => &process?.name,
            Column::Unit => process?.unit.as_deref()?,
            Column::Container => process?.container.as_deref()?,
            Column::Local => return Some(end(listed.row.local)),
            Column::Peer => return Some(end(listed.row.remote)),
            Column::LocalAddress => return Some(end((listed.row.local.ip(), 0).into())),
            Column::PeerAddress => return Some(end((listed.row.remote.ip(), 0).into())),
            Column::Pid => return listed.holder.map(|holder| Key::Number(holder.pid.into())),
            numeric => return number(numeric, listed.row).map(Key::Number),
        };
        if let Some(known) = self.names.get(name) {
            return Some(Key::Name(Arc::clone(known)));
        }
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name));
        Some(Key::Name(name))
    }
}

fn end(end: SocketAddr) -> Key {
    match end.ip().to_canonical() {
        IpAddr::V4(v4) => Key::End(4, [0, u64::from(v4.to_bits())], end.port()),
        IpAddr::V6(v6) => {
            let bits = v6.to_bits();
            Key::End(6, [(bits >> 64) as u64, bits as u64], end.port())
        }
    }
}

fn number(column: Column, row: &Row) -> Option<u64> {
    let measured = measured(row);
    Some(match column {
        Column::State => row.state as u64,
        Column::RecvQ => row.receive_queue.into(),
        Column::SendQ => row.send_queue.into(),
        Column::LocalPort => row.local.port().into(),
        Column::PeerPort => row.remote.port().into(),
        Column::Uid => row.uid.into(),
        Column::Inode => row.inode.into(),
        Column::Cookie => Some(row.cookie).filter(|&cookie| cookie != 0)?,
        Column::Interface => Some(row.interface).filter(|&index| index != 0)?.into(),
        Column::Timer => Some(row.expires_ms).filter(|_| row.timer != 0)?.into(),
        Column::Memory => {
            let memory = row.memory?;
            u64::from(memory.receive_queue_bytes) + u64::from(memory.send_queue_bytes)
        }
        Column::Drops => row.memory?.drops?.into(),
        Column::Rtt => measured?.rtt_us.into(),
        Column::Retrans => measured?.retransmits_total.into(),
        Column::Cwnd => measured?.congestion_window.into(),
        Column::Sent => measured?.bytes_sent?,
        Column::Received => measured?.bytes_received?,
        _ => return None,
    })
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank).then(self.number.cmp(&other.number))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests;
