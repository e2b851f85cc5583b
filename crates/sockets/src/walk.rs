//! Listing by a BPF program that follows the chains of TCP's hash table (`bpf/connections.bpf.c`).
//!
//! The fastest by far where there are many connections: no locks, no references, nothing read but
//! what was asked for. Listeners and UDP sockets stand in other tables, small ones, and come from
//! sock_diag.

mod chunk;
mod holdings;
mod run;

use portolan_flow::Transport;

use crate::{
    Coverage, Error, Method, MethodName, Place, Query, Row, State, States, diag::Diag, record,
};
use chunk::{Chunk, Request};

pub(crate) use holdings::{Held, can_find_holders, holdings};

/// Those that are not in the table of connections. (What is closed is in no table; to ask sock_diag
/// for it would make it go through that of connections.)
const ELSEWHERE: States = States::NONE.with(State::Listen).with(State::BoundInactive);

/// Listing by following the chains of TCP's hash table, in the namespace at a place.
#[derive(Debug)]
pub struct Walk {
    diag: Diag,
    place: Place,
}

impl Walk {
    /// Loads the program, once in a process, and prepares to list the namespace at `place`.
    ///
    /// # Errors
    /// When BPF is not possible here, or the namespace cannot be entered.
    pub fn open(place: &Place) -> Result<Self, Error> {
        chunk::load()?;
        Ok(Self { diag: Diag::open(place)?, place: place.clone() })
    }

    fn connections(
        &self,
        query: &Query,
        states: States,
        each: &mut dyn FnMut(&Row),
    ) -> Result<Coverage, Error> {
        let mut coverage = Coverage::default();
        let mut chunk = Chunk::lease()?;
        let mut request = Request::new(query, states);
        loop {
            let run = chunk.fill(&self.place, &request)?;
            coverage.torn |= run.torn > 0;
            let left = record::decode(chunk.rows(run), query.transport, &mut |row| {
                if query.filter.as_ref().is_none_or(|filter| filter.matches(row)) {
                    coverage.rows += 1;
                    each(row);
                }
            });
            coverage.skipped += u64::from(left > 0);
            if !run.more {
                return Ok(coverage);
            }
            request = request.after(run);
        }
    }
}

impl Method for Walk {
    fn name(&self) -> MethodName {
        MethodName::Walk
    }

    fn read(&mut self, query: &Query, each: &mut dyn FnMut(&Row)) -> Result<Coverage, Error> {
        if query.transport == Transport::Udp {
            return self.diag.read(query, each);
        }
        let mut coverage = Coverage::default();
        let wanted = query.wanted_states();
        let elsewhere = wanted.intersection(ELSEWHERE);
        if elsewhere != States::NONE {
            let query = Query { states: elsewhere, ..query.clone() };
            coverage.add(self.diag.read(&query, each)?);
        }
        let connections = wanted.difference(ELSEWHERE);
        if connections != States::NONE {
            coverage.add(self.connections(query, connections, each)?);
        }
        Ok(coverage)
    }
}

#[cfg(test)]
mod tests;
