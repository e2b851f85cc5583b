//! The flags of `portolan sockets`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{columns::Column, order::Order};
use crate::listing::Listing;

/// List the TCP and UDP sockets of this host.
///
/// Flags and filters are those of ss(8). Without -a, -l and states in the filter: the sockets that
/// have a peer.
// A flag may stand there twice, as in ss(8): -n -tln, and of two orders the last one counts.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
#[command(after_long_help = "\
Examples:
  portolan sockets -tlp                        what listens, and who
  portolan sockets -t dst 10.0.0.0/8           connections to there
  portolan sockets -t state close-wait -p      who forgot to close
  portolan sockets -t --group-by process       who has the most connections
  portolan sockets -ta --sort -recv-q --limit 20    where most waits to be read
  portolan sockets -t --columns rtt,peer,process --sort -rtt    who is far away
  portolan sockets -tm --sort -memory --limit 20    whose queues take most memory
  portolan sockets -tp --watch                 what opens and closes, as it happens
  portolan sockets --kill dst 10.0.0.1 dport = :5432    close these connections

Exit codes: 0 done; 1 sockets that --kill was to close are still there; 2 an error.

docs/guide/sockets.md has more.")]
pub struct SocketsArgs {
    /// TCP sockets; without -t and -u, both.
    #[arg(short, long)]
    pub tcp: bool,

    /// UDP sockets.
    #[arg(short, long)]
    pub udp: bool,

    /// Only sockets that listen (TCP) or have no peer (UDP). Of -l and -a the last one counts.
    #[arg(short, long, overrides_with = "all")]
    pub listening: bool,

    /// Sockets in every state.
    #[arg(short, long, overrides_with = "listening")]
    pub all: bool,

    /// Accepted for the habit's sake: addresses and ports are always shown as numbers.
    #[arg(short, long)]
    pub numeric: bool,

    /// Accepted for the habit's sake: a socket is always one line.
    #[arg(short = 'O', long)]
    pub oneline: bool,

    /// Refused, with a reason: it is a flag of ss(8) that changes what is shown.
    #[arg(short, long, hide = true)]
    pub resolve: bool,

    /// Show which process holds each socket.
    #[arg(short, long)]
    pub processes: bool,

    /// Show user, inode and cookie, and the timer as -o does.
    #[arg(short, long)]
    pub extended: bool,

    /// Show what TCP measured on each connection.
    #[arg(short, long)]
    pub info: bool,

    /// Show the timer that runs, and retransmissions.
    #[arg(short = 'o', long)]
    pub options: bool,

    /// Show what the queues of each socket take of the kernel's memory.
    #[arg(short, long)]
    pub memory: bool,

    /// Show these columns, in this order, instead of the usual ones.
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    #[arg(conflicts_with_all = ["summary", "group_by"])]
    pub columns: Option<Vec<Column>>,

    /// Sort by a column; --sort -COLUMN has the largest first.
    #[arg(long, value_name = "[-]COLUMN", allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["summary", "group_by"])]
    pub sort: Option<Order>,

    /// Turn the order of --sort around.
    #[arg(long, requires = "sort")]
    pub reverse: bool,

    /// Show only so many sockets, the first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(conflicts_with_all = ["summary", "group_by"])]
    pub limit: Option<u64>,

    /// Show what opens (+), closes (-) and changes its state (~) from now on; each second, or at
    /// the pace given, such as --watch=200ms.
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "1s", value_parser = super::watch::pace)]
    #[arg(conflicts_with_all = ["summary", "group_by", "sort", "limit", "kill"])]
    pub watch: Option<Duration>,

    /// Close these sockets, after a question: their peers get a reset, their programs an error.
    ///
    /// Takes a filter that names an address, port, interface or user, or states other than
    /// ESTAB, and CAP_NET_ADMIN.
    #[arg(short = 'K', long, conflicts_with_all = ["summary", "group_by"])]
    pub kill: bool,

    /// Close them without the question.
    #[arg(long, requires = "kill")]
    pub yes: bool,

    /// Only IPv4; with -6, both.
    #[arg(short = '4', long)]
    pub ipv4: bool,

    /// Only IPv6, and IPv4 in IPv6 sockets; with -4, both.
    #[arg(short = '6', long)]
    pub ipv6: bool,

    /// Print no heading.
    #[arg(short = 'H', long)]
    pub no_header: bool,

    /// Print one JSON object per line (docs/formats/socket.md).
    #[arg(long)]
    pub json: bool,

    /// Count sockets by transport and state instead of listing them.
    #[arg(short, long, conflicts_with = "group_by")]
    pub summary: bool,

    /// Count sockets by this instead of listing them.
    #[arg(long, value_name = "WHAT")]
    pub group_by: Option<GroupBy>,

    /// Show so many groups, the largest; 0 shows all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,

    /// How to list sockets.
    #[arg(long, default_value = "auto")]
    pub method: Listing,

    /// Sockets of all network namespaces (containers), each row with its own.
    #[arg(short = 'N', long)]
    pub all_netns: bool,

    /// Which sockets, in the language of ss(8) (docs/guide/filters.md).
    pub filter: Vec<String>,
}

/// What sockets can be counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GroupBy {
    /// Transport and state.
    State,
    /// The peer's address.
    Peer,
    /// The peer's port.
    PeerPort,
    /// The socket's own address.
    Local,
    /// The socket's own port.
    LocalPort,
    /// The user, by number.
    User,
    /// The process that holds it, by name.
    Process,
    /// The process's systemd unit.
    Unit,
    /// The process's container.
    Container,
    /// The network namespace.
    Namespace,
}
