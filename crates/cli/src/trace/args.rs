//! The flags of `portolan trace`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{config, order::Order};
use crate::metrics::MetricsArgs;

/// Show what goes over every edge of this host, as it happens: connections, bytes, round trips,
/// retransmits and failures.
///
/// Programs in the kernel add up who talks to whom; no application is changed, and no connection is
/// too short to be seen. Needs root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN; without, the
/// kernel's socket tables are polled, which shows what is up and not what goes over it.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  portolan trace                          the live view: what is busiest stands first
  portolan trace redis                    only edges with this in a name, an address or the port
  portolan trace --failed                 who is refused, by whom
  portolan trace --sort retransmits       where the network loses
  portolan trace --json --duration 1m     for programs (docs/formats/trace.md)
  portolan trace --once                   one interval as a table
  portolan trace --metrics 127.0.0.1:9464 for Prometheus, as long as it runs

docs/guide/trace.md has more.")]
pub struct TraceArgs {
    /// Only edges that have each of these words in a name, an address, the port or its service.
    #[arg(value_name = "WORD")]
    pub filter: Vec<String>,

    /// Print one JSON object per edge and interval, and one per interval (docs/formats/trace.md).
    #[arg(long)]
    pub json: bool,

    /// Report one interval and exit.
    #[arg(long, conflicts_with = "count")]
    pub once: bool,

    /// Report so many intervals and exit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Stop after this time; what happened since the last full interval is reported too.
    #[arg(long, value_name = "TIME", value_parser = config::duration)]
    pub duration: Option<Duration>,

    /// Time between two reports, 100ms to 1h.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = config::interval)]
    pub interval: Duration,

    /// What the edges are ordered by.
    #[arg(long, value_name = "KEY", default_value = "connections")]
    pub sort: Order,

    /// Only TCP; with --udp, both.
    #[arg(short, long)]
    pub tcp: bool,

    /// Only UDP; with --tcp, both.
    #[arg(short, long)]
    pub udp: bool,

    /// Do not trace UDP: then no program runs for a datagram.
    #[arg(long, conflicts_with = "udp")]
    pub no_udp: bool,

    /// Only edges with an end of this process, systemd unit or container (its id, or the first 12
    /// digits).
    #[arg(long, value_name = "NAME")]
    pub process: Option<String>,

    /// Only edges to this listening port.
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,

    /// Only edges over which a connection failed in the interval.
    #[arg(long)]
    pub failed: bool,

    /// Only edges with an end in the network namespace that the program runs in.
    #[arg(long)]
    pub own_namespace: bool,

    /// How to find out what happens.
    #[arg(long, default_value = "auto")]
    pub method: TraceMethod,

    /// Where in the kernel to attach.
    #[arg(long, default_value = "auto")]
    pub attach: AttachArg,

    /// Where in the kernel to see UDP, wherever TCP is seen; with --attach cgroup, cgroup_skb.
    #[arg(long, default_value = "auto", conflicts_with = "no_udp")]
    pub udp_attach: UdpAttachArg,

    /// Tell so many edges apart in an interval (with the method `aggregate`, connections); what is
    /// beyond is added up in one row.
    #[arg(long, value_name = "N", default_value_t = 65_536)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4_194_304))]
    pub edges_max: u32,

    #[command(flatten)]
    pub metrics: MetricsArgs,
}

/// The ways to find out what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceMethod {
    /// `bundle`, and `snapshot` where that is refused.
    Auto,
    /// Sums per edge, in the kernel.
    Bundle,
    /// Sums per connection, in the kernel.
    Aggregate,
    /// An event per connection.
    Stream,
    /// Read the kernel's socket tables again and again; shows what is up, not what goes over it.
    Snapshot,
}

/// Where in the kernel to attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AttachArg {
    /// The best that this kernel allows.
    Auto,
    /// The tracepoint of TCP's states, with the kernel's types.
    #[value(name = "tp_btf")]
    TpBtf,
    /// The entry of functions, by trampolines.
    Fentry,
    /// The entry of functions, by breakpoints.
    Kprobe,
    /// The root control group alone: for kernels that do not describe their types, or take no
    /// programs that trace.
    Cgroup,
}

impl AttachArg {
    /// The one asked for; `None` leaves the choice to the program.
    pub fn attach(self) -> Option<portolan_trace::Attach> {
        match self {
            Self::Auto => None,
            Self::TpBtf => Some(portolan_trace::Attach::TpBtf),
            Self::Fentry => Some(portolan_trace::Attach::Fentry),
            Self::Kprobe => Some(portolan_trace::Attach::Kprobe),
            Self::Cgroup => Some(portolan_trace::Attach::Cgroup),
        }
    }
}

/// Where in the kernel to see UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UdpAttachArg {
    /// The best that this kernel allows, or not at all.
    Auto,
    /// The entry of functions that only UDP passes, by trampolines.
    Fentry,
    /// The root control group: a program runs for each TCP segment, too.
    #[value(name = "cgroup_skb")]
    CgroupSkb,
}

impl UdpAttachArg {
    /// The one asked for; `None` leaves the choice to the program.
    pub fn attach(self) -> Option<portolan_trace::UdpAttach> {
        match self {
            Self::Auto => None,
            Self::Fentry => Some(portolan_trace::UdpAttach::Fentry),
            Self::CgroupSkb => Some(portolan_trace::UdpAttach::CgroupSkb),
        }
    }
}
