//! What a tracer tells.

use std::time::Duration;

use portolan_flow::{Flow, Listener, Totals};

use crate::Losses;

/// What happened since the reading before, or since the start.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Each as one end saw it: [`portolan_flow::fold`] joins the two. Connections that are up are
    /// in the counters, what went over them in the traffic.
    pub flows: Vec<Flow>,
    /// The TCP ports that listen, in order.
    pub listeners: Vec<Listener>,
    /// The sum of all edges that found no room, of either side.
    pub overflow: Totals,
    /// What is missing.
    pub losses: Losses,
    /// How long it was.
    pub span: Duration,
}
