//! The experiment on source ports: what `connect(2)` and `bind(2)` cost on this host, the more
//! ports are in use.
//!
//! With every [`Strategy`] in turn, many connections are opened from one address to one listener
//! and held, and then as many sockets are bound; each call is timed. No process may have enough
//! descriptors for that, so copies of the program do it, one after the other, while others accept.
//! Whoever may make a network namespace gets one for each strategy, with the range of ports that
//! was asked for; nobody else on the host notices. Otherwise it happens on loopback, within the
//! host's own range.
//!
//! Read in this order: `options.rs`, `task.rs`, `open.rs`, `serve.rs`; `part.rs`, `place.rs`,
//! `experiment.rs`; `series.rs`, `results.rs`, `report.rs` (`report/figures.rs`).

mod experiment;
mod open;
mod options;
mod part;
mod place;
mod report;
mod results;
mod series;
mod serve;
mod task;

pub use experiment::{Progress, run};
pub use options::{PortsOptions, Program};
pub use report::{CSV_HEADING, csv, figures, page, table};
pub use results::{Job, Measured, Outcome, Record, VERSION};
pub use series::{Cliff, Part as SeriesPart, Series};
pub use task::{Task, run_task};

pub use crate::source_ports::Strategy;
