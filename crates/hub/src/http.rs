//! The HTTP API and the page. `docs/formats/hub-api.md` is the contract.

use axum::{
    Json, Router,
    extract::{Query, State, rejection::QueryRejection},
    http::StatusCode,
    middleware,
    response::{IntoResponse, Response},
    routing::get,
};
use serde::Deserialize;

use crate::{api::ErrorReply, graph::Direction, hub::Hub};

mod events;
mod guard;
mod page;

/// An error as the API answers it.
#[derive(Debug)]
struct Problem(StatusCode, String);

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.0, Json(ErrorReply { error: self.1 })).into_response()
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self(StatusCode::BAD_REQUEST, rejection.body_text())
    }
}

#[derive(Debug, Deserialize)]
struct GraphQuery {
    since_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct WalkQuery {
    of: String,
    depth: Option<u32>,
    since_ms: Option<u64>,
}

impl Hub {
    /// The page and the API, for a server that listens on loopback. Requests for any other host
    /// are refused.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/api/v1/graph", get(graph))
            .route("/api/v1/events", get(events::follow))
            .route("/api/v1/dependents", get(dependents))
            .route("/api/v1/dependencies", get(dependencies))
            .route("/api", get(no_such_question))
            .route("/api/", get(no_such_question))
            .route("/api/{*rest}", get(no_such_question))
            .fallback(page::file)
            .with_state(self.clone())
            .layer(middleware::from_fn(guard::check))
    }
}

/// Runs what takes long on a large map beside the threads that serve.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        Problem(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("the request was not worked out: {error}"),
        )
    })
}

/// JSON that was spelled out aside.
fn json(text: String) -> Response {
    ([("content-type", "application/json")], text).into_response()
}

fn spell(value: &impl serde::Serialize) -> Result<String, Problem> {
    serde_json::to_string(value).map_err(|error| {
        Problem(StatusCode::INTERNAL_SERVER_ERROR, format!("the answer is not JSON: {error}"))
    })
}

async fn graph(
    State(hub): State<Hub>,
    query: Result<Query<GraphQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(GraphQuery { since_ms }) = query?;
    aside(move || spell(&hub.graph(since_ms).reply())).await?.map(json)
}

async fn dependents(
    State(hub): State<Hub>,
    query: Result<Query<WalkQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    walk(hub, query?.0, Direction::Dependents).await
}

async fn dependencies(
    State(hub): State<Hub>,
    query: Result<Query<WalkQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    walk(hub, query?.0, Direction::Dependencies).await
}

async fn walk(hub: Hub, query: WalkQuery, direction: Direction) -> Result<Response, Problem> {
    let work = move || {
        let graph = hub.graph(query.since_ms);
        let selection = graph
            .select(&query.of)
            .map_err(|error| Problem(StatusCode::NOT_FOUND, error.to_string()))?;
        spell(&graph.walk_reply(&graph.walk(&selection, direction, query.depth)))
    };
    aside(work).await?.map(json)
}

async fn no_such_question() -> Problem {
    let known = "/api/v1/graph, events, dependents, dependencies";
    Problem(StatusCode::NOT_FOUND, format!("no such path: the API has {known}"))
}

#[cfg(test)]
mod tests;
