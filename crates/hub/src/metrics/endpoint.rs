//! Serves the page to Prometheus: `GET /metrics`.
//!
//! Only on loopback. Who talks to whom on a host is nobody else's business, and there is neither
//! TLS nor a password here; a Prometheus elsewhere scrapes an agent on this host that has both, or
//! is sent the numbers over OTLP by a Collector on this host.

use std::{
    future::Future,
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    sync::{Mutex, Semaphore},
    task::JoinSet,
    time,
};

use super::{Metrics, exposition};
use crate::http::guard::is_for_loopback;

/// Where the page is not served, and why.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// Others could read it.
    #[error(
        "metrics are not served on {0}: the page has no password and tells who talks to whom, so \
         only loopback may read it: use 127.0.0.1:{port} or [::1]:{port}, and let an agent on this \
         host pass it on, or send it with --otlp", port = .0.port()
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be had.
    #[error("cannot serve metrics on {address}: {error}{}", advice(.error))]
    Bind {
        /// Where it was to be.
        address: SocketAddr,
        /// What the kernel says.
        #[source]
        error: io::Error,
    },
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => ": another program uses the port, port 0 takes any free one",
        io::ErrorKind::PermissionDenied => ": ports below 1024 need root",
        _ => "",
    }
}

/// A page that is bound, and served by [`Endpoint::serve`].
#[derive(Debug)]
pub struct Endpoint {
    listener: TcpListener,
    address: SocketAddr,
    limits: Limits,
}

/// What readers may take.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// So many connections at a time; further ones wait in the backlog.
    connections: usize,
    /// A request has to be there so soon.
    request: Duration,
    /// A connection ends after that, whether the page was read or not.
    connection: Duration,
}

const LIMITS: Limits = Limits {
    connections: 16,
    request: Duration::from_secs(5),
    connection: Duration::from_secs(15),
};

/// How long to wait when no connection can be taken in, as without descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

impl Endpoint {
    /// Binds the address, so that a port in use is an error at the start.
    ///
    /// # Errors
    /// It is not of loopback, or cannot be had.
    pub fn bind(address: SocketAddr) -> Result<Self, EndpointError> {
        if !address.ip().to_canonical().is_loopback() {
            return Err(EndpointError::NotLoopback(address));
        }
        let bind = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok(Self { listener, address, limits: LIMITS })
        };
        bind().map_err(|error| EndpointError::Bind { address, error })
    }

    /// Where it is: the port that was found where port 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the page until `stop`, which ends what is under way.
    ///
    /// # Errors
    /// The listener cannot be used by this runtime.
    pub async fn serve(self, metrics: Metrics, stop: impl Future<Output = ()>) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        tokio::select! {
            () = accept(listener, router(metrics), self.limits) => Ok(()),
            () = stop => Ok(()),
        }
    }
}

async fn accept(listener: tokio::net::TcpListener, router: Router, limits: Limits) {
    let places = Arc::new(Semaphore::new(limits.connections));
    // Dropped with this future, and its connections with it.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        // A semaphore that nobody closes always grants a place in the end.
        let place = Arc::clone(&places).acquire_owned().await.ok();
        let Ok((stream, _)) = listener.accept().await else {
            time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.request)
            // A scrape is a connection: an idle one would hold its place.
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        connections.spawn(async move {
            // A reader that went away, or is too slow, loses nothing but its own page.
            let _ = time::timeout(limits.connection, connection).await;
            drop(place);
        });
    }
}

fn router(metrics: Metrics) -> Router {
    let pages = Arc::new(Pages { metrics, last: Mutex::new(None) });
    Router::new()
        .route("/metrics", get(page))
        .fallback(async || problem(StatusCode::NOT_FOUND, "no such path: there is /metrics only"))
        .with_state(pages)
        .layer(middleware::from_fn(check))
}

/// The last page that was written: those who ask at the same time share one.
struct Pages {
    metrics: Metrics,
    last: Mutex<Option<(u64, Bytes)>>,
}

async fn page(State(pages): State<Arc<Pages>>) -> Response {
    let mut last = pages.last.lock().await;
    let revision = pages.metrics.revision();
    if let Some((known, page)) = &*last
        && *known == revision
    {
        return answer(page.clone());
    }
    let metrics = pages.metrics.clone();
    match tokio::task::spawn_blocking(move || metrics.exposition()).await {
        Ok(text) => {
            let page = Bytes::from(text);
            *last = Some((revision, page.clone()));
            answer(page)
        }
        Err(_) => problem(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be written"),
    }
}

fn answer(page: Bytes) -> Response {
    ([(header::CONTENT_TYPE, exposition::CONTENT_TYPE)], page).into_response()
}

/// Refuses what is not for here, and marks the answer.
async fn check(request: Request, next: Next) -> Response {
    let mut response = if !is_for_loopback(&request) {
        let why = "the request is for another host: read http://localhost, http://127.0.0.1 or \
                   http://[::1], with the port, and /metrics";
        problem(StatusCode::FORBIDDEN, why)
    } else if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response =
            problem(StatusCode::METHOD_NOT_ALLOWED, "metrics are only to be read: use GET or HEAD");
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        response
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn problem(status: StatusCode, why: &'static str) -> Response {
    (status, format!("{why}\n")).into_response()
}

#[cfg(test)]
mod tests;
