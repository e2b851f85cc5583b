//! Metrics of the subcommands that run on: their flags, and the thread that serves and sends.

use std::{
    net::{SocketAddr, ToSocketAddrs},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, bail};
use clap::{ArgGroup, Args, ValueEnum};
use portolan_flow::{Flow, Totals};
use portolan_hub::metrics::{
    Addresses, Endpoint, FoldRule, Interval, Metrics, Otlp, Receiver, Service, Settings, Warn,
};
use portolan_sys::{clock, kernel};

/// Shorter ones would measure the exporter, longer ones are none.
const INTERVAL: [Duration; 2] = [Duration::from_millis(100), Duration::from_hours(1)];

/// The flags for metrics (docs/formats/metrics.md).
#[derive(Args, Debug)]
#[command(next_help_heading = "Metrics")]
#[command(group(ArgGroup::new("exporters").args(["metrics", "otlp"]).multiple(true)))]
pub struct MetricsArgs {
    /// Serve what was counted since the start at http://ADDRESS:PORT/metrics, for Prometheus;
    /// loopback addresses only (docs/formats/metrics.md).
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<String>,

    /// Have so many series of edges at most; what is beyond is counted in one more.
    #[arg(long, value_name = "N", default_value_t = 2_000, requires = "exporters")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    metrics_series_max: u32,

    /// Tell addresses of a network apart by so long a prefix only, or keep them:
    /// NETWORK=/PREFIX or NETWORK=keep. May be given several times. Public addresses are one
    /// network if no rule says otherwise.
    #[arg(long, value_name = "RULE", requires = "exporters")]
    metrics_fold: Vec<FoldRule>,

    /// Drop series of which nothing was seen for so long.
    #[arg(long, value_name = "TIME", default_value = "1h", requires = "exporters")]
    #[arg(value_parser = idle)]
    metrics_idle: Duration,

    /// Have these labels, too.
    #[arg(long, value_name = "LABELS", value_delimiter = ',', requires = "exporters")]
    metrics_labels: Vec<Label>,

    /// Send what was counted since the start to this receiver of OTLP, http://HOST:PORT.
    #[arg(long, value_name = "URL")]
    otlp: Option<Receiver>,

    /// How often to send it, 100ms to 1h.
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "otlp")]
    #[arg(value_parser = interval)]
    otlp_interval: Duration,
}

/// What else may be told of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Label {
    /// Its systemd unit.
    Unit,
    /// The id of its container.
    Container,
}

impl MetricsArgs {
    /// What is meant; `None` where nobody is to be told.
    ///
    /// # Errors
    /// When the address is none.
    pub fn check(&self) -> anyhow::Result<Option<Wanted>> {
        if self.metrics.is_none() && self.otlp.is_none() {
            return Ok(None);
        }
        let has = |label| self.metrics_labels.contains(&label);
        let settings = Settings {
            series_max: usize::try_from(self.metrics_series_max).unwrap_or(usize::MAX),
            idle: self.metrics_idle,
            addresses: Addresses::with(&self.metrics_fold),
            units: has(Label::Unit),
            containers: has(Label::Container),
        };
        let otlp = self.otlp.clone().map(|receiver| Otlp {
            receiver,
            interval: self.otlp_interval,
            host_name: kernel::host_name(),
        });
        let listen = self.metrics.as_deref().map(address).transpose()?;
        Ok(Some(Wanted { settings, listen, otlp }))
    }
}

fn address(listen: &str) -> anyhow::Result<SocketAddr> {
    let mut addresses = listen
        .to_socket_addrs()
        .with_context(|| format!("--metrics {listen} is not ADDRESS:PORT"))?;
    let Some(address) = addresses.next() else { bail!("--metrics {listen}: no such host") };
    Ok(address)
}

/// `--otlp-interval`: a duration within reason.
fn interval(text: &str) -> Result<Duration, String> {
    let interval = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let [least, most] = INTERVAL;
    if (least..=most).contains(&interval) {
        return Ok(interval);
    }
    let [least, most] = INTERVAL.map(humantime::format_duration);
    Err(format!("between {least} and {most}"))
}

/// `--metrics-idle`: any duration but none at all.
fn idle(text: &str) -> Result<Duration, String> {
    let idle = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if idle.is_zero() { Err("longer than 0s".to_owned()) } else { Ok(idle) }
}

