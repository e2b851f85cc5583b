//! A stand-in with the interface of TCP, until that is there: it takes segments and sends none.
#![allow(missing_docs, clippy::unused_self, clippy::needless_pass_by_value)]

use core::net::IpAddr;

use portolan_wire::tcp::Quoted;

use crate::{Instant, random::Keys};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    #[default]
    Unknown,
    Verified,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    #[default]
    NotCapable,
    Capable1,
    Capable0,
    Experienced,
}

impl Ecn {
    /// From the lower bits of the traffic class: RFC 3168, section 5.
    pub const fn from_bits(traffic_class: u8) -> Self {
        match traffic_class & 3 {
            0 => Self::NotCapable,
            1 => Self::Capable1,
            2 => Self::Capable0,
            _ => Self::Experienced,
        }
    }

    pub const fn bits(self) -> u8 {
        match self {
            Self::NotCapable => 0,
            Self::Capable1 => 1,
            Self::Capable0 => 2,
            Self::Experienced => 3,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    Unreachable,
    Transient,
    TooBig { mtu: u32 },
}

pub struct Arrived<'a> {
    pub source: IpAddr,
    pub destination: IpAddr,
    pub ecn: Ecn,
    pub segment: &'a [u8],
    pub checksum: Checksum,
    pub path_mtu: &'a dyn Fn(IpAddr) -> u16,
}

pub struct IcmpError {
    pub local: IpAddr,
    pub remote: IpAddr,
    pub quoted: Quoted,
    pub kind: ErrorKind,
}

pub struct Outgoing {
    pub source: IpAddr,
    pub destination: IpAddr,
    pub ecn: Ecn,
    pub len: usize,
    pub header_len: usize,
    pub segment_payload: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {}

#[derive(Clone, Debug, Default)]
pub struct Config {
    pub checksum_offload: bool,
    pub segment_bytes_max: usize,
}

#[derive(Debug)]
pub struct Tcp;

impl Tcp {
    pub fn new(_: Config, _: &Keys, _: Instant) -> Self {
        Self
    }

    pub fn handle_segment(
        &mut self,
        _: Arrived<'_>,
        _: Instant,
        _: &mut dyn FnMut(ConnectionId, &[u8]) -> usize,
    ) {
    }

    pub fn handle_error(&mut self, _: &IcmpError, _: Instant) -> bool {
        false
    }

    pub fn poll_transmit(&mut self, _: Instant, _: &mut [u8]) -> Option<Outgoing> {
        None
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    pub fn handle_timeout(&mut self, _: Instant) {}

    pub fn poll_event(&mut self) -> Option<Event> {
        None
    }
}
