//! Receives readings, keeps the map and its history, answers questions, serves the page.
//!
//! The crate's one idea: the map is a live graph that readings change, and everything else is a
//! view of it. A reading ([`portolan_flow::Bundle`] and the time) becomes a [`Delta`]; deltas go to
//! the page as they are; the [`Store`] gets what is new; a [`Graph`], which is the map at one
//! moment, answers who depends on whom. Nodes are named after what lasts (a container, a service,
//! a process name), so that history and present meet in the same node.
//!
//! The hub never collects: it opens no socket but those it serves and the one it sends metrics
//! over, reads no `/proc`, and takes the time and the names of users as arguments.
//!
//! ```
//! use portolan_flow::Bundle;
//! use portolan_hub::{Config, Direction, Hub, Memory};
//!
//! let hub = Hub::open(Config::default(), Box::new(Memory::new()))?;
//! hub.ingest(Bundle::default(), 1_795_222_800_000, Vec::new(), "snapshot (sock_diag)");
//! let graph = hub.graph(None);
//! if let Ok(selection) = graph.select("postgresql") {
//!     let walk = graph.walk(&selection, Direction::Dependents, None);
//!     println!("{} edges lead there", walk.steps.len());
//! }
//! hub.close()?;
//! # Ok::<(), portolan_hub::StoreError>(())
//! ```
//!
//! Read in this order: `api.rs` (what leaves the process), `identity.rs` (which node an end belongs
//! to), `edge.rs`, `graph.rs`, `select.rs`, `walk.rs`, `live.rs` and what is below it (how readings
//! change the graph), `store.rs` and what is below it (history), `hub.rs` (ties it together),
//! `http.rs` and what is below it; `metrics.rs` and what is below it stands beside the map, and is
//! counted from the same readings.

#![forbid(unsafe_code)]

pub mod api;
mod edge;
mod graph;
mod http;
mod hub;
mod identity;
mod live;
pub mod metrics;
#[cfg(test)]
mod sample;
mod select;
mod store;
mod walk;

pub use api::{EdgeRecord, Kind, Listening, Node};
pub use edge::{Edge, KnownFlow};
pub use graph::{Direction, Graph, Header};
pub use hub::{Config, Hub, WINDOW_MS};
pub use identity::{Identity, Users, client_of, listener_of, printable, server_of};
pub use live::{Delta, Limits, Live, Reading, Sorted};
pub use select::{SelectError, Selection};
pub use store::{Memory, Rows, SCHEMA_VERSION, Seen, Sqlite, Store, StoreError};
pub use walk::{Step, Walk};
