//! A connection: the transmission control block of RFC 9293, section 3.3.1.

use alloc::{boxed::Box, vec::Vec};

use portolan_wire::Seq;

use super::{
    Config, Counters, Flow, Reason, Trouble,
    challenge::Challenges,
    congestion::Congestion,
    event::{ListenerId, Ready},
    lent::Lent,
    reassembly::Reassembly,
    retransmit::{Memory, Scoreboard},
    rtt::Rtt,
    timers::Timers,
};
use crate::{
    Instant,
    buffer::{Pool, Stream},
};

/// The states of RFC 9293, section 3.3.2, but for LISTEN: a listener is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// SYN was sent.
    SynSent,
    /// SYN was sent and received, and the own one is not acknowledged.
    SynReceived,
    /// Data goes both ways.
    Established,
    /// The program has finished; its FIN is not acknowledged.
    FinWait1,
    /// It is; the peer goes on.
    FinWait2,
    /// The peer has finished; the program goes on.
    CloseWait,
    /// Both have finished at the same time; the own FIN is not acknowledged.
    Closing,
    /// Both have finished, the peer first; the own FIN is not acknowledged.
    LastAck,
    /// Both have finished, and both FINs are acknowledged; late segments may come.
    TimeWait,
    /// It is over.
    Closed,
}

impl State {
    /// Whether both ends have agreed on where numbers begin.
    pub(super) fn is_synchronized(self) -> bool {
        !matches!(self, Self::SynSent | Self::SynReceived | Self::Closed)
    }

    /// Whether the peer may send more data.
    pub(super) fn receives(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }
}

pub(super) struct Connection {
    pub flow: Flow,
    pub state: State,
    pub sender: Sender,
    pub receiver: Receiver,
    pub agreed: Agreed,
    pub timers: Timers,
    pub due: Due,
    pub challenges: Challenges,
    pub owner: Owner,
}

/// What goes out: SND of RFC 9293, and what is needed to send it again and not too fast.
pub(super) struct Sender {
    pub una: Seq,
    pub nxt: Seq,
    /// The window that the peer offers, from `una` on.
    pub window: u32,
    /// The largest one so far.
    pub window_max: u32,
    pub wl1: Seq,
    pub wl2: Seq,
    /// By how much the peer shifts its windows.
    pub scale: u8,
    pub retries: u8,
    /// Whether SYN has left more than once, or nobody knows when it left: which one is acknowledged
    /// cannot be told (Karn's algorithm).
    pub is_syn_ambiguous: bool,
    /// The window was reduced for marks (RFC 3168): once for all up to this number.
    pub marked_until: Option<Seq>,
    /// Whether FIN follows the data in `stream`, and whether it has left.
    pub finished: bool,
    pub fin_sent: bool,
    /// Whether the program found no room and waits for some.
    pub is_waited_for: bool,
    /// Whether it was the congestion window that held back data last.
    pub is_congestion_limited: bool,
    /// The largest segment that the peer takes, without options.
    pub peer_mss: u16,
    /// The largest packet that the way takes.
    pub mtu: u16,
    /// Behind the last octet that is urgent.
    pub urgent: Option<Seq>,
    /// Up to where a small segment was sent (Minshall's variant of Nagle's algorithm).
    pub small_end: Seq,
    /// When the retransmission timer was started last, and when what is not acknowledged left.
    pub timer_base: Instant,
    pub unanswered_since: Instant,
    pub last_sent: Instant,
    pub rtt: Rtt,
    pub congestion: Congestion,
    pub memory: Memory,
    pub scoreboard: Option<Box<Scoreboard>>,
    /// What is not acknowledged, and what waits.
    pub stream: Lent,
}

/// What comes in: RCV of RFC 9293.
pub(super) struct Receiver {
    pub next: Seq,
    /// The end of the window that was offered last: it never goes back.
    pub edge: Seq,
    /// The acknowledgment that was sent last (RFC 7323's Last.ACK.sent).
    pub last_ack: Seq,
    /// By how much own windows are shifted.
    pub scale: u8,
    /// Full segments since the last acknowledgment.
    pub unacknowledged: u8,
    /// How many segments are still acknowledged at once, so that the peer's window grows.
    pub quick: u8,
    /// Where FIN is, if it has arrived.
    pub fin: Option<Seq>,
    pub urgent: Option<Seq>,
    /// The peer's clock in its last segment in order (RFC 7323's TS.Recent), and when that was.
    pub ts_recent: u32,
    pub ts_recent_ms: u32,
    pub heard_at: Instant,
    /// Whether it stands among those who hold early data, or did.
    pub is_holder: bool,
    pub reassembly: Option<Box<Reassembly>>,
    /// What the program has not read.
    pub stream: Lent,
}

/// What both ends understand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreed {
    pub sack: bool,
    pub scaling: bool,
    pub timestamps: bool,
    pub ecn: bool,
    /// What is added to the clock in timestamps, another number for each flow.
    pub timestamp_offset: u32,
}

/// What is to leave as soon as there is a buffer for it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Due {
    pub syn: bool,
    pub ack: bool,
    /// One for the last segment alone: the next one has its own.
    pub ack_each: bool,
    /// One octet into a closed window.
    pub window_probe: bool,
    /// The last segment again, or a new one beyond the congestion window (RFC 8985, section 7).
    pub tail_probe: bool,
    pub keepalive: bool,
    /// ECE in all segments until the peer has reduced its window, and CWR in the next with data.
    pub ecn_echo: bool,
    pub window_reduced: bool,
    /// RST, after which there is no connection.
    pub reset: bool,
    /// Whether the connection stands in the queue of those that have something to send.
    pub is_queued: bool,
}

