//! What the program itself does as a contestant: read the sockets as the map does, once or again
//! and again.

use std::time::{Duration, Instant};

use portolan_flow::Transport;
use portolan_sockets::{MethodName, Place, Query, Snapshot, SnapshotOptions, States, open};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::{Error, Fault};

/// How to read, always in the network namespace of the calling thread alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The listing method; the best that works where `None`.
    pub method: Option<MethodName>,
    /// How often, in the same process; at least once.
    pub repeat: u32,
}

impl Read {
    /// As the command line of the hidden `portolan bench read` takes it.
    #[must_use]
    pub fn to_args(self) -> Vec<String> {
        let mut args = vec!["--repeat".to_owned(), self.repeat.to_string()];
        if let Some(method) = self.method {
            args.extend(["--method".to_owned(), method.name().to_owned()]);
        }
        args
    }
}

/// What became of a run of this program that failed with `fault`: refused, if this host refuses
/// the listing method.
///
/// To ask only then keeps the process small: what a method needs, BPF most of all, stays in memory,
/// and no child's peak is seen below its parent's.
pub(crate) fn refused_or(fault: Fault, method: Option<MethodName>) -> Fault {
    match method.and_then(refusal) {
        Some(why) => Fault::Refused(why),
        None => fault,
    }
}

fn refusal(method: MethodName) -> Option<String> {
    let nothing = Query { states: States::NONE, ..Query::all(Transport::Tcp) };
    open(method, &Place::here())
        .and_then(|mut reader| reader.read(&nothing, &mut |_| {}))
        .err()
        .map(|error| format!("refused here: {error}"))
}

/// What one reading within a process cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingCost {
    /// Wall time, microseconds.
    pub wall_us: u64,
    /// CPU time of all threads, microseconds.
    pub cpu_us: u64,
}

/// What was read, by the last reading, and what each cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadReport {
    /// Sockets listed.
    pub rows: u64,
    /// Sockets that are part of an edge and whose holder is known.
    pub owned: u64,
    /// Connections on edges, each counted once.
    pub connections: u64,
    /// Edges.
    pub edges: u64,
    /// Each reading, in order.
    pub readings: Vec<ReadingCost>,
}

/// Reads as `plan` says: TCP and UDP, the owners, and everything bundled to edges.
///
/// # Errors
/// When the method does not work here.
pub fn read(plan: Read) -> Result<ReadReport, Error> {
    let mut report = ReadReport::default();
    let again = plan.repeat > 1;
    let options = SnapshotOptions { method: plan.method, own_namespace_only: true, again };
    // What a map does once, at its start, is part of the first reading.
    let mut snapshot = None;
    for _ in 0..plan.repeat.max(1) {
        let (start, cpu) = (Instant::now(), cpu_time());
        let snapshot = match &mut snapshot {
            Some(snapshot) => snapshot,
            empty => empty.insert(Snapshot::open(options)?),
        };
        map(snapshot, &mut report)?;
        let wall = start.elapsed();
        let cpu = cpu_time().saturating_sub(cpu);
        report.readings.push(ReadingCost { wall_us: micros(wall), cpu_us: micros(cpu) });
    }
    Ok(report)
}

fn map(snapshot: &mut Snapshot, report: &mut ReadReport) -> Result<(), Error> {
    let reading = snapshot.read()?;
    let flows = &reading.bundle.flows;
    let held = flows.iter().map(|flow| {
        let client = flow.client.owner.process().map_or(0, |_| flow.active.connections);
        let server = flow.server.owner.process().map_or(0, |_| flow.passive.connections);
        client + server
    });
    report.owned = held.sum();
    report.rows = reading.coverage.rows;
    report.connections = flows.iter().map(portolan_flow::Flow::connections).sum();
    report.edges = u64::try_from(flows.len()).unwrap_or(u64::MAX);
    Ok(())
}

pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
