//! One request over HTTP/1.1, one connection. No TLS, no proxy, no redirects.

use std::{fmt::Display, time::Duration};

use axum::http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, task::JoinSet};

use super::{Receiver, encode};
use crate::identity::printable;

/// The longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// How much of what a receiver says is passed on, in characters.
const MESSAGE_MAX: usize = 200;

/// What a receiver said to a request that it accepted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    /// How many numbers it refused.
    pub rejected: u64,
    /// Why.
    pub message: String,
}

/// Why a request was not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub why: String,
    /// Whether it is worth trying again soon.
    pub passes: bool,
    /// When, if the receiver said so.
    pub retry_after: Option<Duration>,
}

impl Failure {
    pub fn passing(why: String) -> Self {
        Self { why, passes: true, retry_after: None }
    }

    pub fn lasting(why: String) -> Self {
        Self { why, passes: false, retry_after: None }
    }
}

/// Sends one request. The caller limits how long it takes.
pub(super) async fn post(receiver: &Receiver, body: Vec<u8>) -> Result<Accepted, Failure> {
    let passing = |what: &str, error: &dyn Display| Failure::passing(format!("{what}: {error}"));
    let stream = TcpStream::connect((receiver.host.as_str(), receiver.port))
        .await
        .map_err(|error| passing("cannot connect", &error))?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| passing("no HTTP", &error))?;
    // Ends with this function, also where its caller waits no longer.
    let mut connections = JoinSet::new();
    connections.spawn(connection);
    let request = Request::post(&receiver.path)
        .header(header::HOST, &receiver.authority)
        .header(header::CONTENT_TYPE, "application/x-protobuf")
        .header(header::USER_AGENT, concat!("portolan/", env!("CARGO_PKG_VERSION")))
        .header(header::CONNECTION, "close")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| Failure::lasting(format!("no request: {error}")))?;
    let response =
        sender.send_request(request).await.map_err(|error| passing("no answer", &error))?;
    let (head, body) = response.into_parts();
    let answer = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
    if head.status == StatusCode::OK {
        // It has accepted, whatever became of the rest of its answer.
        let answer = answer.map(|answer| answer.to_bytes()).unwrap_or_default();
        let (rejected, message) = encode::rejected(&answer);
        return Ok(Accepted { rejected, message: short(&message) });
    }
    Err(refusal(head.status, &head.headers))
}

/// The codes that OTLP calls retryable; all others would be the same the next time.
fn refusal(status: StatusCode, headers: &HeaderMap) -> Failure {
    let why = format!("it answers {status}");
    match status.as_u16() {
        429 | 502 | 503 | 504 => {
            let retry_after =
                headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
            let retry_after = retry_after.and_then(|value| value.trim().parse().ok());
            Failure { retry_after: retry_after.map(Duration::from_secs), ..Failure::passing(why) }
        }
        404 => Failure::lasting(format!("{why}: is OTLP received over HTTP there?")),
        _ => Failure::lasting(why),
    }
}

fn short(message: &str) -> String {
    printable(&message.chars().take(MESSAGE_MAX).collect::<String>()).into_owned()
}
