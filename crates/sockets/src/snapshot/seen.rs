//! What a reading keeps of a row until the owners are known.

use std::net::SocketAddr;

use portolan_flow::{NetnsId, Phase, Transport};

use crate::{Row, State};

/// A socket that the map shows.
#[derive(Debug)]
pub(super) struct Seen {
    pub netns: NetnsId,
    pub transport: Transport,
    pub phase: Phase,
    pub local: SocketAddr,
    pub remote: SocketAddr,
    pub inode: u32,
    pub uid: u32,
}

impl Seen {
    /// `None` of a socket that is nothing on a map.
    pub fn of(netns: NetnsId, row: &Row) -> Option<Self> {
        Some(Self {
            netns,
            transport: row.transport,
            phase: phase(row)?,
            local: row.local,
            remote: row.remote,
            inode: row.inode,
            uid: row.uid,
        })
    }
}

fn phase(row: &Row) -> Option<Phase> {
    match row.state {
        State::Listen => Some(Phase::Listening),
        State::Close => {
            (row.transport == Transport::Udp && row.local.port() != 0).then_some(Phase::Listening)
        }
        State::SynSent | State::SynReceived | State::NewSynReceived => Some(Phase::Opening),
        State::TimeWait => Some(Phase::TimeWait),
        State::BoundInactive => None,
        State::Established
        | State::FinWait1
        | State::FinWait2
        | State::CloseWait
        | State::LastAck
        | State::Closing => Some(Phase::Connected),
    }
}
