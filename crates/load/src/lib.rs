//! A load generator that is not the bottleneck, and the server for it.
//!
//! The crate's one idea: both ends count exactly what they did, so that what others say about it
//! (a tracer, a proxy, a map) can be held against the truth; and the client is never what one
//! measures: it chooses source ports itself, plans its starts before the run, and allocates nothing
//! for a request.
//!
//! ```
//! use portolan_load::{Client, ClientOptions, Server, ServerOptions, parse_addresses};
//!
//! let listen = parse_addresses("127.0.0.1:0")?;
//! let server = Server::start(&ServerOptions { listen, ..ServerOptions::default() })?;
//! let targets = server.addresses().to_vec();
//! let options = ClientOptions { targets, count: Some(100), ..ClientOptions::default() };
//! let client = Client::start(&options)?.wait()?;
//! let server = server.stop()?;
//! assert_eq!((client.total.connected, server.total.accepted), (100, 100));
//! assert_eq!(client.total.bytes_sent, server.total.bytes_received);
//! # Ok::<(), portolan_load::Error>(())
//! ```
//!
//! Read in this order: `options.rs`, `counts.rs`, `summary.rs`, `error.rs`; what needs no kernel:
//! `addresses.rs`, `schedule.rs`, `source_ports.rs`, `deadlines.rs`, `times.rs`; what both ends
//! use: `poll.rs`, `stop.rs`, `socket.rs`; the server, `server.rs` (`server/worker.rs`,
//! `server/connections.rs`, `server/datagrams.rs`, `server/counters.rs`); the client, `client.rs`
//! (`client/worker.rs`, `client/job.rs`, `client/connections.rs`, `client/open.rs`,
//! `client/datagrams.rs`, `client/slots.rs`, `client/routes.rs`, `client/run.rs`).

#![forbid(unsafe_code)]

mod addresses;
mod client;
mod counts;
mod deadlines;
mod error;
mod options;
mod poll;
mod schedule;
mod server;
mod socket;
pub mod source_ports;
mod stop;
mod summary;
mod times;

pub use addresses::{ADDRESSES_MAX, parse_addresses, parse_ports, parse_sources};
pub use client::Client;
pub use counts::{Errors, Port, PortCounts, Target, TargetCounts};
pub use error::Error;
pub use options::{
    ClientOptions, Close, DATAGRAM_BYTES_MAX, MESSAGE_BYTES_MAX, Mode, ServerOptions, Transports,
};
pub use server::Server;
pub use stop::Stop;
pub use summary::{ServerSummary, Summary, VERSION};
pub use times::Latency;
