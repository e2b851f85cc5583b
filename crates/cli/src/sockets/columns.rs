//! What can be shown of a socket.

use clap::ValueEnum;
use portolan_sockets::Details;

/// A column of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Column {
    /// Transport protocol.
    Netid,
    /// State.
    State,
    /// Bytes received and not read; of a listener, connections that wait.
    RecvQ,
    /// Bytes sent and not acknowledged; of a listener, how many connections may wait.
    SendQ,
    /// The socket's own address and port.
    Local,
    /// The socket's own address.
    LocalAddress,
    /// The socket's own port.
    LocalPort,
    /// The peer's address and port.
    Peer,
    /// The peer's address.
    PeerAddress,
    /// The peer's port.
    PeerPort,
    /// The name of the process that holds it.
    Process,
    /// The id of that process.
    Pid,
    /// The systemd unit of that process.
    Unit,
    /// The container of that process.
    Container,
    /// The network namespace.
    Namespace,
    /// The user, by number.
    Uid,
    /// The socket's inode number.
    Inode,
    /// The kernel's unique number of the socket.
    Cookie,
    /// The interface that it is bound to.
    Interface,
    /// The timer that runs.
    Timer,
    /// What its queues take of the kernel's memory.
    Memory,
    /// Packets dropped for want of memory.
    Drops,
    /// What TCP measured.
    Info,
    /// Smoothed round-trip time.
    Rtt,
    /// Segments retransmitted since the start.
    Retrans,
    /// Congestion window, segments.
    Cwnd,
    /// Bytes sent since the start.
    Sent,
    /// Bytes received since the start.
    Received,
}

impl Column {
    /// What ss(8) shows of every socket.
    pub const ALWAYS: [Self; 6] =
        [Self::Netid, Self::State, Self::RecvQ, Self::SendQ, Self::Local, Self::Peer];

    /// As `--columns` takes it.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// What stands above it.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Netid => "Netid",
            Self::State => "State",
            Self::RecvQ => "Recv-Q",
            Self::SendQ => "Send-Q",
            Self::Local => "Local Address:Port",
            Self::LocalAddress => "Local Address",
            Self::LocalPort => "Local Port",
            Self::Peer => "Peer Address:Port",
            Self::PeerAddress => "Peer Address",
            Self::PeerPort => "Peer Port",
            Self::Process => "Process",
            Self::Pid => "PID",
            Self::Unit => "Unit",
            Self::Container => "Container",
            Self::Namespace => "Namespace",
            Self::Uid => "UID",
            Self::Inode => "Inode",
            Self::Cookie => "Cookie",
            Self::Interface => "Interface",
            Self::Timer => "Timer",
            Self::Memory => "Memory",
            Self::Drops => "Drops",
            Self::Info => "Info",
            Self::Rtt => "RTT",
            Self::Retrans => "Retrans",
            Self::Cwnd => "Cwnd",
            Self::Sent => "Sent",
            Self::Received => "Received",
        }
    }

    /// So wide that most values fit, and the heading does; longer ones push what follows.
    pub fn width(self) -> usize {
        match self {
            Self::State => 10,
            // Any IPv4 address with its port.
            Self::Local | Self::Peer => 21,
            Self::LocalAddress | Self::PeerAddress | Self::Process => 15,
            Self::Unit => 24,
            Self::Container => 12,
            Self::Inode | Self::Namespace | Self::Sent | Self::Received => 10,
            Self::Pid | Self::Uid | Self::Cookie => 7,
            Self::Timer => 20,
            Self::Memory => 50,
            _ => self.heading().len(),
        }
    }

    /// Whether it takes a look at who holds the sockets.
    pub fn needs_owners(self) -> bool {
        matches!(self, Self::Process | Self::Pid | Self::Unit | Self::Container)
    }

    /// Asks a listing for what the column shows.
    pub fn ask(self, details: &mut Details) {
        match self {
            Self::RecvQ | Self::SendQ => details.queues = true,
            Self::Uid | Self::Inode => details.holder = true,
            Self::Process | Self::Pid | Self::Unit | Self::Container => details.holder = true,
            Self::Cookie => details.cookie = true,
            Self::Timer => details.timer = true,
            Self::Memory | Self::Drops => details.memory = true,
            Self::Info | Self::Rtt | Self::Retrans | Self::Cwnd | Self::Sent | Self::Received => {
                details.tcp_info = true
            }
            Self::Netid | Self::State | Self::Namespace | Self::Interface => {}
            Self::Local | Self::LocalAddress | Self::LocalPort => {}
            Self::Peer | Self::PeerAddress | Self::PeerPort => {}
        }
    }
}

/// Some columns, without an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnSet(u32);

impl ColumnSet {
    /// Whether `column` is in the set.
    pub fn has(self, column: Column) -> bool {
        self.0 & 1 << column as u32 != 0
    }

    /// Whether any of `columns` is.
    pub fn has_any(self, columns: &[Column]) -> bool {
        columns.iter().any(|&column| self.has(column))
    }
}

impl FromIterator<Column> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = Column>>(columns: I) -> Self {
        Self(columns.into_iter().fold(0, |bits, column| bits | 1 << column as u32))
    }
}

#[cfg(test)]
mod tests;
