//! Serves and sends on a thread of its own.

use std::{
    fmt, io,
    sync::Arc,
    thread::{self, JoinHandle},
};

use tokio::{runtime, sync::watch};

use super::{Endpoint, Metrics, Otlp};

/// Is told, in a sentence, what somebody ought to know.
pub type Warn = Arc<dyn Fn(&str) + Send + Sync>;

/// The thread that serves and sends.
pub struct Service {
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

impl Service {
    /// Begins to serve at `endpoint` and to send as `otlp` says, where they are given.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        metrics: &Metrics,
        endpoint: Option<Endpoint>,
        otlp: Option<Otlp>,
        warn: Warn,
    ) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = watch::channel(false);
        let until = || {
            let mut stopped = stopped.clone();
            async move {
                // Also when the sender is dropped.
                let _ = stopped.wait_for(|stop| *stop).await;
            }
        };
        let (served, sent) = (until(), until());
        let metrics = metrics.clone();
        let work = async move {
            let serve = async {
                if let Some(endpoint) = endpoint {
                    let address = endpoint.address();
                    if let Err(error) = endpoint.serve(metrics.clone(), served).await {
                        warn(&format!("metrics are not served on {address}: {error}"));
                    }
                }
            };
            let send = async {
                if let Some(otlp) = otlp {
                    otlp.run(metrics.clone(), Arc::clone(&warn), sent).await;
                }
            };
            tokio::join!(serve, send);
        };
        let run = move || {
            runtime.block_on(work);
            // A name that is being looked up does not keep the program.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("metrics".to_owned()).spawn(run)?;
        Ok(Self { stop, thread })
    }

    /// Sends a last time, for two seconds at most, ends open requests and waits for the thread.
    pub fn stop(self) {
        // The thread may have ended by itself; then nobody receives this.
        let _ = self.stop.send(true);
        if let Err(panic) = self.thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Service(..)")
    }
}
