//! The measurements of `portolan bench`.
//!
//! The crate's one idea: a claim about speed is a [`Scenario`], a piece of work that several
//! [`Contestant`]s do side by side, ours and other programs, on the host where it matters. The
//! runner prepares the world once per size, interleaves the contestants so that a disturbance hits
//! all of them, distrusts results before it compares times, and keeps every run.
//!
//! A *contestant* that is not installed, fails or gives an implausible result is a line of the
//! report, never a gap in it.
//!
//! Read in this order: `scenario.rs`, `sample.rs`, `statistics.rs`, `order.rs`, `difference.rs`,
//! `view.rs`, `runner.rs`, `measure.rs`, `program.rs`, `strace.rs`, `host.rs`; `world.rs`
//! (`world/part.rs`, `world/hold.rs`, `world/listen.rs`, `world/stage.rs`, `world/link.rs`), which
//! the scenarios share; the scenario `sockets.rs` with `peers.rs`; the scenario `snapshot.rs` with
//! `read.rs` and `snapshot/own.rs`; the scenario `probe.rs` with `probe/count.rs`,
//! `probe/place.rs`, `probe/checks.rs`, `probe/published.rs` and `probe/capture.rs`; the scenario
//! `sweep.rs` with `sweep/network.rs`, `sweep/peers.rs`, `sweep/sweeper.rs`, `sweep/blocks.rs` and
//! `sweep/found.rs`; `process.rs`, which the last two share; the scenario `trace.rs` with
//! `trace/load.rs`, `trace/spent.rs`, `trace/said.rs`, `trace/figures.rs` and `trace/tracer.rs`;
//! the scenario `load.rs` with `load/said.rs`, `load/bare.rs`, `load/client.rs`, `load/server.rs`,
//! `load/contest.rs` and `load/ports.rs`; then `report.rs` (`report/figures.rs`,
//! `report/columns.rs`, `report/table.rs`, `report/json.rs`, `report/csv.rs`, `report/svg.rs`,
//! `report/plot.rs`, `report/html.rs`), `progress.rs` and `error.rs`.

#![forbid(unsafe_code)]

mod difference;
mod error;
mod host;
mod load;
mod measure;
mod order;
mod peers;
mod probe;
mod process;
mod program;
mod progress;
mod read;
pub mod report;
mod runner;
mod sample;
mod scenario;
mod snapshot;
mod sockets;
mod statistics;
mod strace;
mod sweep;
mod trace;
mod view;
mod world;

pub use difference::{By, Compared, Difference};
pub use error::Error;
pub use host::Host;
pub use load::{BareLoop, Connected, Load, LoadOptions, LoadWorkload, bare_loop};
pub use measure::{Measured, Program, Stdout, measure};
pub use order::Order;
pub use probe::{Count, Probe, ProbeOptions, Published, published};
pub use program::{CommandLine, Executable, Output};
pub use progress::Progress;
pub use read::{Read, ReadReport, ReadingCost, read};
pub use runner::{Event, Lane, Options, Outcome, Results, SizeResults, Tell, run};
pub use sample::{Figure, Sample};
pub use scenario::{Contestant, Fault, Purpose, Scenario};
pub use snapshot::{Snapshot, SnapshotOptions};
pub use sockets::{Sockets, SocketsOptions};
pub use statistics::{RealSpread, Spread};
pub use sweep::{Sweep, SweepOptions};
pub use trace::{Trace, TraceOptions, Workload};
pub use view::{Column, Plot, Value, View};
pub use world::{CONNECTIONS_MAX, Hold, Listen, World, hold, listen};
