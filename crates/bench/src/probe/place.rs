//! Where ports are checked: a network namespace with a server, and a way to nobody.

use std::{
    net::{Ipv4Addr, SocketAddrV4},
    time::Duration,
};

use crate::{
    Error, Listen, Program, scenario,
    world::{self, Scenery, Served, Stage, link},
};

/// Where the server listens, at every address.
pub(super) const OPEN_PORT: u16 = 80;

/// Where nobody does.
pub(super) const CLOSED_PORT: u16 = 81;

/// A check of a silent target takes all of the timeout, so there are fewer: one for so many.
const CHECKS_PER_SILENT: u64 = 10_000;
const SILENT_CHECKS_MAX: u64 = 100;

/// The device behind which nobody answers, our address there, and nobody's.
const SILENT_DEVICE: &str = "silent";
const SILENT_SOURCE: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
const SILENT_TARGET: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);

/// Whom to ask.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// This host, over loopback.
    Loopback {
        /// The port.
        port: u16,
    },
    /// One that does not answer.
    Silent {
        /// The port.
        port: u16,
    },
}

impl Target {
    pub(super) fn address(self) -> SocketAddrV4 {
        match self {
            Self::Loopback { port } => SocketAddrV4::new(Ipv4Addr::LOCALHOST, port),
            Self::Silent { port } => SocketAddrV4::new(SILENT_TARGET, port),
        }
    }

    pub(super) fn source(self) -> Ipv4Addr {
        match self {
            Self::Loopback { .. } => Ipv4Addr::LOCALHOST,
            Self::Silent { .. } => SILENT_SOURCE,
        }
    }

    pub(super) fn device(self) -> &'static str {
        match self {
            Self::Loopback { .. } => "lo",
            Self::Silent { .. } => SILENT_DEVICE,
        }
    }

    pub(super) fn timeout(self) -> Duration {
        match self {
            Self::Loopback { .. } => Duration::from_secs(1),
            Self::Silent { .. } => Duration::from_millis(50),
        }
    }

    /// How many checks a size means.
    pub(super) fn checks(self, size: u64) -> u64 {
        match self {
            Self::Loopback { .. } => size,
            Self::Silent { .. } => (size / CHECKS_PER_SILENT).clamp(1, SILENT_CHECKS_MAX),
        }
    }
}

/// What is counted before and after a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counters {
    pub(super) served: Served,
    pub(super) packets: u64,
}

/// The place; shared by the scenario and its contestants.
#[derive(Clone, Debug)]
pub(super) struct Place {
    stage: Stage,
    listen: Program,
}

impl Place {
    pub(super) fn new(listen: Program) -> Self {
        Self { stage: Stage::default(), listen }
    }

    /// Moves the calling thread to a place where nobody was before.
    ///
    /// Everyone gets one: the kernel remembers connections for a minute, and those that one leaves
    /// behind would slow down the next one, or take all the ports.
    pub(super) fn renew(&self) -> Result<(), Error> {
        world::enter_fresh()?;
        link::widen_backlog();
        link::without_ipv6();
        link::batch("ip", &silence())?;
        let address = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, OPEN_PORT);
        self.stage.open(&self.listen, &Listen { address, ticks: Vec::new() })
    }

    /// What ends the place when it is dropped.
    pub(super) fn scenery(&self) -> Box<dyn scenario::World> {
        Box::new(Scenery(self.stage.clone()))
    }

    /// The counters, after connections on their way have arrived, so that no packet is missing.
    pub(super) fn counters(&self, target: Target) -> Result<Counters, Error> {
        let served = self.stage.served()?;
        Ok(Counters { served, packets: link::packets_sent(target.device())? })
    }
}

/// A network whose other side takes everything and answers nothing: frames for an address that no
/// device has are dropped where they arrive. A route that drops would tell the sender.
fn silence() -> Vec<String> {
    let (device, source, target) = (SILENT_DEVICE, SILENT_SOURCE, SILENT_TARGET);
    vec![
        format!("link add {device} type veth peer name nobody"),
        format!("address add {source}/24 dev {device}"),
        "link set nobody up".to_owned(),
        format!("link set {device} up"),
        format!("neighbour replace {target} lladdr 02:00:00:00:99:99 dev {device} nud permanent"),
    ]
}

#[cfg(test)]
mod tests;
