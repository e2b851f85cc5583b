//! ICMP: echo, and errors in both directions: RFC 792, RFC 4443.

pub(crate) mod echo;
pub(crate) mod error;
pub(crate) mod input;
pub(crate) mod limit;
pub(crate) mod mld;
