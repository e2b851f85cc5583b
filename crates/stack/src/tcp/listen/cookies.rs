//! A listener whose backlog is full: RFC 4987, section 3.6.

use portolan_wire::tcp::{Flags, Options, Repr, Timestamps};

use crate::{
    Instant,
    tcp::{
        Flow, Tcp,
        connection::Connection,
        cookie::{self, Offered},
        event::ListenerId,
        handshake::Beginning,
        input::clock,
        isn::timestamp_offset,
        output::offered,
        replies::Reply,
        segment::{Arrived, Segment},
        window::{headers_len, told_mss},
    },
};

impl Tcp {
    /// Answers SYN with a number from which the connection can be made when it comes back.
    pub(super) fn send_cookie(
        &mut self,
        flow: Flow,
        syn: &Segment<'_>,
        arrived: &Arrived<'_>,
        now: Instant,
    ) {
        let theirs = &syn.options;
        let mss = told_mss(theirs, &flow);
        let sequence = cookie::make(&self.keys.cookie, &flow, syn.sequence, mss, now);
        let mtu = (arrived.path_mtu)(flow.remote);
        let mut options = offered(&self.config, mtu.saturating_sub(headers_len(&flow)));
        // What the timestamp does not bring back cannot be agreed on.
        let clocks = theirs.timestamps.filter(|_| self.config.timestamps);
        options.sack_permitted &= theirs.sack_permitted && clocks.is_some();
        let scales = theirs.window_scale.is_some() && clocks.is_some();
        options.window_scale = options.window_scale.filter(|_| scales);
        options.timestamps = clocks.map(|clocks| Timestamps {
            value: cookie::encode_options(
                self.timestamp(&flow, now),
                Offered {
                    window_scale: theirs.window_scale.filter(|_| scales),
                    sack: options.sack_permitted,
                    ecn: false,
                },
            ),
            echo: clocks.value,
        });
        self.counters.cookies_sent += 1;
        self.reply(Reply {
            flow,
            repr: Repr {
                source_port: flow.local_port,
                destination_port: flow.remote_port,
                sequence,
                acknowledgment: syn.sequence + 1,
                flags: Flags::SYN | Flags::ACK,
                window: u16::try_from(self.config.receive_buffer_bytes).unwrap_or(u16::MAX),
                urgent_pointer: 0,
                options,
            },
        });
    }

    /// An ACK for no connection: perhaps it brings a cookie back. Else the sender has a connection
    /// that this host does not know.
    pub(super) fn handle_cookie(
        &mut self,
        flow: Flow,
        id: ListenerId,
        segment: &Segment<'_>,
        arrived: &Arrived<'_>,
        now: Instant,
    ) -> Option<u32> {
        let listener = self.listeners.get_mut(id).ok()?;
        let (can_accept, looks) = (listener.can_accept(), listener.looks_at_cookies(now));
        let (theirs, ours) = (segment.sequence - 1, segment.acknowledgment - 1);
        let mss = (looks && !segment.has(Flags::SYN))
            .then(|| cookie::check(&self.keys.cookie, &flow, theirs, ours, now))
            .flatten();
        let Some(mss) = mss else {
            self.counters.cookies_wrong += u64::from(looks);
            self.reply(Reply::reset_for(flow, segment));
            return None;
        };
        // As with a connection that was remembered: the peer sends its ACK, with data, again.
        if !can_accept {
            self.counters.accept_queue_full += 1;
            return None;
        }
        if self.connections.len() >= self.config.connections_max {
            self.counters.connections_full += 1;
            return None;
        }
        self.counters.cookies_accepted += 1;
        let beginning = Beginning {
            flow,
            iss: ours,
            timestamp_offset: timestamp_offset(&self.keys.timestamp, &flow),
            mtu: (arrived.path_mtu)(flow.remote),
        };
        let syn = self.syn_of(segment, mss);
        let mut connection = Connection::passive(&beginning, id, &syn, &self.config, now);
        connection.due.syn = false;
        // Nobody knows when it left, so that it measures no round trip.
        connection.sender.last_sent = Instant::NEVER;
        connection.sender.nxt = ours + 1;
        connection.sender.is_syn_ambiguous = true;
        self.listeners.get_mut(id).ok()?.half_open += 1;
        Some(self.insert(connection).index)
    }

    /// The SYN as it must have been.
    fn syn_of(&self, ack: &Segment<'_>, mss: u16) -> Segment<'static> {
        let echo = ack.options.timestamps.map(|timestamps| timestamps.echo);
        let offered = echo.map(cookie::decode_options).unwrap_or_default();
        Segment {
            flags: Flags::SYN,
            sequence: ack.sequence - 1,
            acknowledgment: ack.acknowledgment,
            // Until the ACK's own window is read.
            window: 0,
            urgent: 0,
            options: Options {
                mss: Some(mss),
                window_scale: offered.window_scale,
                sack_permitted: offered.sack,
                timestamps: ack.options.timestamps,
                ..Options::default()
            },
            payload: &[],
            ecn: Default::default(),
        }
    }

    fn timestamp(&self, flow: &Flow, now: Instant) -> u32 {
        clock(now).wrapping_add(timestamp_offset(&self.keys.timestamp, flow))
    }
}
