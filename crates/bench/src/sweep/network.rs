//! The networks that are swept: in a namespace of their own, behind pairs of devices.

use std::{
    net::{Ipv4Addr, SocketAddrV4},
    thread,
};

use crate::{
    Error, Listen, Program,
    world::{self, Stage, link},
};

/// Each network is a /16.
pub(super) const SIZE_MAX: u64 = 65_536;

/// Where every address of the networks answers.
pub(super) const PORT: u16 = 80;

/// Discard (RFC 863): nobody listens there.
const TICK_PORT: u16 = 9;

/// A network, and the way to it.
#[derive(Debug)]
pub(super) struct Network {
    /// The first of its addresses.
    pub(super) first: Ipv4Addr,
    /// The device on this side.
    pub(super) device: &'static str,
    /// The address of this side.
    pub(super) source: Ipv4Addr,
    /// The hardware address of this side.
    pub(super) source_mac: &'static str,
    /// The address of the other side.
    gateway: Ipv4Addr,
    /// The hardware address of the other side.
    pub(super) gateway_mac: &'static str,
    /// The device on the other side.
    far: &'static str,
}

/// Everything arrives.
pub(super) const CLEAN: Network = Network {
    first: Ipv4Addr::new(10, 77, 0, 0),
    device: "near",
    source: Ipv4Addr::new(10, 78, 0, 1),
    source_mac: "02:00:00:00:78:01",
    gateway: Ipv4Addr::new(10, 78, 0, 2),
    gateway_mac: "02:00:00:00:78:02",
    far: "far",
};

/// One packet of twenty does not, in either direction.
pub(super) const LOSSY: Network = Network {
    first: Ipv4Addr::new(10, 79, 0, 0),
    device: "near-lossy",
    source: Ipv4Addr::new(10, 80, 0, 1),
    source_mac: "02:00:00:00:80:01",
    gateway: Ipv4Addr::new(10, 80, 0, 2),
    gateway_mac: "02:00:00:00:80:02",
    far: "far-lossy",
};

impl Network {
    /// The commands of `ip` for the other side, while the calling thread is there; this side is
    /// where the thread `near` is.
    fn far_side(&self, near: i32) -> [String; 6] {
        let Self { first, device, source, source_mac, gateway, gateway_mac, far } = self;
        [
            format!("link add {far} type veth peer name {device} netns {near}"),
            format!("link set {far} address {gateway_mac}"),
            format!("address add {gateway}/24 dev {far}"),
            format!("link set {far} up"),
            // Nobody has to be asked for an address, so nothing but what is counted is sent.
            format!("neighbour replace {source} lladdr {source_mac} dev {far} nud permanent"),
            format!("route add local {first}/16 dev lo"),
        ]
    }

    /// The same for this side.
    fn near_side(&self) -> [String; 5] {
        let Self { first, device, source, source_mac, gateway, gateway_mac, .. } = self;
        [
            format!("link set {device} address {source_mac}"),
            format!("address add {source}/24 dev {device}"),
            format!("link set {device} up"),
            format!("neighbour replace {gateway} lladdr {gateway_mac} dev {device} nud permanent"),
            format!("route add {first}/16 via {gateway}"),
        ]
    }

    /// The commands of `tc` on the other side that lose packets: there, because what is lost where
    /// it arrives can still be seen by those who listen at the device.
    fn loss(&self) -> [String; 3] {
        let Self { far, .. } = self;
        let filter = |way| format!("filter add dev {far} {way} bpf da bytecode \"{LOSS}\"");
        [format!("qdisc add dev {far} clsact"), filter("ingress"), filter("egress")]
    }

    fn tick(&self) -> SocketAddrV4 {
        let [a, b, c, _] = self.gateway.octets();
        SocketAddrV4::new(Ipv4Addr::new(a, b, c, 255), TICK_PORT)
    }
}

/// Classic BPF, since that needs no compiler and no loader: a random number of 32 bits
/// (`SKF_AD_OFF + SKF_AD_RANDOM` of linux/filter.h); up to a twentieth of all of them means
/// `TC_ACT_SHOT`, which is 2, others `TC_ACT_OK`, which is 0.
const LOSS: &str = "4,32 0 0 4294963256,37 1 0 214748364,6 0 0 2,6 0 0 0";

/// Moves the calling thread into a fresh network namespace from which both networks are reached,
/// and opens `stage` in theirs.
///
/// The inner error says why nothing gets lost on the way to [`LOSSY`].
///
/// # Errors
/// Without the right to make namespaces and devices, or without the commands for that.
pub(super) fn make(stage: &Stage, listen: &Program) -> Result<Result<(), String>, Error> {
    world::enter_fresh()?;
    link::without_ipv6();
    let near = rustix::thread::gettid().as_raw_nonzero().get();
    // The other namespace lives as long as the server, which is started by a thread inside.
    let far = || -> Result<Result<(), String>, Error> {
        world::enter_fresh()?;
        link::widen_backlog();
        link::without_ipv6();
        link::batch("ip", &[CLEAN.far_side(near), LOSSY.far_side(near)].concat())?;
        let loss = link::batch("tc", &LOSSY.loss()).map_err(|error| error.to_string());
        let address = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, PORT);
        let ticks = [CLEAN.tick(), LOSSY.tick()].to_vec();
        stage.open(listen, &Listen { address, ticks })?;
        Ok(loss)
    };
    let loss = thread::scope(|scope| {
        scope.spawn(far).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    link::batch("ip", &[CLEAN.near_side(), LOSSY.near_side()].concat())?;
    Ok(loss)
}
