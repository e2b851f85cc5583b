//! What the program itself does as a contestant: read the sockets, once or again and again.

use std::time::{Duration, Instant};

use portolan_flow::Transport;
use portolan_sockets::{MethodName, Owners, Place, Query, Snapshot, SnapshotOptions, choose, open};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::Error;

/// How much of a reading is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// List the TCP sockets.
    List,
    /// List them, and find out who holds each.
    Owners,
    /// All that one poll of the map does: list TCP and UDP, find the owners, bundle to edges.
    Map,
}

/// What to read, always in the network namespace of the calling thread alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The listing method; the best that works where `None`.
    pub method: Option<MethodName>,
    /// How much is done.
    pub depth: Depth,
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
        match self.depth {
            Depth::List => {}
            Depth::Owners => args.push("--owners".to_owned()),
            Depth::Map => args.push("--bundle".to_owned()),
        }
        args
    }
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
    /// Sockets whose holder is known: of those listed, or of those that are part of an edge.
    pub owned: Option<u64>,
    /// Connections on edges, each counted once.
    pub connections: Option<u64>,
    /// Edges.
    pub edges: Option<u64>,
    /// Each reading, in order.
    pub readings: Vec<ReadingCost>,
}

/// Reads as `plan` says.
///
/// # Errors
/// When the method does not work here.
pub fn read(plan: Read) -> Result<ReadReport, Error> {
    let mut report = ReadReport::default();
    match plan.depth {
        Depth::List | Depth::Owners => {
            let method = plan.method.map_or_else(|| Ok(choose()?.method), Ok::<_, Error>)?;
            repeat(plan.repeat, &mut report, |report| list(method, plan.depth, report))?;
        }
        Depth::Map => {
            let options = SnapshotOptions { method: plan.method, own_namespace_only: true };
            // What a map does once, at its start, is part of the first reading.
            let mut snapshot = None;
            repeat(plan.repeat, &mut report, |report| {
                let snapshot = match &mut snapshot {
                    Some(snapshot) => snapshot,
                    empty => empty.insert(Snapshot::open(options)?),
                };
                map(snapshot, report)
            })?;
        }
    }
    Ok(report)
}

fn repeat(
    times: u32,
    report: &mut ReadReport,
    mut reading: impl FnMut(&mut ReadReport) -> Result<(), Error>,
) -> Result<(), Error> {
    for _ in 0..times.max(1) {
        let (start, cpu) = (Instant::now(), cpu_time());
        reading(report)?;
        let wall = start.elapsed();
        let cpu = cpu_time().saturating_sub(cpu);
        report.readings.push(ReadingCost { wall_us: micros(wall), cpu_us: micros(cpu) });
    }
    Ok(())
}

fn list(method: MethodName, depth: Depth, report: &mut ReadReport) -> Result<(), Error> {
    let mut reader = open(method, &Place::here())?;
    let query = Query::all(Transport::Tcp);
    if depth == Depth::List {
        report.rows = reader.read(&query, &mut |_| {})?.rows;
        return Ok(());
    }
    let mut inodes = Vec::new();
    report.rows = reader.read(&query, &mut |row| inodes.push(row.inode))?.rows;
    let mut owners = Owners::new();
    owners.walk()?;
    let owned = inodes.into_iter().filter(|&inode| owners.holder(inode).is_some()).count();
    report.owned = Some(count(owned));
    Ok(())
}

fn map(snapshot: &mut Snapshot, report: &mut ReadReport) -> Result<(), Error> {
    let reading = snapshot.read()?;
    let flows = &reading.bundle.flows;
    let held = flows.iter().map(|flow| {
        let client = flow.client.owner.process().map_or(0, |_| flow.active.connections);
        let server = flow.server.owner.process().map_or(0, |_| flow.passive.connections);
        client + server
    });
    report.owned = Some(held.sum());
    report.rows = reading.coverage.rows;
    report.connections = Some(flows.iter().map(portolan_flow::Flow::connections).sum());
    report.edges = Some(count(flows.len()));
    Ok(())
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
