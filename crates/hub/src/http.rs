//! The HTTP API and the page. `docs/formats/hub-api.md` is the contract.

use std::{num::NonZeroU32, str::FromStr};

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
pub(crate) mod guard;
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
        let why = rejection.body_text();
        let todo = "write ?NAME=VALUE&NAME=VALUE, each name once";
        Self(StatusCode::BAD_REQUEST, format!("the question is not understood: {why}: {todo}"))
    }
}

#[derive(Debug, Deserialize)]
struct GraphQuery {
    since_ms: Option<String>,
}

#[derive(Debug, Deserialize)]
struct WalkQuery {
    of: Option<String>,
    depth: Option<String>,
    since_ms: Option<String>,
}

fn since_ms(text: Option<&str>) -> Result<Option<u64>, Problem> {
    number("since_ms", "in milliseconds since 1970, for example 1795222800000", text)
}

/// A number of a query, or an error that says what it should be.
fn number<T: FromStr>(name: &str, kind: &str, text: Option<&str>) -> Result<Option<T>, Problem> {
    let parse = |text: &str| {
        text.parse().map_err(|_| {
            let why = format!("{name} is a whole number {kind}, not {text:?}");
            Problem(StatusCode::BAD_REQUEST, why)
        })
    };
    text.map(parse).transpose()
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
    let since_ms = since_ms(query?.0.since_ms.as_deref())?;
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
    let of = query.of.filter(|of| !of.is_empty()).ok_or_else(|| {
        let why = "the question does not say of what: add ?of=NAME, where NAME is a node's id, a \
                   name, an address or ADDRESS:PORT";
        Problem(StatusCode::BAD_REQUEST, why.to_owned())
    })?;
    let depth = number("depth", "from 1", query.depth.as_deref())?.map(NonZeroU32::get);
    let since_ms = since_ms(query.since_ms.as_deref())?;
    let work = move || {
        let graph = hub.graph(since_ms);
        let selection =
            graph.select(&of).map_err(|error| Problem(StatusCode::NOT_FOUND, error.to_string()))?;
        spell(&graph.walk_reply(&graph.walk(&selection, direction, depth)))
    };
    aside(work).await?.map(json)
}

async fn no_such_question() -> Problem {
    let known = "/api/v1/graph, events, dependents, dependencies";
    Problem(StatusCode::NOT_FOUND, format!("no such path: the API has {known}"))
}

#[cfg(test)]
mod tests;
