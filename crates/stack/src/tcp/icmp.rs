//! ICMP errors about segments: RFC 9293, section 3.9.2.2; RFC 5927; RFC 1191 and 8201.

use core::net::IpAddr;

use portolan_wire::tcp::Quoted;

use super::{
    Flow, Reason, TIME_WAIT, Tcp, Trouble,
    connection::{Connection, Context, State},
    window::PEER_MSS_MIN,
};
use crate::Instant;

/// An error about a segment of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpError {
    /// This host's address.
    pub local: IpAddr,
    /// Where the segment was to go.
    pub remote: IpAddr,
    /// What the error says about the segment.
    pub quoted: Quoted,
    /// What is wrong.
    pub kind: ErrorKind,
}

/// What an ICMP error says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The host, its protocol or its port cannot be reached: RFC 1122's hard errors.
    Unreachable,
    /// The way is broken at present: soft errors.
    Transient,
    /// The packet is too long for a link.
    TooBig {
        /// What the link takes, in bytes; 0 from routers before RFC 1191.
        mtu: u32,
    },
}

impl Tcp {
    /// Takes an ICMP error. The answer is whether it is about a segment that is on its way, so that
    /// it was not made up by somebody who does not see the connection (RFC 5927, section 4).
    pub fn handle_error(&mut self, error: &IcmpError, now: Instant) -> bool {
        let flow = Flow {
            local: error.local,
            remote: error.remote,
            local_port: error.quoted.source_port,
            remote_port: error.quoted.destination_port,
        };
        let Some(index) = self.find(&flow).filter(|index| index & TIME_WAIT == 0) else {
            self.counters.errors_refused += 1;
            return false;
        };
        let (mut context, connections) = self.context(now);
        let Some(connection) = connections.get_mut(index) else { return false };
        let is_believed = connection.handle_error(error, &mut context);
        self.settle(index, now);
        is_believed
    }
}

impl Connection {
    fn handle_error(&mut self, error: &IcmpError, context: &mut Context<'_>) -> bool {
        let sender = &self.sender;
        let sequence = error.quoted.sequence;
        // RFC 5927, section 4: SND.UNA =< SEG.SEQ < SND.NXT.
        if !sequence.is_within(sender.una, sender.outstanding()) {
            context.counters.errors_refused += 1;
            return false;
        }
        match error.kind {
            ErrorKind::TooBig { mtu } => return self.take_path_mtu(mtu, context),
            // RFC 5927, section 5: hard errors end only what has not begun. An established
            // connection has other signs, and time.
            ErrorKind::Unreachable if self.state == State::SynSent => {
                self.fail(Reason::Unreachable, context);
            }
            ErrorKind::Unreachable | ErrorKind::Transient => self.trouble(Trouble::Unreachable),
        }
        true
    }

    /// RFC 1191, section 6.4, and RFC 8201, section 5.4: what was too long leaves again, shorter.
    fn take_path_mtu(&mut self, mtu: u32, context: &mut Context<'_>) -> bool {
        let least = if self.flow.local.is_ipv6() { MTU_MIN_V6 } else { MTU_MIN_V4 };
        let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
        // A link that takes less would leave hardly any room: RFC 5927, section 7.
        let mtu = if mtu == 0 { least } else { mtu.max(least) };
        if mtu >= self.sender.mtu {
            return false;
        }
        self.sender.mtu = mtu.max(PEER_MSS_MIN);
        self.segment_len_changed();
        // Not a sign of congestion: RFC 1191, section 6.4.
        let sender = &mut self.sender;
        if let Some(scoreboard) = &mut sender.scoreboard {
            let (srtt, min_rtt) = (sender.rtt.srtt(), sender.rtt.min());
            scoreboard.on_timeout(&mut sender.memory, srtt, min_rtt, context.now);
        }
        self.arm(context);
        true
    }
}

/// RFC 8200, section 5.
const MTU_MIN_V6: u16 = 1_280;
/// Linux's `ip_rt_min_pmtu`: anything below is an attack or a mistake.
const MTU_MIN_V4: u16 = 552;
