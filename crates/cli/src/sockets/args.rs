//! The flags of `portolan sockets`, and what is meant by them.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use portolan_flow::Transport;
use portolan_sockets::{Filter, HostNames, MethodName, Query, Row, State, States};

use crate::listing::Listing;

/// List the TCP and UDP sockets of this host.
///
/// Flags and filters are those of ss(8). Without -a, -l and states in the filter: the sockets that
/// have a peer.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  portolan sockets -tlp                        what listens, and who
  portolan sockets -t dst 10.0.0.0/8           connections to there
  portolan sockets -t state close-wait -p      who forgot to close
  portolan sockets -t --group-by process       who has the most connections")]
pub struct SocketsArgs {
    /// TCP sockets; without -t and -u, both.
    #[arg(short, long)]
    tcp: bool,

    /// UDP sockets.
    #[arg(short, long)]
    udp: bool,

    /// Only sockets that listen (TCP) or have no peer (UDP).
    #[arg(short, long)]
    listening: bool,

    /// Sockets in every state.
    #[arg(short, long, conflicts_with = "listening")]
    all: bool,

    /// Accepted for the habit's sake: addresses and ports are always shown as numbers.
    #[arg(short, long)]
    numeric: bool,

    /// Show which process holds each socket.
    #[arg(short, long)]
    processes: bool,

    /// Show user, inode and cookie.
    #[arg(short, long)]
    extended: bool,

    /// Show what TCP measured on each connection.
    #[arg(short, long)]
    info: bool,

    /// Show the timer that runs, and retransmissions.
    #[arg(short = 'o', long)]
    options: bool,

    /// Only IPv4.
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    ipv4: bool,

    /// Only IPv6.
    #[arg(short = '6', long)]
    ipv6: bool,

    /// Print no heading.
    #[arg(short = 'H', long)]
    no_header: bool,

    /// Print one JSON object per line (docs/formats/socket.md).
    #[arg(long)]
    json: bool,

    /// Count sockets by transport and state instead of listing them.
    #[arg(short, long, conflicts_with = "group_by")]
    summary: bool,

    /// Count sockets by this instead of listing them.
    #[arg(long, value_name = "WHAT")]
    group_by: Option<GroupBy>,

    /// Show so many groups, the largest; 0 shows all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,

    /// How to list sockets.
    #[arg(long, default_value = "auto")]
    method: Listing,

    /// Sockets of all network namespaces (containers), each row with its own.
    #[arg(short = 'N', long)]
    all_netns: bool,

    /// Which sockets, in the language of ss(8) (docs/guide/filters.md).
    filter: Vec<String>,
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

/// What is meant by the flags.
#[derive(Debug)]
pub struct Config {
    transports: Vec<Transport>,
    states: States,
    /// 4 or 6; `None` for both.
    version: Option<u8>,
    filter: Option<Arc<Filter>>,
    pub method: Option<MethodName>,
    pub all_netns: bool,
    pub needs_owners: bool,
    pub columns: Columns,
    pub show: Show,
}

/// What a row shows beside addresses and state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    pub heading: bool,
    pub processes: bool,
    pub extended: bool,
    pub info: bool,
    pub timer: bool,
    pub namespace: bool,
}

/// What to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    Rows { json: bool },
    Counts { by: GroupBy, top: usize, json: bool },
}

impl Config {
    /// Checks what the parser cannot.
    pub fn check(args: &SocketsArgs) -> anyhow::Result<Self> {
        let filter = match args.filter.join(" ") {
            text if text.trim().is_empty() => None,
            text => Some(Arc::new(Filter::parse_with(&text, &HostNames::read())?)),
        };
        let by = if args.summary { Some(GroupBy::State) } else { args.group_by };
        let show = match by {
            None => Show::Rows { json: args.json },
            Some(by) => {
                let top = if args.summary { 0 } else { args.top };
                Show::Counts { by, top, json: args.json }
            }
        };
        let grouped_by_owner =
            matches!(by, Some(GroupBy::Process | GroupBy::Unit | GroupBy::Container));
        Ok(Self {
            transports: match (args.tcp, args.udp) {
                (true, false) => vec![Transport::Tcp],
                (false, true) => vec![Transport::Udp],
                _ => vec![Transport::Tcp, Transport::Udp],
            },
            states: states(args, filter.as_deref()),
            version: match (args.ipv4, args.ipv6) {
                (true, _) => Some(4),
                (_, true) => Some(6),
                _ => None,
            },
            filter,
            method: args.method.method(),
            all_netns: args.all_netns,
            needs_owners: args.processes || grouped_by_owner,
            columns: Columns {
                heading: !args.no_header,
                processes: args.processes,
                extended: args.extended,
                info: args.info,
                timer: args.options,
                namespace: args.all_netns,
            },
            show,
        })
    }

    /// What to ask of each namespace.
    pub fn queries(&self) -> Vec<Query> {
        let query = |&transport: &Transport| Query {
            states: self.states,
            tcp_info: self.columns.info && transport == Transport::Tcp,
            filter: self.filter.clone(),
            ..Query::all(transport)
        };
        self.transports.iter().map(query).collect()
    }

    /// What a query cannot say: a socket of IPv6 that carries IPv4 is IPv6's, as in ss(8).
    pub fn wants(&self, row: &Row) -> bool {
        self.version.is_none_or(|version| row.local.is_ipv4() == (version == 4))
    }
}

/// States that the filter names come before the flags, and before the default.
fn states(args: &SocketsArgs, filter: Option<&Filter>) -> States {
    let listening = States::NONE.with(State::Listen).with(State::Close);
    let counting_states = args.summary || args.group_by == Some(GroupBy::State);
    if args.all || counting_states || filter.is_some_and(Filter::names_states) {
        States::ALL
    } else if args.listening {
        listening
    } else {
        let fleeting = States::NONE.with(State::TimeWait).with(State::SynReceived);
        States::ALL.difference(listening.union(fleeting))
    }
}

#[cfg(test)]
mod tests;
