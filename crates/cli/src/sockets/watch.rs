//! `--watch`: what opens, closes and changes its state, as long as anybody reads.

use std::{
    collections::HashMap,
    io::Write,
    thread,
    time::{Duration, Instant},
};

use anyhow::Context;
use portolan_flow::NetnsId;
use portolan_sockets::{
    Change, Error, Follow, FollowOptions, MethodName, Owners, Place, Poll, Refresh, Row, Source,
    Wish, choose, places,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    io::Errno,
};

use super::{Listed, columns::Column, config::Config, lines::Lines, unentered::Unentered};

/// The fastest pace.
const PACE_MIN: Duration = Duration::from_millis(10);

/// The slowest pace.
const PACE_MAX: Duration = Duration::from_secs(3600);

/// What changes of a socket can show: neither its queues nor anything that TCP measured has events.
const COLUMNS: [Column; 17] = [
    Column::Netid,
    Column::State,
    Column::Local,
    Column::LocalAddress,
    Column::LocalPort,
    Column::Peer,
    Column::PeerAddress,
    Column::PeerPort,
    Column::Process,
    Column::Pid,
    Column::Unit,
    Column::Container,
    Column::Namespace,
    Column::Uid,
    Column::Inode,
    Column::Cookie,
    Column::Interface,
];

/// Reads a pace, such as `500ms`.
///
/// # Errors
/// When it is none, or too fast or too slow.
pub fn pace(text: &str) -> Result<Duration, String> {
    let pace = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if (PACE_MIN..=PACE_MAX).contains(&pace) {
        return Ok(pace);
    }
    let [least, most] = [PACE_MIN, PACE_MAX].map(humantime::format_duration);
    Err(format!("between {least} and {most}"))
}

/// The columns where none were chosen by name.
pub fn usual_columns(json: bool) -> Vec<Column> {
    let mut columns = vec![Column::Netid, Column::State, Column::Local, Column::Peer];
    if json {
        columns.extend([Column::Uid, Column::Inode, Column::Cookie, Column::Namespace]);
    }
    columns
}

/// Checks that changes can show these columns.
///
/// # Errors
/// When they cannot show one.
pub fn ensure_told(asked: &[Column]) -> anyhow::Result<()> {
    match asked.iter().find(|column| !COLUMNS.contains(column)) {
        None => Ok(()),
        Some(column) => anyhow::bail!(
            "--watch does not follow {}: it shows what opens, closes and changes its state; list \
             again for that",
            column.name()
        ),
    }
}

/// Where changes come from.
enum Changes {
    /// The kernel's events.
    Events(Box<Follow>),
    /// Whole listings, compared.
    Listings(Poll),
}

impl Changes {
    /// Of this namespace. Events where the host allows them and no method was named; otherwise
    /// listings, and why.
    fn open(config: &Config) -> anyhow::Result<Self> {
        let here = || vec![Place::here()];
        let reason = match config.method {
            Some(method) => return Self::listings(method, here()),
            None => match Follow::open(here(), FollowOptions::default()) {
                Ok(follow) => return Ok(Self::Events(Box::new(follow))),
                Err(reason) => reason,
            },
        };
        let queries = config.queries();
        let wish = Wish { query: &queries[0], owners: config.needs_owners, again: true };
        let method = choose(&wish).context("cannot list the sockets of this host")?.method;
        tell!(
            "portolan: the kernel's events cannot be followed ({reason}); the listings of \
             {} are compared, and what comes and goes between two of them is not seen",
            method.describe()
        );
        Self::listings(method, here())
    }

    fn listings(method: MethodName, places: Vec<Place>) -> anyhow::Result<Self> {
        let poll = Poll::open(method, places).context("cannot list the sockets of this host")?;
        Ok(Self::Listings(poll))
    }

    fn refresh(&mut self) -> anyhow::Result<Refresh> {
        let refresh = match self {
            Self::Events(follow) => follow.refresh(),
            Self::Listings(poll) => poll.refresh(),
        };
        refresh.context("cannot list the sockets of this host")
    }

    /// Looks at these namespaces from now on. Returns those that cannot be.
    fn set_places(&mut self, places: Vec<Place>) -> Vec<(Place, Error)> {
        match self {
            Self::Events(follow) => follow.set_places(places),
            Self::Listings(poll) => poll.set_places(places),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Events(follow) => format!("{} sockets followed by events", follow.len()),
            Self::Listings(poll) => format!("{} sockets, listed each time", poll.len()),
        }
    }
}

/// Writes every change of the sockets that were asked for, at this pace, until nobody reads it.
///
/// # Errors
/// When the sockets cannot be listed, or the result cannot be written.
pub fn run(config: &Config, pace: Duration, out: &mut impl Write) -> anyhow::Result<()> {
    let mut watcher = Watcher::new(config);
    let mut changes = Changes::open(config)?;
    if config.all_netns {
        watcher.follow_namespaces(&mut changes)?.say();
        // What is there already is no news.
        say(&changes.refresh()?);
    }
    tell!("portolan: {}; what changes follows", changes.describe());
    watcher.heading(out)?;
    let mut due = Instant::now();
    loop {
        due = (due + pace).max(Instant::now());
        if !waits_for_readers(due) {
            return Ok(());
        }
        if config.all_netns {
            // Those that may not be entered were told of at the start.
            drop(watcher.follow_namespaces(&mut changes)?);
        }
        let refresh = changes.refresh()?;
        say(&refresh);
        watcher.write(&refresh.changes, out)?;
    }
}

