//! Counting sockets instead of listing them.

use std::{
    borrow::{Borrow, Cow},
    cmp::Reverse,
    collections::HashMap,
    hash::Hash,
    io::{self, Write},
    net::IpAddr,
};

use portolan_flow::Transport;
use portolan_hub::printable;
use portolan_sockets::{Row, State};
use serde::Serialize;

use super::{Listed, args::GroupBy};
use crate::print::json;

/// So many groups are told apart; the rest is counted together, so that memory has a bound
/// whatever peers do.
const GROUPS_MAX: usize = 1_000_000;

/// What all groups beyond [`GROUPS_MAX`], and those beyond `--top`, are called.
const OTHERS: &str = "(others)";

/// Sockets counted by something.
pub struct Counts {
    by: GroupBy,
    groups: Groups,
    overflow: u64,
}

/// How many sockets each group has.
enum Groups {
    /// Groups by what a row has itself: nothing is written out before the end.
    Rows(HashMap<Key, u64>),
    /// Groups by what is known around a socket.
    Names(HashMap<String, u64>),
}

/// What a row can be grouped by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    State(Transport, State),
    Address(IpAddr),
    Port(u16),
    User(u32),
}

#[derive(Serialize)]
struct Group<'a> {
    group: &'a str,
    sockets: u64,
}

impl Counts {
    /// Nothing counted yet.
    pub fn new(by: GroupBy) -> Self {
        let groups = match by {
            GroupBy::Process | GroupBy::Unit | GroupBy::Container | GroupBy::Namespace => {
                Groups::Names(HashMap::new())
            }
            _ => Groups::Rows(HashMap::new()),
        };
        Self { by, groups, overflow: 0 }
    }

    /// Counts one socket.
    pub fn add(&mut self, listed: &Listed<'_>) {
        let counted = match &mut self.groups {
            Groups::Rows(groups) => {
                key(self.by, listed.row).is_some_and(|key| add_to(groups, &key, 1, |key| *key))
            }
            Groups::Names(groups) => add_to(groups, name(self.by, listed), 1, str::to_owned),
        };
        self.overflow += u64::from(!counted);
    }

    /// Adds what was counted by the same elsewhere.
    pub fn merge(&mut self, other: Self) {
        self.overflow += other.overflow;
        match (&mut self.groups, other.groups) {
            (Groups::Rows(sum), Groups::Rows(part)) => {
                for (key, count) in part {
                    let counted = add_to(sum, &key, count, |key| *key);
                    self.overflow += if counted { 0 } else { count };
                }
            }
            (Groups::Names(sum), Groups::Names(part)) => {
                for (name, count) in part {
                    let counted = add_to(sum, name.as_str(), count, str::to_owned);
                    self.overflow += if counted { 0 } else { count };
                }
            }
            (Groups::Rows(_), Groups::Names(_)) | (Groups::Names(_), Groups::Rows(_)) => {
                unreachable!("both are grouped by the same")
            }
        }
    }

    /// The groups by their names.
    fn named(&self) -> Vec<(Cow<'_, str>, u64)> {
        match &self.groups {
            Groups::Rows(groups) => {
                groups.iter().map(|(key, &count)| (key.name().into(), count)).collect()
            }
            Groups::Names(groups) => {
                groups.iter().map(|(name, &count)| (name.as_str().into(), count)).collect()
            }
        }
    }

    /// Writes the largest groups, the rest as one, and the total.
    pub fn write(&self, top: usize, as_json: bool, out: &mut impl Write) -> io::Result<()> {
        let mut groups = self.named();
        groups.sort_unstable_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
        let shown = if top == 0 { groups.len() } else { top.min(groups.len()) };
        let hidden: u64 = groups[shown..].iter().map(|(_, count)| count).sum();
        groups.truncate(shown);
        if hidden + self.overflow > 0 {
            groups.push((OTHERS.into(), hidden + self.overflow));
        }
        if as_json {
            return groups.iter().try_for_each(|(group, sockets)| {
                json::line(&Group { group, sockets: *sockets }, out)
            });
        }
        let total: u64 = groups.iter().map(|(_, count)| count).sum();
        for (name, count) in groups.into_iter().chain([("total".into(), total)]) {
            writeln!(out, "{count:>9}  {}", printable(&name))?;
        }
        Ok(())
    }
}

/// Adds to a group; false where it is new and there are too many.
fn add_to<K: Eq + Hash + Borrow<Q>, Q: Eq + Hash + ?Sized>(
    groups: &mut HashMap<K, u64>,
    group: &Q,
    count: u64,
    own: impl FnOnce(&Q) -> K,
) -> bool {
    if let Some(sum) = groups.get_mut(group) {
        *sum += count;
        return true;
    }
    let has_room = groups.len() < GROUPS_MAX;
    if has_room {
        groups.insert(own(group), count);
    }
    has_room
}

fn key(by: GroupBy, row: &Row) -> Option<Key> {
    Some(match by {
        GroupBy::State => Key::State(row.transport, row.state),
        GroupBy::Peer => Key::Address(row.remote.ip().to_canonical()),
        GroupBy::PeerPort => Key::Port(row.remote.port()),
        GroupBy::Local => Key::Address(row.local.ip().to_canonical()),
        GroupBy::LocalPort => Key::Port(row.local.port()),
        GroupBy::User => Key::User(row.uid),
        GroupBy::Process | GroupBy::Unit | GroupBy::Container | GroupBy::Namespace => return None,
    })
}

impl Key {
    fn name(self) -> String {
        match self {
            Self::State(transport, state) => format!("{transport} {}", state.name()),
            Self::Address(address) => address.to_string(),
            Self::Port(port) => port.to_string(),
            Self::User(uid) => uid.to_string(),
        }
    }
}

fn name<'a>(by: GroupBy, listed: &Listed<'a>) -> &'a str {
    let process = listed.holder.map(|holder| &*holder.process);
    let name = match by {
        GroupBy::Unit => process.and_then(|process| process.unit.as_deref()),
        GroupBy::Container => process.and_then(|process| process.container.as_deref()),
        GroupBy::Namespace => Some(listed.place.namespace.name()),
        _ => process.map(|process| process.name.as_str()),
    };
    name.unwrap_or("(none)")
}

#[cfg(test)]
mod tests;
