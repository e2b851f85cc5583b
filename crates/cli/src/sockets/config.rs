//! What is meant by the flags of `portolan sockets`.

use std::{sync::Arc, time::Duration};

use anyhow::ensure;
use portolan_flow::Transport;
use portolan_sockets::{Details, Filter, HostNames, MethodName, Query, Row, State, States};

use super::{
    args::{GroupBy, SocketsArgs},
    columns::{Column, ColumnSet},
    narrow,
    order::Order,
    watch,
};

/// What is meant by the flags.
#[derive(Debug)]
pub struct Config {
    transports: Vec<Transport>,
    states: States,
    /// 4 or 6; `None` for both.
    version: Option<u8>,
    filter: Option<Arc<Filter>>,
    details: Details,
    /// The method asked for.
    pub method: Option<MethodName>,
    /// Sockets of all network namespaces.
    pub all_netns: bool,
    /// Whether a look at who holds the sockets is needed.
    pub needs_owners: bool,
    /// Every column that was asked for by name or flag, to be shown or sorted by.
    pub asked: Vec<Column>,
    /// How sockets are written.
    pub layout: Layout,
    /// What to do with them.
    pub task: Task,
}

/// What to do with the sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// List them.
    List { order: Option<Order>, limit: Option<usize> },
    /// Count them, and show the largest groups; 0 shows all.
    Count { by: GroupBy, top: usize },
    /// Write what changes, at this pace.
    Watch { pace: Duration },
    /// Close them, with a question first unless `yes`.
    Kill { order: Option<Order>, limit: Option<usize>, yes: bool },
}

/// How sockets are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// JSON, not text.
    pub json: bool,
    /// Whether text has a heading.
    pub heading: bool,
    /// The columns, where they were chosen by name.
    pub chosen: Option<Vec<Column>>,
    /// Where they were not: what flags add to the usual ones.
    pub extras: Vec<Column>,
}

impl Layout {
    /// What a JSON object shows.
    pub fn fields(&self) -> ColumnSet {
        match &self.chosen {
            Some(chosen) => chosen.iter().copied().collect(),
            None => {
                let more = [Column::Uid, Column::Inode, Column::Cookie, Column::Namespace];
                Column::ALWAYS.into_iter().chain(more).chain(self.extras.iter().copied()).collect()
            }
        }
    }
}

impl Config {
    /// Checks what the parser cannot.
    ///
    /// # Errors
    /// When the filter makes no sense, or flags that need each other do not meet.
    pub fn check(args: &SocketsArgs) -> anyhow::Result<Self> {
        ensure!(
            !args.resolve,
            "--resolve (-r): names are not looked up, so that a listing waits for nobody; leave \
             it out, and ask for an address that matters with: getent hosts ADDRESS"
        );
        let filter = match args.filter.join(" ") {
            text if text.trim().is_empty() => None,
            text => Some(Arc::new(Filter::parse_with(&text, &HostNames::read())?)),
        };
        let task = task(args)?;
        if args.kill {
            narrow::ensure_narrow(filter.as_deref())?;
            ensure!(
                matches!(args.method.method(), None | Some(MethodName::Diag)),
                "--kill takes --method diag, which tells the cookies of sockets: leave --method out"
            );
        }
        let layout = layout(args);
        let asked: Vec<Column> = layout
            .chosen
            .iter()
            .flatten()
            .chain(&layout.extras)
            .copied()
            .chain(args.sort.map(|order| order.column))
            .collect();
        if args.watch.is_some() {
            watch::ensure_told(&asked)?;
        }
        let grouped_by_owner =
            matches!(task, Task::Count { by: GroupBy::Process | GroupBy::Unit, .. })
                || matches!(task, Task::Count { by: GroupBy::Container, .. });
        Ok(Self {
            transports: match (args.tcp, args.udp) {
                (true, false) => vec![Transport::Tcp],
                (false, true) => vec![Transport::Udp],
                _ => vec![Transport::Tcp, Transport::Udp],
            },
            states: states(args, filter.as_deref()),
            version: match (args.ipv4, args.ipv6) {
                (true, false) => Some(4),
                (false, true) => Some(6),
                _ => None,
            },
            filter,
            details: details(task, &layout, &asked),
            method: if args.kill { Some(MethodName::Diag) } else { args.method.method() },
            all_netns: args.all_netns,
            needs_owners: grouped_by_owner || asked.iter().any(|column| column.needs_owners()),
            asked,
            layout,
            task,
        })
    }

