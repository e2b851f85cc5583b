//! Server-sent events: the graph, then what changes in it.

use std::{convert::Infallible, time::Duration};

use axum::{
    extract::State,
    http::StatusCode,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use tokio::sync::{OwnedSemaphorePermit, broadcast, broadcast::error::RecvError, mpsc};
use tokio_stream::wrappers::ReceiverStream;

use super::{Problem, aside, spell};
use crate::hub::{Hub, Update};

/// How often a quiet connection gets a comment line.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

type Events = broadcast::Receiver<Update>;

/// Answers `GET /api/v1/events`.
pub(super) async fn follow(State(hub): State<Hub>) -> Result<Response, Problem> {
    let unavailable = |why: &str| Problem(StatusCode::SERVICE_UNAVAILABLE, why.to_owned());
    let permit = hub.streams().try_acquire_owned().map_err(|_| {
        unavailable("too many readers follow the events: close other pages of this map")
    })?;
    let events = hub.subscribe().ok_or_else(|| unavailable("the map is being closed"))?;
    // One event waits here; all others wait in the channel that all readers share, so that a slow
    // reader costs no memory of its own.
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(forward(hub, events, sender, permit));
    let stream = ReceiverStream::new(receiver);
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

/// Sends the graph and then deltas, until the reader or the hub is gone.
async fn forward(
    hub: Hub,
    mut events: Events,
    sender: mpsc::Sender<Result<Event, Infallible>>,
    _permit: OwnedSemaphorePermit,
) {
    // The revision that the reader has; `None` if it needs the whole graph.
    let mut has: Option<u64> = None;
    loop {
        let event = if let Some(revision) = has {
            let update = tokio::select! {
                update = events.recv() => update,
                () = sender.closed() => return,
            };
            match update {
                // The graph that was sent knew this already.
                Ok(update) if update.revision <= revision => continue,
                Ok(Update { revision: next, json: Some(json) }) if next == revision + 1 => {
                    has = Some(next);
                    Event::default().event("delta").data(json)
                }
                Ok(_) | Err(RecvError::Lagged(_)) => {
                    has = None;
                    continue;
                }
                Err(RecvError::Closed) => return,
            }
        } else {
            let hub = hub.clone();
            let whole = move || {
                let graph = hub.graph(None);
                spell(&graph.reply()).map(|json| (graph.header().revision, json))
            };
            let Ok(Ok((revision, json))) = aside(whole).await else { return };
            has = Some(revision);
            Event::default().event("graph").data(json)
        };
        if sender.send(Ok(event)).await.is_err() {
            return;
        }
    }
}