/// Waits; false where standard output is a pipe that nobody reads any more.
fn waits_for_readers(until: Instant) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        // No event is asked for: errors are told always.
        let stdout = rustix::stdio::stdout();
        let mut output = [PollFd::new(&stdout, PollFlags::empty())];
        match rustix::event::poll(&mut output, Some(&left)) {
            Ok(0) => return true,
            Ok(_) => return false,
            Err(Errno::INTR) => {}
            Err(_) => {
                thread::sleep(until.saturating_duration_since(Instant::now()));
                return true;
            }
        }
    }
}

/// Says what a refresh lacks.
fn say(refresh: &Refresh) {
    if let Some(reason) = &refresh.rewalked {
        tell!("portolan: {reason}");
    }
    if refresh.left_out > 0 {
        tell!(
            "portolan: {} sockets are not followed: there are too many; narrow it to one network \
             namespace",
            refresh.left_out
        );
    }
    // That a namespace ends is no trouble.
    for (place, error) in refresh.failed.iter().filter(|(_, error)| !error.means_an_end()) {
        tell!("portolan: {place} is not followed any more: {error}");
    }
}

/// Writes changes.
struct Watcher<'a> {
    config: &'a Config,
    lines: Lines,
    places: HashMap<NetnsId, Place>,
    owners: Owners,
    out: Vec<u8>,
}

impl<'a> Watcher<'a> {
    fn new(config: &'a Config) -> Self {
        let here = Place::here();
        let source = if config.needs_owners { Source::choose(true) } else { Source::Procfs };
        Self {
            config,
            lines: Lines::new(&config.layout),
            places: HashMap::from([(here.netns, here)]),
            owners: Owners::from(source),
            out: Vec::new(),
        }
    }

    /// Looks for namespaces that are new, and those that are gone. Returns what is missing.
    fn follow_namespaces(&mut self, changes: &mut Changes) -> anyhow::Result<Unentered> {
        let found = places().context("cannot list the network namespaces")?;
        let named = found.places.iter().map(|place| (place.netns, place.clone()));
        self.places.extend(named);
        let mut unentered = Unentered::beside(found.hidden_processes);
        for (place, error) in changes.set_places(found.places) {
            unentered.add(&place, error);
        }
        Ok(unentered)
    }

    fn heading(&mut self, out: &mut impl Write) -> anyhow::Result<()> {
        self.lines.heading_behind(b"  ", &mut self.out);
        self.flush(out)
    }

    fn flush(&mut self, out: &mut impl Write) -> anyhow::Result<()> {
        out.write_all(&self.out)?;
        out.flush()?;
        self.out.clear();
        Ok(())
    }

    fn write(&mut self, changes: &[(NetnsId, Change)], out: &mut impl Write) -> anyhow::Result<()> {
        let wanted: Vec<(NetnsId, Mark, &Row)> = changes
            .iter()
            .filter_map(|(netns, change)| {
                seen(change, |row| self.config.lists(row)).map(|(mark, row)| (*netns, mark, row))
            })
            .collect();
        self.find_owners(&wanted)?;
        let mut owners = self.config.needs_owners.then(|| self.owners.lookup());
        for (netns, mark, row) in wanted {
            let Some(place) = self.places.get(&netns) else { continue };
            let holder = owners.as_mut().and_then(|owners| owners.holder(row.inode));
            self.lines.change(mark, &Listed { row, place, holder }, &mut self.out);
        }
        self.flush(out)
    }

    /// Looks for holders again where a socket is new. Those that closed had theirs before.
    fn find_owners(&mut self, wanted: &[(NetnsId, Mark, &Row)]) -> anyhow::Result<()> {
        let is_new = |row: &Row| row.inode != 0 && !self.owners.knows(row.inode);
        if self.config.needs_owners
            && wanted.iter().any(|(_, mark, row)| *mark != Mark::Closed && is_new(row))
        {
            self.owners.walk().context("cannot find out who holds the sockets")?;
        }
        Ok(())
    }
}

/// What became of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It is new.
    Opened,
    /// It is gone.
    Closed,
    /// It has another state or holder.
    Changed,
}

impl Mark {
    /// As text begins with it.
    pub fn sign(self) -> u8 {
        match self {
            Self::Opened => b'+',
            Self::Closed => b'-',
            Self::Changed => b'~',
        }
    }

    /// As JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Closed => "closed",
            Self::Changed => "changed",
        }
    }
}

/// A change as one sees it who looks at the sockets that `lists` tells: what comes to be among them
/// is opened, and what is no longer among them closed.
fn seen(change: &Change, lists: impl Fn(&Row) -> bool) -> Option<(Mark, &Row)> {
    match change {
        Change::Opened(row) => lists(row).then_some((Mark::Opened, row)),
        Change::Closed(row) => lists(row).then_some((Mark::Closed, row)),
        Change::Changed { before, after } => match (lists(before), lists(after)) {
            (true, true) => Some((Mark::Changed, after)),
            (false, true) => Some((Mark::Opened, after)),
            (true, false) => Some((Mark::Closed, before)),
            (false, false) => None,
        },
    }
}

#[cfg(test)]
mod tests;
