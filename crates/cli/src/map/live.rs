//! The map as long as it runs: a thread that reads, the page, and the terminal.

use std::{
    io::{self, IsTerminal, Write},
    net::SocketAddr,
    process::ExitCode,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use anyhow::Context;
use portolan_hub::Hub;
use portolan_sys::{clock, signals};

use super::{
    config::{Config, Task},
    reader::{self, Event},
    screen, server,
    source::Source,
};
use crate::print;

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
    thread::spawn(move || reader::read_on(source, &reader, interval, &sender));

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
