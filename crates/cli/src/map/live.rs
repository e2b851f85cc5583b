//! The map as long as it runs: a thread that reads, the page, and the terminal.

use std::{
    collections::{HashMap, HashSet},
    io::{self, IsTerminal, Write},
    net::SocketAddr,
    process::ExitCode,
    sync::{
        Arc,
        mpsc::{self, Receiver},
    },
    thread,
};

use anyhow::Context;
use portolan_flow::Record;
use portolan_hub::{Graph, Hub};
use portolan_sys::{clock, limits, signals};

use super::{
    config::{Config, Task},
    ending::{self, Ending},
    reader::{self, Event},
    screen, server,
    source::Source,
};
use crate::{
    metrics::{Exports, Shown, Wanted},
    print,
};

/// Runs until a signal, `q`, or an error.
pub fn run(config: Config) -> anyhow::Result<ExitCode> {
    let Task::Live { json, page } = config.task else {
        unreachable!("the caller matched on the task");
    };
    // Namespaces and readers of the page take a descriptor each.
    let _ = limits::raise_descriptors();
    // First of all, so that a port in use is an error at once.
    let metrics = config.metrics.clone().map(Wanted::bind).transpose()?;
    let mut source = Source::open(&config)?;
    let hub = config.open_hub()?;
    let bound = page.map(server::bind).transpose()?;
    let address = bound.as_ref().map(|bound| bound.address);
    // Before any other thread: capabilities and the signal mask belong to a thread.
    source.drop_privileges()?;
    let signals = signals::take().context("cannot handle signals")?;
    let has_screen = !json && io::stdout().is_terminal() && io::stdin().is_terminal();
    let shown = if has_screen { Shown::WithReadings } else { Shown::OnStderr };
    let exports = metrics.map(|metrics| metrics.start(source.is_counted(), shown)).transpose()?;
    exports.iter().for_each(|exports| source.feed(exports.feed()));
    // The first reading on this thread, so that an error is an error before the screen is taken.
    let started_ms = clock::now_ms();
    source.read_into(&hub, started_ms)?;
    let serving = bound.map(|bound| server::start(bound, &hub)).transpose()?;
    // One event waits at most: who is slow gets the newest state, not all that led to it.
    let (sender, events) = mpsc::sync_channel(1);
    let ending = ending::on_signal(signals, &hub, &sender);
    let reader = hub.clone();
    let interval = config.interval;
    thread::spawn(move || reader::read_on(source, &reader, interval, &sender));

    let ended = if has_screen {
        let page = address.map(|address| format!("http://{address}/"));
        let places = page.into_iter().chain(exports.as_ref().and_then(Exports::place));
        screen::run(&hub, &config, places.collect(), &events, &ending)
    } else {
        announce(address);
        follow(&hub, config.since_ms(started_ms), json, &events, &ending)
    };
    // Whatever happened, what was seen is saved.
    let closed = hub.close().context("cannot save the history");
    let stopped = serving.map_or(Ok(()), server::Serving::stop);
    if let Some(exports) = exports {
        exports.stop();
    }
    ended.and(closed).and(stopped)?;
    Ok(ExitCode::SUCCESS)
}

fn announce(address: Option<SocketAddr>) {
    if let Some(address) = address {
        tell!("portolan: the live map is on http://{address}/ until you press Ctrl-C");
    }
}

/// Without a terminal: the first reading as a table, or changes as JSON, until stopped.
fn follow(
    hub: &Hub,
    since_ms: u64,
    json: bool,
    events: &Receiver<Event>,
    ending: &Ending,
) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let mut changes = Changes { since_ms, printed: HashMap::new() };
    let graph = hub.graph(Some(since_ms));
    print::warnings(&graph);
    if json {
        changes.print(&graph, &mut out)?;
    } else {
        print::table::write(&graph, print::terminal_width(), &mut out)?;
    }
    out.flush()?;
    drop(graph);
    while !ending.is_asked() {
        match events.recv() {
            Ok(Event::Reading) if json => {
                changes.print(&hub.graph(Some(since_ms)), &mut out)?;
                out.flush()?;
            }
            Ok(Event::Reading) => {}
            Ok(Event::Failed(error)) => return Err(error),
            Ok(Event::Stop) | Err(_) => break,
        }
    }
    Ok(())
}

/// What was printed last of each edge, so that only what differs is printed again.
struct Changes {
    since_ms: u64,
    printed: HashMap<Arc<str>, Vec<Record>>,
}

impl Changes {
    fn print(&mut self, graph: &Graph, out: &mut impl Write) -> io::Result<()> {
        if self.printed.len() > graph.edges().len() {
            let known: HashSet<_> = graph.edges().iter().map(|edge| &edge.id).collect();
            self.printed.retain(|id, _| known.contains(id));
        }
        for edge in graph.edges() {
            // Without the times: those move with every reading.
            let records: Vec<Record> =
                edge.records(self.since_ms).map(|record| record.record).collect();
            if self.printed.get(&edge.id) != Some(&records) {
                print::json::records(edge.records(self.since_ms), out)?;
                self.printed.insert(Arc::clone(&edge.id), records);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
