//! The map as long as it runs: a thread that reads, the page, and the terminal.

use std::{
    io::{self, IsTerminal, Write},
    net::SocketAddr,
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context;
use portolan_hub::{Delta, Hub};
use portolan_sys::{clock, signals};

use super::{
    config::{Config, Task},
    screen, server,
    source::Source,
};
use crate::print;

/// So many readings in a row may fail before the program gives up.
const FAILURES_MAX: u32 = 5;

/// What the threads tell the one that waits.
#[derive(Debug)]
pub enum Event {
    /// A reading was taken.
    Reading(Box<Delta>),
    /// Readings are no longer possible.
    Failed(anyhow::Error),
    /// The user or the system asks to stop.
    Stop,
}

/// Runs until a signal, `q`, or an error.
pub fn run(config: Config) -> anyhow::Result<ExitCode> {
    let Task::Live { json, page } = config.task else {
        unreachable!("the caller matched on the task");
    };
    let mut source = Source::open(&config)?;
    let hub = config.open_hub()?;
    let bound = page.map(server::bind).transpose()?;
    let address = bound.as_ref().map(|bound| bound.address);
    // Before any other thread: capabilities and the signal mask belong to a thread.
    source.drop_privileges()?;
    let signals = signals::take().context("cannot handle signals")?;
    // The first reading on this thread, so that an error is an error before the screen is taken.
    let started_ms = clock::now_ms();
    source.read_into(&hub, started_ms)?;
    let serving = bound.map(|bound| server::start(bound, &hub)).transpose()?;
    let (sender, events) = mpsc::channel();
    let told = sender.clone();
    thread::spawn(move || {
        signals.wait();
        drop(told.send(Event::Stop));
    });
    let reader = hub.clone();
    let interval = config.interval;
    thread::spawn(move || read_on(source, &reader, interval, &sender));

    let ended = if !json && io::stdout().is_terminal() && io::stdin().is_terminal() {
        screen::run(&hub, &config, address, &events)
    } else {
        follow(&hub, config.since_ms(started_ms), json, address, &events)
    };
    // Whatever happened, what was seen is saved.
    let closed = hub.close().context("cannot save the history");
    let stopped = serving.map_or(Ok(()), server::Serving::stop);
    ended.and(closed).and(stopped)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads at a steady pace until nobody listens any more, or reading fails for good.
fn read_on(source: Source, hub: &Hub, interval: Duration, events: &Sender<Event>) {
    let reading = AssertUnwindSafe(|| read_until_failure(source, hub, interval, events));
    let failure = match panic::catch_unwind(reading) {
        Ok(Some(error)) => error,
        Ok(None) => return,
        Err(_) => anyhow::anyhow!("the thread that reads the sockets panicked; please report it"),
    };
    // Nobody listens any more: then nobody needs to know either.
    let _ = events.send(Event::Failed(failure));
}

fn read_until_failure(
    mut source: Source,
    hub: &Hub,
    interval: Duration,
    events: &Sender<Event>,
) -> Option<anyhow::Error> {
    let mut due = Instant::now() + interval;
    let mut failures = 0;
    loop {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        match source.read_into(hub, clock::now_ms()) {
            Ok(delta) => {
                failures = 0;
                if events.send(Event::Reading(Box::new(delta))).is_err() {
                    return None;
                }
            }
            // The kernel may be short of memory, or the process of descriptors, for a moment.
            Err(_) if failures < FAILURES_MAX => failures += 1,
            Err(error) => return Some(error),
        }
        // A reading that took longer than the interval is not made up for.
        due = (due + interval).max(Instant::now());
    }
}

/// Without a terminal: the first reading as a table, or changes as JSON, until stopped.
fn follow(
    hub: &Hub,
    since_ms: u64,
    json: bool,
    address: Option<SocketAddr>,
    events: &Receiver<Event>,
) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let graph = hub.graph(Some(since_ms));
    print::warnings(&graph);
    if json {
        print::json::records(graph.records(), &mut out)?;
    } else {
        print::table::write(&graph, &print::table::Style::once(print::terminal_width()), &mut out)?;
    }
    out.flush()?;
    if let Some(address) = address {
        anstream::eprintln!(
            "portolan: the live map is on http://{address}/ until you press Ctrl-C"
        );
    }
    loop {
        match events.recv_timeout(Duration::from_secs(3600)) {
            Ok(Event::Reading(delta)) if json => {
                let changed = delta.edges.iter().flat_map(|edge| edge.records(since_ms));
                print::json::records(changed, &mut out)?;
                out.flush()?;
            }
            Ok(Event::Reading(_)) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Event::Failed(error)) => return Err(error),
            Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}
