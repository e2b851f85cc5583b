//! What is counted by the root control group alone is the same.

#[path = "trace_attach.rs"]
mod attach;
#[path = "trace_ends.rs"]
mod ends;
#[path = "trace_failures.rs"]
mod failures;
#[path = "trace.rs"]
mod flags;
#[path = "trace_links.rs"]
mod links;
#[path = "trace_races.rs"]
mod races;
