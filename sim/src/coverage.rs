//! What happened in a run, counted: whether a kind of trouble is met is measured, not assumed.

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident => $text:literal,)*) => {
        /// What can happen in a run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Happening { $($(#[$doc])* $kind,)* }

        impl Happening {
            /// All of them, in the order in which they are declared.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];
            const COUNT: usize = Self::ALL.len();

            /// What it is, in a few words.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $text,)* }
            }
        }
    };
}

kinds! {
    /// A link lost a frame by itself.
    Lost => "frame lost",
    /// A link lost a frame in a burst.
    LostInBurst => "frame lost in a burst",
    /// A link lost a frame in a pause.
    LostInPause => "frame lost in a pause",
    /// A frame waited for the end of a pause.
    HeldInPause => "frame held by a pause",
    /// A pause of three seconds or more began: longer than any first retransmission timeout.
    LongPause => "pause of 3 s or more",
    /// A frame found the queue full.
    QueueFull => "queue full",
    /// A frame was late, so that others could overtake it.
    Reordered => "frame reordered",
    /// A frame arrived twice.
    Duplicated => "frame doubled",
    /// An old SYN arrived once more.
    OldSyn => "old SYN again",
    /// An old FIN arrived once more.
    OldFin => "old FIN again",
    /// An old RST arrived once more.
    OldReset => "old RST again",
    /// Bits were turned.
    Corrupted => "frame corrupted",
    /// A frame lost its end.
    Truncated => "frame cut",
    /// Congestion was marked.
    Marked => "congestion marked",
    /// A packet was too large, and its sender was told.
    TooBigTold => "packet too big, and told",
    /// A packet was too large, and vanished.
    BlackHole => "packet too big, and not told",
    /// The MTU of a link changed.
    MtuChanged => "MTU changed",
    /// The delay or the rate of a link changed.
    PaceChanged => "delay or rate changed",
    /// A window was made smaller than it had been offered.
    WindowShrunk => "window shrunk",
    /// An end sent a segment with a closed window.
    ZeroWindow => "window closed",
    /// Sequence numbers went past their wrap within a connection.
    Wrapped => "sequence numbers wrapped",
    /// A program stopped reading for a time.
    Stalled => "program stalls",
    /// A program read a little at a time.
    ReadSlowly => "program reads slowly",
    /// A program wrote a little at a time.
    WroteSlowly => "program writes slowly",
    /// A program wrote nothing for some seconds at first.
    WroteLate => "program writes late",
    /// A program began to write when the other end had finished.
    WroteAfterEnd => "program writes into a half-closed connection",
    /// A program took data where it lay.
    TookInPlace => "data taken in place",
    /// A program reset a connection with data still to come.
    AbortedMidway => "abort in the middle",
    /// A program closed a connection with data still to come.
    ClosedMidway => "close in the middle",
    /// Both programs of a connection were through in good order.
    Complete => "connection complete",
    /// A connection to a port on which nobody listens was refused.
    Refused => "connection refused",
    /// A connection came from the port of one before it.
    PortReused => "port used again",
    /// The port's TIME-WAIT at the other end was cut short by that: RFC 6191.
    TimeWaitReused => "TIME-WAIT reused",
    /// A program was slow to accept.
    AcceptedSlowly => "connection accepted slowly",
    /// The end of a handshake found no room to wait in.
    AcceptQueueFull => "accept queue full",
    /// SYN found no room, and got no answer.
    BacklogFull => "backlog full, no cookies",
    /// A SYN was answered with a cookie.
    CookieSent => "cookie sent",
    /// A cookie came back.
    CookieAccepted => "cookie accepted",
    /// An idle connection was probed.
    Keepalive => "keepalive sent",
    /// A connection was given up by its user timeout, or as no probe was answered.
    GivenUp => "connection given up by a timeout",
    /// A closed window was probed.
    WindowProbe => "window probed",
    /// The end of the data was probed.
    TailProbe => "tail probed",
    /// A retransmission timeout.
    Timeout => "retransmission timeout",
    /// Loss was found without a timeout.
    Recovery => "recovery",
    /// A recovery was undone.
    Spurious => "needless recovery undone",
    /// A path's MTU was learnt.
    PathMtu => "path MTU reduced",
    /// A segment was refused for its timestamp.
    OldTimestamp => "segment refused for its timestamp",
    /// A segment was outside of the window.
    OutOfWindow => "segment out of window",
    /// A peer was asked whether it was he: RFC 5961.
    Challenge => "challenge ACK",
    /// A reset was believed.
    ResetBelieved => "reset believed",
    /// Early data was kept.
    OutOfOrder => "segment out of order",
    /// Data was dropped for want of memory.
    NoBuffer => "no memory for a segment",
    /// A connection of two active ends.
    SimultaneousOpen => "simultaneous open",
    /// Both ends finished at the same time.
    SimultaneousClose => "simultaneous close",
    /// FIN-WAIT-2 was reached.
    FinWait2 => "FIN-WAIT-2",
    /// LAST-ACK was reached.
    LastAck => "LAST-ACK",
    /// TIME-WAIT was reached.
    TimeWait => "TIME-WAIT",
    /// A datagram of UDP arrived.
    Datagram => "datagram arrived",
    /// A datagram was cut into fragments.
    FragmentSent => "fragment sent",
    /// A datagram was put together.
    Reassembled => "datagram put together",
    /// A datagram for a port that nobody has.
    PortUnreachable => "port unreachable told",
}

/// How often each of them happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage([u64; Happening::COUNT]);

impl Default for Coverage {
    fn default() -> Self {
        Self([0; Happening::COUNT])
    }
}

impl Coverage {
    /// It happened.
    pub fn note(&mut self, what: Happening) {
        self.add(what, 1);
    }

    /// It happened so often.
    pub fn add(&mut self, what: Happening, count: u64) {
        self.0[what as usize] += count;
    }

    /// How often it happened.
    #[must_use]
    pub const fn count(&self, what: Happening) -> u64 {
        self.0[what as usize]
    }

    /// All that happened elsewhere happened here as well.
    pub fn merge(&mut self, other: &Self) {
        for (here, there) in self.0.iter_mut().zip(other.0) {
            *here += there;
        }
    }

    /// The same, but what happened more than once counts one: added up, in how many runs it did.
    #[must_use]
    pub fn once(&self) -> Self {
        Self(self.0.map(|count| count.min(1)))
    }
}
