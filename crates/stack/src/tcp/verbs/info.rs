//! How connections stand, for those who ask.

use core::{fmt, time::Duration};

use crate::tcp::{ConnectionId, Error, Flow, Reason, State, Tcp, Trouble, connection::Connection};

/// How a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its two ends.
    pub flow: Flow,
    /// Its state.
    pub state: State,
    /// Why it ended, where that was before its time.
    pub reason: Option<Reason>,
    /// What is wrong at present, and may pass.
    pub trouble: Option<Trouble>,
    /// Bytes that were written and are not acknowledged.
    pub unacknowledged: u32,
    /// Bytes that were received and not read.
    pub unread: u32,
    /// How many bytes are to be read until the end of what the peer has marked as urgent; none if
    /// nothing is (RFC 9293, MUST-33). Not all of them need have arrived.
    pub urgent: Option<u32>,
    /// The congestion window in bytes.
    pub congestion_window: u32,
    /// The window that the peer offers, in bytes.
    pub window: u32,
    /// Payload of a full segment, in bytes.
    pub segment_len: u32,
    /// The smoothed round-trip time, once there is one.
    pub round_trip: Option<Duration>,
    /// The retransmission timeout.
    pub retransmission_timeout: Duration,
    /// Whether selective acknowledgments, timestamps, scaled windows and congestion marks are used.
    pub sack: bool,
    /// Whether timestamps are used.
    pub timestamps: bool,
    /// Whether windows are scaled.
    pub scaling: bool,
    /// Whether congestion marks are used.
    pub ecn: bool,
}

impl Tcp {
    /// How the connection stands.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchHandle`].
    pub fn info(&self, id: ConnectionId) -> Result<Info, Error> {
        self.connection(id).map(Info::of)
    }

    /// How the connections stand that there are, those without a program and half-open ones too,
    /// TIME-WAIT not. Looks at the numbers from `first` on, at most so many, and says which number
    /// comes next; none after the last one. A table of a million numbers takes milliseconds to go
    /// through: whoever has frames to handle asks for a part at a time.
    pub fn infos(&self, first: usize, count: usize) -> (impl Iterator<Item = Info>, Option<usize>) {
        let end = self.connections.numbers();
        let next = first.saturating_add(count).min(end);
        let numbers = (first..next).filter_map(|number| u32::try_from(number).ok());
        let found = numbers.filter_map(|number| self.connections.get(number)).map(Info::of);
        (found, Some(next).filter(|next| *next < end))
    }
}

impl Info {
    fn of(connection: &Connection) -> Self {
        let (sender, agreed) = (&connection.sender, &connection.agreed);
        Self {
            flow: connection.flow,
            state: connection.state,
            reason: connection.owner.reason,
            trouble: connection.owner.trouble,
            unacknowledged: sender.stream.len(),
            unread: connection.receiver.stream.len(),
            urgent: connection.receiver.urgent_ahead(),
            congestion_window: sender.congestion.window(),
            window: sender.window,
            segment_len: connection.payload_max(usize::MAX),
            round_trip: sender.rtt.srtt(),
            retransmission_timeout: sender.rtt.rto(),
            sack: agreed.sack,
            timestamps: agreed.timestamps,
            scaling: agreed.scaling,
            ecn: agreed.ecn,
        }
    }
}

/// As RFC 9293 writes it.
impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::SynSent => "SYN-SENT",
            Self::SynReceived => "SYN-RECEIVED",
            Self::Established => "ESTABLISHED",
            Self::FinWait1 => "FIN-WAIT-1",
            Self::FinWait2 => "FIN-WAIT-2",
            Self::CloseWait => "CLOSE-WAIT",
            Self::Closing => "CLOSING",
            Self::LastAck => "LAST-ACK",
            Self::TimeWait => "TIME-WAIT",
            Self::Closed => "CLOSED",
        })
    }
}
