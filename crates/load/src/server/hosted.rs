//! The same services on a host of this process (`portolan_host`), without the kernel's TCP.

mod program;
mod stream;

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use portolan_host::{Config, Host, nic::Nic};

use super::{
    ServerOptions,
    account::Account,
    counters::Tally,
    service::Serve,
    summary::{Port, ServerInterval, ServerSummary},
};
use crate::Error;
use program::Serving;

/// A server that runs on a host of its own: a thread per queue of the device.
///
/// An address that is unspecified stands for all of the host's. It listens once
/// [`HostedServer::start`] returns, and ends with [`HostedServer::settle`] or when it is dropped.
#[derive(Debug)]
pub struct HostedServer {
    host: Host,
    account: Account,
}

impl HostedServer {
    /// Starts a host with these queues of one device, and serves there. Of the options, `threads`
    /// and `is_pinned` do not apply.
    ///
    /// # Errors
    /// [`Error::Host`], [`Error::Options`] where a place is named twice.
    pub fn start<N: Nic + Send + 'static>(
        options: &ServerOptions,
        config: &Config,
        queues: Vec<N>,
    ) -> Result<Self, Error> {
        options.check_services()?;
        let places: Arc<[Serve]> = options.places().into();
        check_places(&places, config)?;
        let mut tallies = Vec::new();
        let serving = |nic| {
            let tally = Arc::new(Tally::new(places.len()));
            tallies.push(Arc::clone(&tally));
            (nic, Serving::new(Arc::clone(&places), options, config, tally))
        };
        let queues = queues.into_iter().map(serving).collect();
        let host = Host::start(config, queues)?;
        let addresses = places.iter().map(|place| place.address).collect();
        Ok(Self { host, account: Account::new(addresses, tallies) })
    }

    /// The host, for its counters and its end.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Where it listens, in the order that was asked for.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        self.account.addresses()
    }

    /// What happened so far, in the order of [`HostedServer::addresses`].
    #[must_use]
    pub fn ports(&self) -> Vec<Port> {
        self.account.ports()
    }

    /// What happened since it was asked last, or since the start.
    #[must_use]
    pub fn interval(&mut self) -> ServerInterval {
        self.account.interval()
    }

    /// Ends the host. What happened can still be asked for.
    ///
    /// # Errors
    /// [`Error::Host`] when a thread ended early.
    pub fn settle(&mut self) -> Result<(), Error> {
        self.account.end();
        Ok(self.host.stop()?)
    }

    /// What happened, once it has ended.
    #[must_use]
    pub fn summary(&self) -> ServerSummary {
        self.account.summary()
    }
}

/// The address, if it is one alone.
fn one(address: SocketAddr) -> Option<IpAddr> {
    Some(address.ip()).filter(|ip| !ip.is_unspecified())
}

fn check_places(places: &[Serve], config: &Config) -> Result<(), Error> {
    let mut seen = Vec::with_capacity(places.len());
    for Serve { address, .. } in places {
        if address.port() == 0 {
            let text = "a service needs a port: write it after the colon, as in echo:7";
            return Err(Error::Options(text.to_owned()));
        }
        if let Some(ip) = one(*address)
            && !config.addresses.iter().any(|own| own.address() == ip)
        {
            return Err(portolan_host::Error::NotOwn(ip).into());
        }
        // What is bound to one address and what is bound to all go together.
        let place = (one(*address), address.port());
        if seen.contains(&place) {
            let port = address.port();
            let text = format!("port {port} is given to two services: choose another for one");
            return Err(Error::Options(text));
        }
        seen.push(place);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
