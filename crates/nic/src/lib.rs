//! Frames in and out.

#![forbid(unsafe_code)]