/// Whose it is, and what he has not been told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Owner {
    pub ready: Ready,
    pub is_queued: bool,
    /// Whether it stands among those who wait for memory.
    pub is_starved: bool,
    /// The listener in whose backlog it is, or was.
    pub listener: Option<ListenerId>,
    /// Whether it stands in the listener's queue.
    pub is_waiting: bool,
    /// Whether the program has it: it opened or accepted it.
    pub has_it: bool,
    /// Whether the program has given it back: nobody reads any more.
    pub is_orphan: bool,
    pub nodelay: bool,
    pub keepalive: bool,
    pub keepalives_sent: u8,
    pub reason: Option<Reason>,
    pub trouble: Option<Trouble>,
    /// Its own R2 in seconds; 0: that of the configuration.
    pub user_timeout_s: u32,
    /// The Differentiated Services codepoint of what leaves.
    pub diffserv: u8,
}

/// What is needed beside a connection to move it on.
pub(super) struct Context<'a> {
    pub now: Instant,
    pub config: &'a Config,
    pub pool: &'a mut Pool,
    pub spare: &'a mut Spare,
    pub counters: &'a mut Counters,
}

/// What connections need only while data is on its way, kept for the next one. The boxes are handed
/// over as they are.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "a box that moves costs no copy and no allocation")]
pub(super) struct Spare {
    scoreboards: Vec<Box<Scoreboard>>,
    reassemblies: Vec<Box<Reassembly>>,
    streams: Vec<Box<Stream>>,
}

impl Spare {
    /// A scoreboard on which nothing is, before `una`.
    pub fn scoreboard(&mut self, una: Seq, is_sack_permitted: bool) -> Box<Scoreboard> {
        let Some(mut scoreboard) = self.scoreboards.pop() else {
            return Box::new(Scoreboard::new(una, is_sack_permitted));
        };
        scoreboard.reset(una, is_sack_permitted);
        scoreboard
    }

    pub fn keep_scoreboard(&mut self, scoreboard: Box<Scoreboard>) {
        if self.scoreboards.len() < SPARES_MAX {
            self.scoreboards.push(scoreboard);
        }
    }

    pub fn stream(&mut self) -> Box<Stream> {
        self.streams.pop().unwrap_or_default()
    }

    pub fn keep_stream(&mut self, stream: Box<Stream>) {
        if self.streams.len() < SPARES_MAX {
            self.streams.push(stream);
        }
    }

    pub fn reassembly(&mut self) -> Box<Reassembly> {
        self.reassemblies.pop().unwrap_or_else(|| Box::new(Reassembly::new()))
    }

    pub fn keep_reassembly(&mut self, mut reassembly: Box<Reassembly>) {
        if self.reassemblies.len() < SPARES_MAX {
            reassembly.clear();
            self.reassemblies.push(reassembly);
        }
    }
}

impl Connection {
    /// Gives back what only an open connection needs. What was received stays to be read.
    pub fn release(&mut self, context: &mut Context<'_>) {
        self.sender.stream.clear(context.pool, context.spare);
        if let Some(scoreboard) = self.sender.scoreboard.take() {
            context.spare.keep_scoreboard(scoreboard);
        }
        if let Some(reassembly) = self.receiver.reassembly.take() {
            context.spare.keep_reassembly(reassembly);
            // What lies before it will not come any more.
            self.receiver.stream.discard_early(context.pool, context.spare);
        }
        if self.owner.is_orphan {
            self.receiver.stream.clear(context.pool, context.spare);
        }
        self.timers = Timers::default();
        self.due = Due { is_queued: self.due.is_queued, ..Due::default() };
    }

    /// Ends the connection before its time.
    pub fn fail(&mut self, reason: Reason, context: &mut Context<'_>) {
        if self.state == State::Closed {
            return;
        }
        if self.state.is_synchronized() {
            context.counters.aborted += 1;
        } else {
            context.counters.open_failed += 1;
        }
        self.owner.reason = Some(reason);
        self.end(context);
    }

    /// Tells the program of what may pass.
    pub fn trouble(&mut self, trouble: Trouble) {
        self.owner.trouble = Some(trouble);
        self.owner.ready |= Ready::TROUBLED;
    }

    /// Ends the connection.
    pub fn end(&mut self, context: &mut Context<'_>) {
        self.state = State::Closed;
        self.owner.ready |= Ready::CLOSED;
        self.release(context);
    }

    /// Ends the connection before its time from here, which the peer is told by RST (RFC 9293,
    /// section 3.10.5).
    pub fn abort(&mut self, context: &mut Context<'_>) {
        if self.state == State::Closed {
            return;
        }
        let peer_knows = self.state != State::SynSent;
        self.fail(Reason::Aborted, context);
        self.due.reset = peer_knows;
    }
}

impl Sender {
    /// The number of the first octet in `stream`.
    pub fn stream_start(&self, state: State) -> Seq {
        // SYN takes the number before it.
        if matches!(state, State::SynSent | State::SynReceived) { self.una + 1 } else { self.una }
    }

    /// Octets sent and not acknowledged, SYN and FIN included.
    pub fn outstanding(&self) -> u32 {
        self.nxt.distance(self.una)
    }

    /// The end of the window.
    pub fn edge(&self) -> Seq {
        self.una + self.window
    }
}

/// How many boxes are kept for the next connection that needs one.
const SPARES_MAX: usize = 1_024;

// An idle connection has nothing else but its places in the tables: 512 bytes at most, all told.
const _: () = assert!(size_of::<Connection>() <= 416);
