//! TCP: RFC 9293 and what belongs to it.

pub mod congestion;
pub mod cookie;
pub mod isn;
pub mod ports;
pub mod reassembly;
pub mod retransmit;
pub mod rtt;
pub mod table;

mod flow;

pub use flow::Flow;
