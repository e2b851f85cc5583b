//! Columns that stay empty: which, why, and what to do.

use portolan_flow::Transport;
use portolan_sockets::{Details, Hidden, MethodName, Row, State, hidden_processes};

use super::{columns::Column, config::Config};

/// What is known before the listing to stay empty, in one sentence; `None` where all can be told.
pub fn known_before(config: &Config, method: MethodName, hidden: usize) -> Option<String> {
    let mut parts = Vec::new();
    let untold = names(&config.asked, |column| !tells(method, column));
    if !untold.is_empty() {
        let advice = match config.method {
            Some(_) => "use --method diag, which does",
            None => "portolan doctor says why nothing better is used",
        };
        parts.push(format!("{untold}, which {} does not tell ({advice})", method.describe()));
    }
    let owners = names(&config.asked, Column::needs_owners);
    if hidden > 0 && config.needs_owners {
        // Nothing that was asked for is about owners where sockets are counted by them.
        let owners = if owners.is_empty() { "owners".to_owned() } else { owners };
        parts.push(format!(
            "{owners} of some sockets, because {} ({})",
            hidden_processes(hidden),
            Hidden::Sockets.advice()
        ));
    }
    (!parts.is_empty()).then(|| format!("some columns are empty: {}", parts.join("; ")))
}

/// Whether a method can tell what a column shows.
fn tells(method: MethodName, column: Column) -> bool {
    let mut needed = Details::NONE;
    column.ask(&mut needed);
    let knows_interfaces = method != MethodName::Procfs;
    method.details().cover(needed) && (column != Column::Interface || knows_interfaces)
}

fn names(columns: &[Column], wanted: impl Fn(Column) -> bool) -> String {
    let mut names = Vec::new();
    for name in columns.iter().filter(|&&column| wanted(column)).map(|column| column.name()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// What the kernel told of the sockets that were listed: an old one does not know everything that
/// the method could carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Sockets that have memory, and those of them of which it was told.
    memory: (u64, u64),
    /// The same of measurements.
    tcp_info: (u64, u64),
    /// Sockets that a process may hold and was looked for, and those of them where it was found.
    holders: (u64, u64),
}

impl Told {
    /// Looks at a socket.
    pub fn see(&mut self, row: &Row) {
        // The kernel keeps only the addresses of these.
        if matches!(row.state, State::TimeWait | State::SynReceived | State::NewSynReceived) {
            return;
        }
        self.memory.0 += 1;
        self.memory.1 += u64::from(row.memory.is_some());
        if row.transport == Transport::Tcp {
            self.tcp_info.0 += 1;
            self.tcp_info.1 += u64::from(row.tcp.is_some());
        }
    }

    /// Looks at whether the holder of a socket was found.
    pub fn see_holder(&mut self, row: &Row, found: bool) {
        if row.inode != 0 {
            self.holders.0 += 1;
            self.holders.1 += u64::from(found);
        }
    }

    /// Adds what another part of the listing told.
    pub fn add(&mut self, other: Self) {
        let add = |sum: &mut (u64, u64), part: (u64, u64)| {
            *sum = (sum.0 + part.0, sum.1 + part.1);
        };
        add(&mut self.memory, other.memory);
        add(&mut self.tcp_info, other.tcp_info);
        add(&mut self.holders, other.holders);
    }

    /// That holders were not found though no process refused: those that `/proc` leaves out
    /// (proc(5), hidepid) cannot be counted. The kernel holds some sockets itself, so that to root
    /// it is said only where not one was found.
    pub fn unheld(&self, root: bool) -> Option<String> {
        let (sockets, found) = self.holders;
        let unheld = sockets - found;
        (unheld > 0 && (!root || found == 0)).then(|| {
            let sockets = if unheld == 1 { "socket" } else { "sockets" };
            format!(
                "no holder of {unheld} {sockets} was found: the kernel holds some itself, and \
                 /proc may not show all processes ({})",
                Hidden::Sockets.advice()
            )
        })
    }

    /// What stayed empty though the method could have told, in one sentence.
    pub fn unexpected(&self, config: &Config, method: MethodName) -> Option<String> {
        let mut asked = Details::NONE;
        config.asked.iter().for_each(|column| column.ask(&mut asked));
        let silent = |(sockets, told): (u64, u64)| sockets > 0 && told == 0;
        let can = method.details();
        let no_memory = asked.memory && can.memory && silent(self.memory);
        let no_info = asked.tcp_info && can.tcp_info && silent(self.tcp_info);
        let untold = names(&config.asked, |column| {
            let mut needed = Details::NONE;
            column.ask(&mut needed);
            needed.memory && no_memory || needed.tcp_info && no_info
        });
        (!untold.is_empty()).then(|| {
            format!("some columns are empty: {untold}, which this kernel is too old to tell")
        })
    }
}

#[cfg(test)]
mod tests;
