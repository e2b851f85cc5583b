//! `portolan host`.

mod args;
mod connections;
mod device;
mod figures;
mod output;
mod record;
mod text;

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use portolan_host::{Config, stack};
use portolan_load::{HostedServer, ServerOptions, Sizes, parse_serve_at};
use portolan_sys::{
    capabilities::{self, CapabilitySet},
    signals::{self, Noticed, Signals},
};

pub use args::HostArgs;
use device::Device;
use figures::Figures;

/// The host's threads are asked so often whether they still work.
const LOOK: Duration = Duration::from_millis(200);

/// A reader has so long at the end to take what was counted.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Runs the subcommand.
///
/// # Errors
/// Where the device cannot be opened, or the host cannot begin or go on.
pub fn run(args: &HostArgs) -> anyhow::Result<ExitCode> {
    let config = args.config()?;
    let options = args.options()?;
    args.check_peers()?;
    let device = Device::open(args)?;
    // Before any other thread: capabilities and the signal mask belong to a thread.
    capabilities::retain(CapabilitySet::empty()).context("cannot give up capabilities")?;
    let signals = signals::take().context("cannot handle signals")?;
    let asked = signals::take_asked().context("cannot handle signals")?;
    let Device { queues, told } = device;
    let server = HostedServer::start(&options, &config, queues)?;
    let mut run = Run::new(args, server, told);
    run.begin()?;
    let watched = run.watch(&signals, &asked);
    let ended = run.end();
    watched.and(ended).map(|()| ExitCode::SUCCESS)
}

impl HostArgs {
    fn config(&self) -> anyhow::Result<Config> {
        let mut config = Config::new(self.address.clone());
        for &gateway in &self.gateway {
            let all = if gateway.is_ipv4() { "0.0.0.0/0" } else { "::/0" };
            let network = all.parse().context("cannot make a default route")?;
            config.routes.push(stack::Route { network, gateway });
        }
        (config.mac, config.mtu) = (self.mac, self.mtu);
        config.tcp.congestion = self.congestion.into();
        config.busy_poll = self.busy_poll;
        if self.detect_duplicates {
            config.duplicates = stack::DuplicateDetection::Full;
        }
        Ok(config)
    }

    /// The kernel's end has to be one that the host can reach, and another one.
    fn check_peers(&self) -> anyhow::Result<()> {
        if let device::Nic::Packet(name) = &self.nic
            && !self.peer_address.is_empty()
        {
            bail!("--peer-address is for a TAP: the other end of {name} is elsewhere");
        }
        for peer in &self.peer_address {
            let ip = peer.address();
            if self.address.iter().any(|own| own.address() == ip) {
                bail!("--peer-address {peer} is an address of the host itself: give another one");
            }
            if !self.address.iter().any(|own| own.contains(ip)) {
                bail!(
                    "--peer-address {peer} is on no network of --address: the host would not find \
                     it; give one of the same network"
                );
            }
        }
        Ok(())
    }

    fn options(&self) -> anyhow::Result<ServerOptions> {
        let mut serve = Vec::new();
        for text in &self.serve {
            let any = std::net::Ipv6Addr::UNSPECIFIED;
            serve.extend(parse_serve_at(text, Sizes::default(), any.into())?);
        }
        Ok(ServerOptions { serve, ..ServerOptions::default() })
    }
}

/// A host that runs, and how it is told of.
struct Run<'a> {
    args: &'a HostArgs,
    server: HostedServer,
    device: device::Told,
    begun: Instant,
    figures: Figures,
}

impl<'a> Run<'a> {
    fn new(args: &'a HostArgs, server: HostedServer, device: device::Told) -> Self {
        Self { args, server, device, begun: Instant::now(), figures: Figures::default() }
    }

    fn begin(&self) -> anyhow::Result<()> {
        tell!("{}", text::ready(self.args, &self.device, self.server.host()));
        if self.args.json {
            let host = self.server.host();
            let addresses = self.server.addresses();
            print(&record::ready(self.args, &self.device, host, addresses))?;
        }
        Ok(())
    }

    /// Waits for the end, and says meanwhile what happens.
    fn watch(&mut self, signals: &Signals, asked: &Noticed) -> anyhow::Result<()> {
        let end = self.args.duration.and_then(|duration| self.begun.checked_add(duration));
        let is_shown = self.args.json || io::stderr().is_terminal();
        let mut next = is_shown.then_some(self.begun + self.args.interval);
        loop {
            let now = Instant::now();
            let at = next.into_iter().chain(end).chain([now + LOOK]).min().unwrap_or(now);
            if signals.wait_timeout(at.saturating_duration_since(now)) {
                return Ok(());
            }
            if asked.happened() {
                self.tell_connections()?;
            }
            let now = Instant::now();
            if end.is_some_and(|end| now >= end) || self.server.host().has_ended() {
                return Ok(());
            }
            if let Some(due) = next.filter(|due| now >= *due) {
                self.tell()?;
                // After a stop there are no intervals to make up for.
                next = Some((due + self.args.interval).max(now));
            }
        }
    }

    /// What happened since the last time. Of a reader that is slow the next interval is longer:
    /// to wait for him would keep the program from ending when it is asked to.
    fn tell(&mut self) -> anyhow::Result<()> {
        if self.args.json && !output::is_ready(Duration::ZERO) {
            return Ok(());
        }
        let served = self.server.interval();
        let total = Figures::of(&self.server.host().readings());
        let since = total.since(&self.figures);
        self.figures = total;
        match self.args.json {
            true => print(&record::interval(&served, &since)),
            false => {
                tell!("{}", text::interval(&served, &since));
                Ok(())
            }
        }
    }

    fn tell_connections(&self) -> anyhow::Result<()> {
        let infos = connections::sorted(self.server.host().connections());
        match self.args.json {
            true => infos.iter().try_for_each(|info| print(&connections::record(info))),
            false => {
                tell!("{}", connections::table(&infos));
                Ok(())
            }
        }
    }

    fn end(mut self) -> anyhow::Result<()> {
        let ended = self.server.settle();
        if !output::is_ready(LAST_WORDS) {
            ended?;
            bail!("nobody reads standard output: what was counted last is not written");
        }
        let told = if self.args.json { self.tell() } else { Ok(()) };
        let figures = Figures::of(&self.server.host().readings());
        let served = self.server.summary();
        match self.args.json {
            true => print(&record::summary(&served, &figures))?,
            false => super::load::print_text(&text::summary(&served, &figures))?,
        }
        ended?;
        told?;
        self.device.check_capture()
    }
}

fn print(record: &serde_json::Value) -> anyhow::Result<()> {
    super::load::print_json(record)
}

#[cfg(test)]
mod tests;
