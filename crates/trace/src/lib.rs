//! Who talks to whom, counted in the kernel.
//!
//! The crate's one idea: BPF programs (`bpf/`) see each TCP connection begin and end, and each UDP
//! datagram pass, and add up what they see under a key without an ephemeral port. User space reads
//! sums, as many as there are edges, not connections; and TCP's own counters, read when a
//! connection ends and once per reading while it is up, spare a program per message.
//!
//! A [`Tracer`] gives a [`Reading`] whenever it is asked: what happened since the last one, as
//! halves of [`portolan_flow::Flow`]s, each as one end saw it; `portolan_flow::fold` joins them.
//! What could not be counted is counted: [`Losses`], and a row for all edges that found no room.
//!
//! Read in this order: `method.rs`, `reading.rs`, `edge.rs`, `losses.rs`, `cgroups.rs`,
//! `datagrams.rs`, `object.rs`, `maps.rs`, `existing.rs`, `listing.rs`, `holders.rs`, `listed.rs`,
//! `finder.rs`, `namespaces.rs`, `owners.rs`, `listeners.rs`, `tracer.rs`, `error.rs`; of the
//! programs:
//! `bpf/edge.h`, `bpf/count.h`, `bpf/connection.h`, `bpf/socket.h`, `bpf/listeners.h`,
//! `bpf/listen.h`, `bpf/change.h`, `bpf/packet.h`, `bpf/datagram.h`, `bpf/datagram_entry.h`,
//! `bpf/datagram_cgroup.h`, `bpf/walk.h`, `bpf/existing.h`; and for kernels that do not describe
//! their types: `bpf/hooks.h`, `bpf/caller.h`, `bpf/sockops.h`, `bpf/listed.h`.

#![forbid(unsafe_code)]

mod cgroups;
mod datagrams;
mod edge;
mod error;
mod existing;
mod finder;
mod holders;
mod listed;
mod listeners;
mod listing;
mod losses;
mod maps;
mod method;
mod namespaces;
mod object;
mod owners;
mod reading;
mod tracer;

pub use error::Error;
pub use losses::Losses;
pub use method::{Attach, MethodName, TraceOptions, UdpAttach};
pub use reading::Reading;
pub use tracer::Tracer;
