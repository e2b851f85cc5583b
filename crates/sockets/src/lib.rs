//! Which sockets exist on this host, and which process holds each.
//!
//! The crate's one idea: a listing is a stream of [`Row`]s in constant memory, whatever the
//! [`Method`] (BPF programs, netlink sock_diag, the files under `/proc/net`); owners come from one
//! linear walk over the descriptors of all processes; [`Follow`] keeps a listing up to date by the
//! kernel's events; and [`Snapshot`] joins sockets and owners over all network namespaces into a
//! `flow` bundle, the reading that the map polls.
//!
//! Read in this order: `row.rs`, `method.rs` (`method/choice.rs`, `method/slices.rs`), `filter.rs`
//! (`filter/expression.rs`, `filter/tokens.rs`, `filter/names.rs`, `filter/parse.rs`,
//! `filter/parse/address.rs`, `filter/error.rs`, `filter/evaluate.rs`, `filter/bytecode.rs`,
//! `filter/bytecode/tree.rs`, `filter/slice.rs`), `diag.rs` (`diag/message.rs`, `diag/info.rs`,
//! `diag/memory.rs`, `diag/destroy.rs`), `procfs.rs` (`procfs/line.rs`), `bpf.rs`,
//! `record.rs`, `walk.rs` (`walk/run.rs`, `walk/chunk.rs`, `walk/holdings.rs`), `iter.rs`
//! (`iter/program.rs`), `owner.rs` (`owner/walk.rs`, `owner/table.rs`,
//! `owner/names.rs`), `hidden.rs`, `place.rs`, `follow.rs` (`follow/event.rs`,
//! `follow/question.rs`, `follow/entry.rs`, `follow/table.rs`, `follow/tracer.rs`,
//! `follow/count.rs`), `poll.rs`, `snapshot.rs` (`snapshot/seen.rs`, `snapshot/listing.rs`,
//! `snapshot/holders.rs`, `snapshot/memory.rs`, `snapshot/observer.rs`, `snapshot/warnings.rs`).

#![forbid(unsafe_code)]

mod bpf;
pub mod diag;
mod error;
mod filter;
mod follow;
mod hidden;
mod iter;
mod method;
mod owner;
mod place;
mod poll;
pub mod procfs;
// For the fuzzer.
#[doc(hidden)]
pub mod record;
mod row;
#[cfg(test)]
mod scene;
mod snapshot;
mod walk;

pub use diag::{Destroyer, Ending, SocketId};
pub use error::Error;
pub use filter::{
    BYTECODE_BYTES_MAX, Bytecode, DEPTH_MAX, Filter, FilterError, HostNames, Names, TEXT_BYTES_MAX,
    WellKnown,
};
pub use follow::{Change, Follow, FollowOptions, Refresh};
pub use hidden::{Hidden, hidden_processes};
pub use method::{
    Choice, Coverage, Details, Method, MethodName, PassedOver, Query, Slice, Wish, choose, open,
    read_in_slices, worthwhile_slices,
};
pub use owner::{Holder, Lookup, Owners, Source};
pub use place::{Place, Places, places};
pub use poll::Poll;
pub use row::{Row, SocketMemory, State, States, TcpInfo};
pub use snapshot::{Reading, Snapshot, SnapshotOptions};
