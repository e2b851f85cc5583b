//! Sends the series to a receiver of OTLP (an OpenTelemetry Collector), as cumulative sums.
//!
//! There is no queue: what is sent is always the newest state, and that tells all that an export
//! which failed would have told.
//!
//! Read in this order: `receiver.rs` (where to), `protobuf.rs` and `encode.rs` (what), `post.rs`
//! (how).

mod encode;
mod post;
mod protobuf;
mod receiver;

use std::{
    collections::hash_map::RandomState,
    future::Future,
    hash::{BuildHasher, Hasher},
    pin::pin,
    time::Duration,
};

use tokio::time;

use super::{Metrics, Warn};
use post::Failure;
pub use receiver::{Receiver, ReceiverError};

/// The wait after the first failure; it doubles with each further one.
const BACK_OFF: Duration = Duration::from_secs(1);

/// The longest wait after a failure, unless the interval is longer.
const BACK_OFF_MAX: Duration = Duration::from_mins(1);

/// The longest wait that a receiver may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_mins(5);

/// An export has to be accepted so soon.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The same of the last one, for which the program waits.
const LAST_TIMEOUT: Duration = Duration::from_secs(2);

/// Where to, how often, and as whom to export.
#[derive(Clone, Debug)]
pub struct Otlp {
    /// Where to.
    pub receiver: Receiver,
    /// How long to wait after an export that was accepted.
    pub interval: Duration,
    /// `host.name` of the resource.
    pub host_name: String,
}

impl Otlp {
    /// Exports until `stop`, and once more then. Failures are counted in `metrics`; `warn` is told
    /// of the first in a row, and of its end.
    pub async fn run(self, metrics: Metrics, warn: Warn, stop: impl Future<Output = ()>) {
        metrics.count(|exports| &exports.exporters, 1);
        let mut stop = pin!(stop);
        let mut failures = 0_u32;
        let mut wait = self.interval;
        loop {
            let is_last = tokio::select! {
                () = time::sleep(wait) => false,
                () = &mut stop => true,
            };
            if is_last {
                let _ = self.export(&metrics, LAST_TIMEOUT, &warn).await;
                return;
            }
            let exported = tokio::select! {
                exported = self.export(&metrics, TIMEOUT, &warn) => exported,
                // The last one tells the same and more.
                () = &mut stop => {
                    let _ = self.export(&metrics, LAST_TIMEOUT, &warn).await;
                    return;
                }
            };
            wait = match exported {
                Ok(()) => {
                    if failures > 0 {
                        warn(&format!("{}: accepts metrics again", self.receiver));
                    }
                    failures = 0;
                    self.interval
                }
                Err(failure) => {
                    failures = failures.saturating_add(1);
                    let wait = self.wait_after(&failure, failures);
                    if failures == 1 {
                        warn(&format!(
                            "metrics were not sent to {}: {}; the next attempt tells the same and \
                             more",
                            self.receiver, failure.why
                        ));
                    }
                    wait
                }
            };
        }
    }

    async fn export(&self, metrics: &Metrics, most: Duration, warn: &Warn) -> Result<(), Failure> {
        let (copy, host_name) = (metrics.clone(), self.host_name.clone());
        let encode = move || encode::request(&copy.snapshot(), &host_name);
        let sent = async {
            let body = tokio::task::spawn_blocking(encode).await;
            let body = body.map_err(|error| Failure::lasting(format!("not encoded: {error}")))?;
            post::post(&self.receiver, body).await
        };
        let sent = time::timeout(most, sent).await;
        let sent = sent.unwrap_or_else(|_| {
            Err(Failure::passing(format!("no answer within {} s", most.as_secs())))
        });
        match sent {
            Ok(accepted) => {
                metrics.count(|exports| &exports.accepted, 1);
                if accepted.rejected > 0 {
                    metrics.count(|exports| &exports.rejected, accepted.rejected);
                    let (many, why) = (accepted.rejected, accepted.message);
                    warn(&format!("{} rejected {many} of the numbers: {why}", self.receiver));
                }
                Ok(())
            }
            Err(failure) => {
                metrics.count(|exports| &exports.failed, 1);
                Err(failure)
            }
        }
    }

    /// What passes is tried again soon, and later each time; what lasts is tried again at its time.
    fn wait_after(&self, failure: &Failure, failures: u32) -> Duration {
        if !failure.passes {
            return self.interval;
        }
        if let Some(wait) = failure.retry_after {
            return wait.min(RETRY_AFTER_MAX).max(BACK_OFF);
        }
        let most = BACK_OFF_MAX.max(self.interval);
        let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        let full = BACK_OFF.saturating_mul(factor).min(most);
        // Many hosts whose receiver was away do not come back at the same moment.
        full / 2 + (full / 2).mul_f64(any_share())
    }
}

/// A random number from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "any number will do")]
fn any_share() -> f64 {
    RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests;
