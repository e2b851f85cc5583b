//! The stack on a link, below TCP: frames go in that are made with `wire`, and what comes out is
//! read with it.

mod allocation;
mod attacks;
mod echo;
mod errors;
mod fragments;
mod hostile;
mod listening;
mod neighbors;
mod pair;
mod routers;
mod smoltcp_peer;
mod tcp;
mod udp;
mod world;
