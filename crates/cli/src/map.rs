//! `portolan map`: sockets, trace, flow and hub in one process.

mod config;
mod ending;
mod live;
mod reader;
mod screen;
mod server;
mod source;
mod traced;

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use anyhow::Context;
use clap::{Args, ValueEnum};
use portolan_hub::{Direction, Graph, Hub};
use portolan_sys::{clock, limits};

use crate::{listing::Listing, metrics::MetricsArgs, print};
use config::{Config, Question, Task};
use source::Source;

pub use source::CAPABILITIES;

/// Show which service talks to which on this host: live, with history.
///
/// Watches the kernel's socket tables, and has the kernel count what comes and goes meanwhile; no
/// application is changed. Serves a live page on loopback, keeps a table on the terminal, and
/// remembers what it saw. As root it sees the processes of all users and the network namespaces of
/// containers, and connections however short; without, it says what it cannot see.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  portolan map                              the live map, page and table
  portolan map --once                       one reading, then exit
  portolan map --dependents postgresql      what breaks if I stop this?
  portolan map --dependencies api --depth 1 what does it need directly?
  portolan map --once --dot | dot -Tsvg     a picture")]
pub struct MapArgs {
    /// Take one reading, print it and exit.
    #[arg(long)]
    once: bool,

    /// Print one JSON object per edge and line (docs/formats/flow.md); without --once, of every
    /// edge that changed, as long as it runs.
    #[arg(long, conflicts_with_all = ["dot", "mermaid"])]
    json: bool,

    /// Print one reading as a Graphviz graph and exit.
    #[arg(long, conflicts_with = "mermaid")]
    dot: bool,

    /// Print one reading as a Mermaid flow chart and exit.
    #[arg(long)]
    mermaid: bool,

    /// Print as a tree what depends on a service: a name, ADDRESS, ADDRESS:PORT or :PORT.
    #[arg(long, value_name = "SERVICE", conflicts_with_all = ["dot", "mermaid"])]
    dependents: Option<String>,

    /// Print as a tree what a service depends on.
    #[arg(long, value_name = "SERVICE", conflicts_with_all = ["dependents", "dot", "mermaid"])]
    dependencies: Option<String>,

    /// Follow dependencies over so many hops only.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,

    /// Include what was seen within this time (30m, 24h, 7d), not only what is there now
    /// [default: now; 7d for --dependents and --dependencies].
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    since: Option<Duration>,

    /// Time between two readings.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = config::interval)]
    interval: Duration,

    /// Where to serve the live page; loopback addresses only.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7117")]
    listen: String,

    /// Serve no page.
    #[arg(long)]
    no_page: bool,

    /// Where to keep the history [default: portolan/map.sqlite under the user's state directory].
    #[arg(long, value_name = "FILE", conflicts_with = "no_store")]
    store: Option<PathBuf>,

    /// Keep no history beyond this run.
    #[arg(long)]
    no_store: bool,

    /// Forget what was not seen for so long.
    #[arg(long, value_name = "TIME", default_value = "90d")]
    #[arg(value_parser = humantime::parse_duration)]
    keep: Duration,

    /// How to find out who talks to whom.
    #[arg(long, default_value = "auto")]
    method: MapMethod,

    /// How to list the sockets.
    #[arg(long, default_value = "auto")]
    listing: Listing,

    /// Look only at the network namespace that the program runs in.
    #[arg(long)]
    own_namespace: bool,

    #[command(flatten)]
    metrics: MetricsArgs,
}

/// The ways to find out who talks to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MapMethod {
    /// The best that this host allows.
    Auto,
    /// Read the kernel's socket tables again and again, and let it count what goes over each
    /// connection, also those that come and go between two readings.
    Trace,
    /// Only read the socket tables.
    Snapshot,
}

/// Runs the subcommand.
///
/// # Errors
/// When the host cannot be read, the store not be opened, or the address not be served.
pub fn run(args: &MapArgs) -> anyhow::Result<ExitCode> {
    let config = Config::check(args)?;
    match &config.task {
        Task::Live { .. } => live::run(config),
        Task::Once { .. } | Task::Ask { .. } => once(&config),
    }
}

fn once(config: &Config) -> anyhow::Result<ExitCode> {
    let _ = limits::raise_descriptors();
    let mut source = Source::open(config)?;
    let hub = config.open_hub()?;
    source.drop_privileges()?;
    let now_ms = clock::now_ms();
    source.read_into(&hub, now_ms)?;
    hub.close().context("cannot save the reading")?;
    let graph = hub.graph(Some(config.since_ms(now_ms)));
    print::warnings(&graph);
    let mut out = io::stdout().lock();
    let code = answer(config, &hub, &graph, &mut out)?;
    out.flush()?;
    Ok(code)
}

fn answer(
    config: &Config,
    hub: &Hub,
    graph: &Graph,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    match &config.task {
        Task::Ask { question, json } => return ask(config, graph, question, *json, out),
        Task::Once { format } => match format {
            config::Format::Table => {
                print::table::write(graph, print::terminal_width(), out)?;
                if graph.edges().is_empty() {
                    tell!("portolan: nothing is connected right now");
                }
            }
            config::Format::Json => print::json::records(graph.records(), out)?,
            config::Format::Dot => print::dot::write(graph, out)?,
            config::Format::Mermaid => print::mermaid::write(graph, out)?,
        },
        Task::Live { .. } => debug_assert!(false, "handled by live::run with {hub:?}"),
    }
    Ok(ExitCode::SUCCESS)
}

fn ask(
    config: &Config,
    graph: &Graph,
    question: &Question,
    json: bool,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let selection = match graph.select(&question.of) {
        Ok(selection) => selection,
        Err(error) => {
            tell!("portolan: {error}; looked at {}", config.describe_since());
            return Ok(ExitCode::from(1));
        }
    };
    let walk = graph.walk(&selection, question.direction, question.depth);
    if json {
        print::json::steps(graph, &walk, out)?;
    } else {
        print::tree::write(graph, &walk, question.direction, out)?;
        if walk.steps.is_empty() {
            let what = match question.direction {
                Direction::Dependents => "nothing was seen to depend on it",
                Direction::Dependencies => "it was not seen to depend on anything",
            };
            tell!("portolan: {what}; looked at {}", config.describe_since());
        }
    }
    Ok(ExitCode::SUCCESS)
}
