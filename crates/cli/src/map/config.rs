//! The flags of `portolan map`, checked once.

use std::{
    env,
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context, bail};
use portolan_hub::{Direction, Hub, Limits, Memory, Sqlite, Store, Users};
use portolan_sockets::SnapshotOptions;
use portolan_sys::{kernel, user};

use super::{MapArgs, MapMethod};
use crate::{metrics, print};

/// Shorter intervals would measure the observer.
const INTERVAL_MIN: Duration = Duration::from_millis(100);

/// Longer intervals are a matter for a timer and `--once`.
const INTERVAL_MAX: Duration = Duration::from_secs(24 * 3600);

/// How far back a question about dependencies looks.
const QUESTION_SINCE: Duration = Duration::from_secs(7 * 24 * 3600);

/// What is meant by the flags.
#[derive(Debug)]
pub struct Config {
    pub task: Task,
    pub interval: Duration,
    /// `None`: only what is there now.
    since: Option<Duration>,
    keep: Duration,
    store: Option<PathBuf>,
    pub snapshot: SnapshotOptions,
    pub trace: Tracing,
    pub metrics: Option<metrics::Wanted>,
}

/// Whether the kernel is to count what goes over the edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracing {
    /// Nobody would be there to see it.
    No,
    /// Where the host allows it.
    IfPossible,
    /// Or fail.
    Yes,
}

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Task {
    /// Run until told to stop.
    Live { json: bool, page: Option<Page> },
    /// Print one reading.
    Once { format: Format },
    /// Answer one question.
    Ask { question: Question, json: bool },
}

/// Where to serve the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub address: SocketAddr,
}

/// How to print a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Table,
    Json,
    Dot,
    Mermaid,
}

/// `--dependents` or `--dependencies`.
#[derive(Debug, PartialEq, Eq)]
pub struct Question {
    pub of: String,
    pub direction: Direction,
    pub depth: Option<u32>,
}

impl Config {
    /// Checks what the parser cannot.
    pub fn check(args: &MapArgs) -> anyhow::Result<Self> {
        let task = task(args)?;
        let since = args.since.or(match task {
            Task::Ask { .. } => Some(QUESTION_SINCE),
            Task::Live { .. } | Task::Once { .. } => None,
        });
        if args.depth.is_some() && !matches!(task, Task::Ask { .. }) {
            bail!("--depth needs --dependents SERVICE or --dependencies SERVICE");
        }
        let store = match (&args.store, args.no_store) {
            (_, true) => None,
            (Some(path), false) => Some(path.clone()),
            (None, false) => Some(default_store()?),
        };
        let snapshot = SnapshotOptions {
            method: args.listing.method(),
            own_namespace_only: args.own_namespace,
            again: matches!(task, Task::Live { .. }),
        };
        let trace = tracing(args.method, &task)?;
        let metrics = args.metrics.check()?;
        if metrics.is_some() && !matches!(task, Task::Live { .. }) {
            bail!(
                "--metrics and --otlp tell what is counted over a time, and this is one reading: \
                 use them without --once, --dot, --mermaid and questions"
            );
        }
        let (interval, keep) = (args.interval, args.keep);
        Ok(Self { task, interval, since, keep, store, snapshot, trace, metrics })
    }

    /// The earliest time to show, in milliseconds since the Unix epoch.
    pub fn since_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.since.map_or(0, millis))
    }

    /// For people: what `since_ms` means.
    pub fn describe_since(&self) -> String {
        match (self.since, &self.store) {
            (None, _) => "what is there now (--since 7d looks at the history too)".to_owned(),
            (Some(_), None) => "what is there now (there is no history with --no-store)".to_owned(),
            (Some(since), Some(store)) => {
                format!("the last {} (--since) in {}", print::span(millis(since)), store.display())
            }
        }
    }

    /// Opens the store and the hub on it.
    pub fn open_hub(&self) -> anyhow::Result<Hub> {
        let store: Box<dyn Store> = match &self.store {
            Some(path) => Box::new(Sqlite::open(path).context("cannot open the history")?),
            None => Box::new(Memory::new()),
        };
        let names = user::names();
        let config = portolan_hub::Config {
            host: kernel::host_name(),
            interval_ms: millis(self.interval),
            limits: Limits { retention_ms: millis(self.keep), ..Limits::default() },
            users: Users::new(move |uid| names.get(&uid).cloned()),
        };
        Hub::open(config, store).context("cannot read the history")
    }
}

/// One reading is of a moment, in which nothing can be counted.
fn tracing(method: MapMethod, task: &Task) -> anyhow::Result<Tracing> {
    let is_live = matches!(task, Task::Live { .. });
    match method {
        MapMethod::Auto if is_live => Ok(Tracing::IfPossible),
        MapMethod::Trace if is_live => Ok(Tracing::Yes),
        MapMethod::Trace => bail!(
            "--method trace counts over a time, and this is one reading: use it without --once, \
             or see portolan trace --once"
        ),
        MapMethod::Auto | MapMethod::Snapshot => Ok(Tracing::No),
    }
}

fn task(args: &MapArgs) -> anyhow::Result<Task> {
    let asked = |of: &Option<String>, direction| {
        of.clone().map(|of| Question { of, direction, depth: args.depth })
    };
    let question = asked(&args.dependents, Direction::Dependents)
        .or_else(|| asked(&args.dependencies, Direction::Dependencies));
    let format = match (args.json, args.dot, args.mermaid) {
        (_, true, _) => Format::Dot,
        (_, _, true) => Format::Mermaid,
        (true, ..) => Format::Json,
        _ => Format::Table,
    };
    Ok(match (question, format) {
        (Some(question), _) => Task::Ask { question, json: args.json },
        (None, Format::Dot | Format::Mermaid) => Task::Once { format },
        (None, _) if args.once => Task::Once { format },
        (None, _) => Task::Live { json: args.json, page: page(args)? },
    })
}

fn page(args: &MapArgs) -> anyhow::Result<Option<Page>> {
    if args.no_page {
        return Ok(None);
    }
    let listen = &args.listen;
    let mut addresses = listen
        .to_socket_addrs()
        .with_context(|| format!("--listen {listen} is not ADDRESS:PORT"))?;
    let Some(address) = addresses.next() else { bail!("--listen {listen}: no such host") };
    if !address.ip().is_loopback() {
        bail!(
            "--listen {listen} is not a loopback address: the page has no password and no \
             encryption, so it stays on this host; to see it from elsewhere, forward the port: \
             ssh -L 7117:127.0.0.1:7117 HOST"
        );
    }
    Ok(Some(Page { address }))
}

/// `--interval`: a duration within reason.
pub fn interval(text: &str) -> Result<Duration, String> {
    let interval = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if interval < INTERVAL_MIN {
        return Err(format!(
            "the shortest interval is {}",
            humantime::format_duration(INTERVAL_MIN)
        ));
    }
    if interval > INTERVAL_MAX {
        return Err(format!(
            "the longest interval is {}",
            humantime::format_duration(INTERVAL_MAX)
        ));
    }
    Ok(interval)
}

/// The XDG base directory specification's place for state; systemd names its own.
fn default_store() -> anyhow::Result<PathBuf> {
    let absolute =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(directory) = absolute("STATE_DIRECTORY") {
        return Ok(directory.join("map.sqlite"));
    }
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local/state")))
        .context(
            "there is no place for the history, since HOME is not set: \
             use --store FILE, or --no-store to run without",
        )?;
    Ok(state.join("portolan/map.sqlite"))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
