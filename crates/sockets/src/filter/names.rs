//! Names in a filter that stand for numbers.

use std::{collections::HashMap, fs};

use portolan_flow::service_port;
use rustix::net::{AddressFamily, SocketType, netdevice};

/// Finds the numbers that names in a filter stand for.
pub trait Names {
    /// The port of a service.
    fn port(&self, service: &str) -> Option<u16>;

    /// The index of an interface.
    fn interface(&self, name: &str) -> Option<u32>;
}

/// The services that Portolan knows on every host, and no interfaces: asks nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct WellKnown;

impl Names for WellKnown {
    fn port(&self, service: &str) -> Option<u16> {
        service_port(service)
    }

    fn interface(&self, _name: &str) -> Option<u32> {
        None
    }
}

/// The names of this host: services of `/etc/services` before those of [`WellKnown`], and the
/// interfaces of the network namespace that the calling thread is in.
#[derive(Clone, Debug, Default)]
pub struct HostNames {
    services: HashMap<String, u16>,
}

impl HostNames {
    /// Reads `/etc/services`; where there is none, the well-known names remain.
    #[must_use]
    pub fn read() -> Self {
        let file = fs::read("/etc/services").unwrap_or_default();
        Self::of_services(&String::from_utf8_lossy(&file))
    }

    /// With the services of a text in the format of services(5).
    #[must_use]
    pub fn of_services(text: &str) -> Self {
        let mut services = HashMap::new();
        // Where a name has two ports, that of TCP counts, and of several the first.
        for transport in ["tcp", "udp"] {
            for line in text.lines() {
                let line = line.split('#').next().unwrap_or_default();
                let mut words = line.split_whitespace();
                let (Some(name), Some(number)) = (words.next(), words.next()) else { continue };
                let port = number.strip_suffix(transport).and_then(|rest| rest.strip_suffix('/'));
                let Some(port) = port.and_then(|port| port.parse().ok()) else { continue };
                for name in std::iter::once(name).chain(words) {
                    services.entry(name.to_owned()).or_insert(port);
                }
            }
        }
        Self { services }
    }
}

impl Names for HostNames {
    fn port(&self, service: &str) -> Option<u16> {
        self.services.get(service).copied().or_else(|| service_port(service))
    }

    fn interface(&self, name: &str) -> Option<u32> {
        // Any socket will do to ask with.
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).ok()?;
        netdevice::name_to_index(socket, name).ok()
    }
}

#[cfg(test)]
mod tests;
