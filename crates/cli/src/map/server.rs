//! Serves the page on a thread of its own.

mod limited;

use std::{
    io,
    net::{SocketAddr, TcpListener},
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::Context;
use portolan_hub::Hub;
use tokio::{runtime, sync::oneshot};

use super::config::Page;
use limited::Limited;

/// So many connections are served at a time: each takes a descriptor and some memory.
const CONNECTIONS_MAX: usize = 256;

/// What is under way when the program ends is given this long.
const GRACE: Duration = Duration::from_secs(1);

/// A page that is bound and not served yet.
pub struct Bound {
    listener: TcpListener,
    /// Where it will be.
    pub address: SocketAddr,
}

/// Binds the page's address, so that a port in use is an error at the start.
pub fn bind(page: Page) -> anyhow::Result<Bound> {
    let listener = TcpListener::bind(page.address).map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "another program, perhaps another portolan map, uses it: \
                 --listen 127.0.0.1:0 takes any free port, --no-page serves none"
            }
            io::ErrorKind::PermissionDenied => "ports below 1024 need root",
            _ => "use another --listen ADDRESS:PORT, or --no-page",
        };
        anyhow::Error::new(error)
            .context(format!("cannot serve the page on {}: {advice}", page.address))
    })?;
    listener.set_nonblocking(true).context("cannot serve the page")?;
    let address = listener.local_addr().context("cannot serve the page")?;
    Ok(Bound { listener, address })
}

/// A page being served.
pub struct Serving {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<io::Result<()>>,
}

/// Serves the hub until [`Serving::stop`].
pub fn start(bound: Bound, hub: &Hub) -> anyhow::Result<Serving> {
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the page's threads")?;
    let router = hub.router();
    let (stop, stopped) = oneshot::channel();
    let serve = async move {
        let listener = tokio::net::TcpListener::from_std(bound.listener)?;
        let (told, ending) = oneshot::channel::<()>();
        let listener = Limited::new(listener, CONNECTIONS_MAX);
        let served = axum::serve(listener, router).with_graceful_shutdown(async move {
            // Also when the sender is dropped.
            drop(stopped.await);
            drop(told);
        });
        // A client that never ends its request must not keep the program.
        let overdue = async move {
            drop(ending.await);
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            served = served.into_future() => served,
            () = overdue => Ok(()),
        }
    };
    let thread = thread::Builder::new()
        .name("page".to_owned())
        .spawn(move || runtime.block_on(serve))
        .context("cannot start the page's threads")?;
    Ok(Serving { stop, thread })
}

impl Serving {
    /// Ends open requests and waits for the threads. Close the hub first: it ends the streams.
    pub fn stop(self) -> anyhow::Result<()> {
        // The server may have ended by itself; then nobody receives this.
        let _ = self.stop.send(());
        match self.thread.join() {
            Ok(served) => served.context("the page's server failed"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