    /// What to ask of each namespace.
    pub fn queries(&self) -> Vec<Query> {
        let query = |&transport: &Transport| Query {
            states: self.states,
            details: Details {
                tcp_info: self.details.tcp_info && transport == Transport::Tcp,
                ..self.details
            },
            filter: self.filter.clone(),
            ..Query::all(transport)
        };
        self.transports.iter().map(query).collect()
    }

    /// Whether a listing has this socket.
    pub fn lists(&self, row: &Row) -> bool {
        self.transports.contains(&row.transport)
            && self.states.contains(row.state)
            && self.wants(row)
            && self.filter.as_ref().is_none_or(|filter| filter.matches(row))
    }

    /// What a query cannot say: a socket of IPv6 that carries IPv4 is IPv6's, as in ss(8).
    pub fn wants(&self, row: &Row) -> bool {
        self.version.is_none_or(|version| row.local.is_ipv4() == (version == 4))
    }
}

fn task(args: &SocketsArgs) -> anyhow::Result<Task> {
    let by = if args.summary { Some(GroupBy::State) } else { args.group_by };
    if let Some(by) = by {
        return Ok(Task::Count { by, top: if args.summary { 0 } else { args.top } });
    }
    if let Some(pace) = args.watch {
        return Ok(Task::Watch { pace });
    }
    let turn = |order: Order| Order { descending: order.descending != args.reverse, ..order };
    let order = args.sort.map(turn);
    let limit = args.limit.map(usize::try_from).transpose()?;
    Ok(match args.kill {
        true => Task::Kill { order, limit, yes: args.yes },
        false => Task::List { order, limit },
    })
}

fn layout(args: &SocketsArgs) -> Layout {
    let flags: [(bool, &[Column]); 8] = [
        (args.processes && args.watch.is_none(), &[Column::Process]),
        (args.processes && args.watch.is_some(), &[Column::Pid, Column::Process]),
        (args.all_netns && args.columns.is_none(), &[Column::Namespace]),
        (args.extended, &[Column::Uid, Column::Inode, Column::Cookie]),
        // As in ss(8); changes have no timers.
        (args.extended && args.watch.is_none(), &[Column::Timer]),
        (args.options, &[Column::Timer]),
        (args.memory, &[Column::Memory]),
        (args.info, &[Column::Info]),
    ];
    let given = flags.iter().filter(|(given, _)| *given).flat_map(|(_, columns)| *columns);
    let mut layout = Layout {
        json: args.json,
        heading: !args.no_header,
        chosen: match (&args.columns, args.watch) {
            (None, Some(_)) => Some(watch::usual_columns(args.json)),
            (columns, _) => columns.clone(),
        },
        extras: Vec::new(),
    };
    for &column in given {
        match &mut layout.chosen {
            None if layout.extras.contains(&column) => {}
            None => layout.extras.push(column),
            // Flags add what was not chosen by name.
            Some(chosen) if chosen.contains(&column) => {}
            Some(chosen) => chosen.push(column),
        }
    }
    layout
}

/// What rows have to carry.
fn details(task: Task, layout: &Layout, asked: &[Column]) -> Details {
    let mut details = Details::NONE;
    asked.iter().for_each(|column| column.ask(&mut details));
    match task {
        Task::Count { by, .. } => {
            details.holder |=
                matches!(by, GroupBy::User | GroupBy::Process | GroupBy::Unit | GroupBy::Container);
        }
        Task::Kill { .. } => details.cookie = true,
        Task::List { .. } | Task::Watch { .. } => {}
    }
    if !matches!(task, Task::Count { .. }) && layout.chosen.is_none() {
        details.queues = true;
        // The usual fields of an object.
        details.holder |= layout.json;
        details.cookie |= layout.json;
    }
    details
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
