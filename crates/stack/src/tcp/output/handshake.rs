//! SYN, and SYN with ACK.

use portolan_wire::tcp::{Flags, Options, Repr};

use crate::tcp::{
    Config, config,
    connection::{Connection, Context, State},
    segment::{Ecn, Outgoing, emit},
    timers::Kind,
    window::{headers_len, scale},
};

impl Connection {
    /// Writes SYN, if it is due.
    pub(super) fn transmit_syn(
        &mut self,
        buffer: &mut [u8],
        context: &mut Context<'_>,
    ) -> Option<Outgoing> {
        if !self.due.syn && !self.due.ack {
            return None;
        }
        self.due.syn = false;
        let repr = self.syn(context);
        let len = repr.header_len();
        let buffer = buffer.get_mut(..len)?;
        let (source, destination) = (self.flow.local, self.flow.remote);
        emit(&repr, buffer, &self.flow, context.config)?;
        context.counters.segments_sent += 1;
        context.counters.segments_retransmitted += u64::from(self.sender.retries > 0);
        self.note_acknowledged(context);
        // The peer's SYN may have asked for it again.
        self.sender.is_syn_ambiguous |= self.sender.outstanding() > 0;
        self.sender.nxt = self.sender.una + 1;
        self.sender.last_sent = context.now;
        let at = context.now + self.sender.rtt.rto();
        self.timers.set_retransmission(Kind::Timeout, at);
        Some(Outgoing {
            source,
            destination,
            ecn: Ecn::NotCapable,
            diffserv: self.owner.diffserv,
            hop_limit: context.config.hop_limit,
            len,
            header_len: len,
            segment_payload: None,
        })
    }

    fn syn(&mut self, context: &Context<'_>) -> Repr {
        let config = context.config;
        let is_answer = self.state == State::SynReceived;
        let mut options = offered(config, self.sender.mtu.saturating_sub(headers_len(&self.flow)));
        let mut flags = Flags::SYN;
        if is_answer {
            // Only what the peer has offered as well: RFC 7323, sections 1.3 and 3.2; RFC 2018.
            flags |= Flags::ACK;
            options.sack_permitted &= self.agreed.sack;
            options.window_scale = options.window_scale.filter(|_| self.agreed.scaling);
            if self.agreed.ecn {
                flags |= Flags::ECE;
            }
        } else if config.ecn == config::Ecn::Active && self.sender.retries < ECN_TRIES {
            // RFC 3168, section 6.1.1; without it after a loss, as some networks drop it
            // (section 6.1.1.1).
            flags |= Flags::ECE | Flags::CWR;
        }
        let wants_timestamps = if is_answer { self.agreed.timestamps } else { config.timestamps };
        if wants_timestamps {
            let agreed = core::mem::replace(&mut self.agreed.timestamps, true);
            options.timestamps = self.timestamps(context.now);
            self.agreed.timestamps = agreed;
        }
        Repr {
            source_port: self.flow.local_port,
            destination_port: self.flow.remote_port,
            sequence: self.sender.una,
            acknowledgment: if is_answer { self.receiver.next } else { Default::default() },
            flags,
            window: self.receiver.offer_unscaled(context),
            urgent_pointer: 0,
            options,
        }
    }
}

/// What this end can do. Timestamps are added by who knows the clock.
pub(in crate::tcp) fn offered(config: &Config, mss: u16) -> Options {
    Options {
        mss: Some(mss),
        window_scale: config.window_scaling.then(|| scale(config)),
        sack_permitted: config.sack,
        ..Options::default()
    }
}

/// How often ECN is asked for before it might be the reason why nothing comes back.
const ECN_TRIES: u8 = 2;
