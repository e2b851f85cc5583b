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
//! Read in this order: `options.rs`, `counts.rs`, `interval.rs`, `summary.rs`, `error.rs`; what
//! needs no kernel: `addresses.rs`, `url.rs`, `schedule.rs`, `gather.rs`, `source_ports.rs`
//! (`source_ports/set.rs`, `source_ports/pair.rs`, `source_ports/allocator.rs`,
//! `source_ports/source.rs`, `source_ports/host.rs`, `source_ports/choice.rs`,
//! `source_ports/advice.rs`), `deadlines.rs`, `times.rs`, `http.rs` (`http/fields.rs`,
//! `http/body.rs`, `http/request.rs`, `http/response.rs`); what both ends use: `poll.rs`,
//! `stop.rs`, `socket.rs`; the server, `server.rs` (`server/options.rs`, `server/service.rs`,
//! `server/summary.rs`, `server/listeners.rs`, `server/worker.rs`, `server/stream.rs`,
//! `server/connections.rs`, `server/served.rs`, `server/output.rs`, `server/http.rs`,
//! `server/http/date.rs`, `server/datagrams.rs`, `server/counters.rs`, `server/account.rs`; on a
//! host of this process: `server/hosted.rs`, `server/hosted/stream.rs`,
//! `server/hosted/program.rs`); names, `resolve.rs`; the client, `client.rs` (`client/threads.rs`,
//! `client/processes.rs`, `client/gate.rs`, `client/worker.rs`, `client/hold.rs`, `client/job.rs`,
//! `client/run.rs`, `client/slots.rs`, `client/protocol.rs`, `client/connections.rs`,
//! `client/connections/flights.rs`, `client/connections/transfer.rs`,
//! `client/connections/endings.rs`, `client/connections/verify.rs`, `client/open.rs`,
//! `client/routes.rs`, `client/datagrams.rs`); the experiment on source ports, `ports.rs`.

#![forbid(unsafe_code)]

mod addresses;
mod client;
mod counts;
mod deadlines;
mod error;
mod gather;
pub mod http;
mod interval;
mod options;
mod poll;
pub mod ports;
mod resolve;
mod schedule;
mod server;
mod socket;
pub mod source_ports;
mod stop;
mod summary;
mod times;
mod url;

pub use addresses::{ADDRESSES_MAX, parse_addresses, parse_ports, parse_sources};
pub use client::{Client, serve_parent, sockets_per_process};
pub use counts::{Errors, Target, TargetCounts};
pub use error::Error;
pub use interval::Interval;
pub use options::{ClientOptions, Close, DATAGRAM_BYTES_MAX, MESSAGE_BYTES_MAX, Mode, Share};
pub use resolve::parse_targets;
pub use server::{
    BODY_BYTES_MAX, HostedServer, Port, PortCounts, Serve, Server, ServerInterval, ServerOptions,
    ServerSummary, Service, Sizes, Transports, parse_serve, parse_serve_at,
};
pub use stop::Stop;
pub use summary::{Limit, PortsUsed, Summary, VERSION};
pub use times::{Latency, Measured, Times};
pub use url::{Ask, HttpRequest, Url};