/// Which metrics are told, and to whom.
#[derive(Clone, Debug)]
pub struct Wanted {
    settings: Settings,
    listen: Option<SocketAddr>,
    otlp: Option<Otlp>,
}

impl Wanted {
    /// Binds the address, so that a port in use is an error at the start. To be called before
    /// privileges are given up: ports below 1024 need one.
    ///
    /// # Errors
    /// When the address is not of loopback, or cannot be had.
    pub fn bind(self) -> anyhow::Result<Bound> {
        let endpoint = self.listen.map(Endpoint::bind).transpose()?;
        Ok(Bound { settings: self.settings, endpoint, otlp: self.otlp })
    }
}

/// Metrics that can be told from now on.
#[derive(Debug)]
pub struct Bound {
    settings: Settings,
    endpoint: Option<Endpoint>,
    otlp: Option<Otlp>,
}

/// How those who run on show what is told to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// With the warnings of each reading.
    WithReadings,
    /// On standard error, at once.
    OnStderr,
}

impl Bound {
    /// Starts the thread; says on standard error where the metrics are. To be called after
    /// privileges were given up. `is_counted` says whether the method counts traffic.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start(self, is_counted: bool, shown: Shown) -> anyhow::Result<Exports> {
        let metrics = Metrics::new(self.settings, clock::now_ms());
        let address = self.endpoint.as_ref().map(Endpoint::address);
        if let Some(address) = address {
            tell!("portolan: metrics are on http://{address}/metrics");
        }
        if let Some(Otlp { receiver, interval, .. }) = &self.otlp {
            let interval = humantime::format_duration(*interval);
            tell!("portolan: metrics are sent to {receiver}, each {interval}");
        }
        let notice = Arc::new(Mutex::new(None));
        let warn: Warn = match shown {
            Shown::OnStderr => Arc::new(|text| tell!("portolan: {text}")),
            Shown::WithReadings => {
                let notice = Arc::clone(&notice);
                Arc::new(move |text| *lock(&notice) = Some(text.to_owned()))
            }
        };
        let service = Service::start(&metrics, self.endpoint, self.otlp, warn)
            .context("cannot start the thread for metrics")?;
        Ok(Exports { feed: Feed { metrics, notice, is_counted }, service, address })
    }
}

/// Metrics that are served and sent, until [`Exports::stop`].
#[derive(Debug)]
pub struct Exports {
    feed: Feed,
    service: Service,
    address: Option<SocketAddr>,
}

impl Exports {
    /// To be given what was counted.
    pub fn feed(&self) -> Feed {
        self.feed.clone()
    }

    /// For the screen: where the metrics are served.
    pub fn place(&self) -> Option<String> {
        self.address.map(|address| format!("metrics on http://{address}/metrics"))
    }

    /// Sends a last time, and ends the thread.
    pub fn stop(self) {
        self.service.stop();
        // The screen is gone, and what came up last would be told nowhere.
        if let Some(notice) = lock(&self.feed.notice).take() {
            tell!("portolan: {notice}");
        }
    }
}

/// Takes what was counted. Copies are of the same metrics.
#[derive(Clone, Debug)]
pub struct Feed {
    metrics: Metrics,
    /// What the thread told last, where a screen is to show it.
    notice: Arc<Mutex<Option<String>>>,
    is_counted: bool,
}

impl Feed {
    /// Adds what happened since the reading before: folded flows, the sum of what found no room,
    /// and what was lost.
    pub fn add(&self, flows: &[Flow], overflow: &Totals, losses: &[(&str, u64)]) {
        let now_ms = clock::now_ms();
        let overflow = Some(overflow);
        self.metrics.add(&Interval { flows, overflow, losses, map: None, now_ms });
    }

    /// What whoever looks at a reading should know of the metrics.
    pub fn warnings(&self) -> Vec<String> {
        let uncounted = (!self.is_counted).then(|| {
            "metrics: the method snapshot counts no traffic, only flow.connection.active is told \
             of the edges"
                .to_owned()
        });
        uncounted.into_iter().chain(lock(&self.notice).clone()).collect()
    }

    /// The page as it is now.
    #[cfg(test)]
    pub fn exposition(&self) -> String {
        self.metrics.exposition()
    }
}

fn lock(notice: &Mutex<Option<String>>) -> std::sync::MutexGuard<'_, Option<String>> {
    notice.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
