//! Counting sockets instead of listing them.

use std::{
    cmp::Reverse,
    collections::HashMap,
    io::{self, Write},
};

use portolan_hub::printable;
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
    groups: HashMap<String, u64>,
    overflow: u64,
}

#[derive(Serialize)]
struct Group<'a> {
    group: &'a str,
    sockets: u64,
}

impl Counts {
    /// Nothing counted yet.
    pub fn new(by: GroupBy) -> Self {
        Self { by, groups: HashMap::new(), overflow: 0 }
    }

    /// Counts one socket.
    pub fn add(&mut self, listed: &Listed<'_>) {
        let name = name(self.by, listed);
        if let Some(count) = self.groups.get_mut(&name) {
            *count += 1;
        } else if self.groups.len() < GROUPS_MAX {
            self.groups.insert(name, 1);
        } else {
            self.overflow += 1;
        }
    }

    /// Writes the largest groups, the rest as one, and the total.
    pub fn write(&self, top: usize, as_json: bool, out: &mut impl Write) -> io::Result<()> {
        let mut groups: Vec<(&str, u64)> =
            self.groups.iter().map(|(name, &count)| (name.as_str(), count)).collect();
        groups.sort_by_key(|&(name, count)| (Reverse(count), name));
        let shown = if top == 0 { groups.len() } else { top.min(groups.len()) };
        let hidden: u64 = groups[shown..].iter().map(|(_, count)| count).sum();
        groups.truncate(shown);
        if hidden + self.overflow > 0 {
            groups.push((OTHERS, hidden + self.overflow));
        }
        if as_json {
            return groups
                .iter()
                .try_for_each(|&(group, sockets)| json::line(&Group { group, sockets }, out));
        }
        let total: u64 = groups.iter().map(|(_, count)| count).sum();
        for (name, count) in groups.into_iter().chain([("total", total)]) {
            writeln!(out, "{count:>9}  {}", printable(name))?;
        }
        Ok(())
    }
}

fn name(by: GroupBy, listed: &Listed<'_>) -> String {
    let row = listed.row;
    let process = listed.holder.map(|holder| &holder.process);
    let or_none = |name: Option<&String>| name.cloned().unwrap_or_else(|| "(none)".to_owned());
    match by {
        GroupBy::State => format!("{} {}", row.transport, row.state.name()),
        GroupBy::Peer => row.remote.ip().to_canonical().to_string(),
        GroupBy::PeerPort => row.remote.port().to_string(),
        GroupBy::Local => row.local.ip().to_canonical().to_string(),
        GroupBy::LocalPort => row.local.port().to_string(),
        GroupBy::User => row.uid.to_string(),
        GroupBy::Process => or_none(process.map(|process| &process.name)),
        GroupBy::Unit => or_none(process.and_then(|process| process.unit.as_ref())),
        GroupBy::Container => or_none(process.and_then(|process| process.container.as_ref())),
        GroupBy::Namespace => listed.place.namespace.name().to_owned(),
    }
}

#[cfg(test)]
mod tests;
