//! Wire formats of the internet protocols.
//!
//! The crate's one idea: every protocol has two types of the same names: `Packet`, a view that
//! reads fields where they lie in bytes from outside, and `Repr`, a checked value that can be
//! written. Nothing here decides what to send.

#![forbid(unsafe_code)]
#![no_std]
