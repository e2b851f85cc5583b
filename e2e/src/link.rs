//! A link with this kernel's TCP at one end, and at the other one a host of `portolan_host`.

use std::{fs, net::IpAddr, path::Path, process::Command, time::Duration};

use portolan_host::{
    Config,
    nic::{self, Arrival, Departure, Error, Fault, Nic, Offloads, Packet, Pcap, Tap, packet},
    stack::DuplicateDetection,
};
use portolan_sys::interface;

use crate::{Place, World, program};

/// The interface at the kernel's end, and at the host's where there is one.
pub const INTERFACE: &str = "ptl0";

/// The host's Ethernet address.
pub const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

/// One queue, whatever is wrapped around it.
pub type Queue = Box<dyn Nic + Send>;

/// What carries frames between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// The kernel's end of a TAP.
    Tap,
    /// A pair of interfaces, of which the host has one by packet sockets.
    Veth,
}

/// What is left to the devices: checksums, and cutting and joining segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// As it is by default: all but joining.
    On,
    /// Nothing, in both directions.
    Off,
    /// All, and segments that arrive are joined (GRO); on a veth only.
    Gro,
}

/// A link in a world of its own.
#[derive(Debug)]
pub struct Link {
    /// The kernel's end.
    pub peer: Place,
    /// What carries frames.
    pub wire: Wire,
    mtu: u16,
    offload: Offload,
    /// Ends everything in it.
    pub world: World,
}

impl Link {
    /// A link for packets of so many bytes. Below 1,280 it has no IPv6.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn new(wire: Wire, mtu: u16, offload: Offload) -> Self {
        let mut world = World::new();
        let peer = match wire {
            Wire::Tap => {
                let peer = world.host.clone();
                ip(&peer, &format!("tuntap add dev {INTERFACE} mode tap"));
                ip(&peer, &format!("link set {INTERFACE} mtu {mtu} txqueuelen 10000"));
                ip(&peer, &format!("address add {}/24 dev {INTERFACE}", peer.address));
                peer
            }
            Wire::Veth => {
                let peer = world.add_namespace();
                // The kernel is to keep out of the host's end.
                set(&world.host, &format!("ipv6/conf/{INTERFACE}/disable_ipv6"), "1");
                ip(&world.host, &format!("address flush dev {INTERFACE}"));
                ip(&world.host, &format!("link set {INTERFACE} mtu {mtu} txqueuelen 10000"));
                ip(&peer, &format!("link set {INTERFACE} mtu {mtu} txqueuelen 10000"));
                peer
            }
        };
        let link = Self { peer, wire, mtu, offload, world };
        link.set_features();
        if mtu >= 1_280 {
            let address = link.peer_v6();
            ip(&link.peer, &format!("address add {address}/64 dev {INTERFACE} nodad"));
        }
        ip(&link.peer, &format!("link set {INTERFACE} up"));
        link
    }

    fn set_features(&self) {
        let features = match self.offload {
            Offload::On => return,
            Offload::Off => "tx off sg off tso off gso off gro off",
            Offload::Gro => "gro on",
        };
        let ends = match self.wire {
            Wire::Tap => vec![&self.peer],
            Wire::Veth => vec![&self.peer, &self.world.host],
        };
        for end in ends {
            let mut command = Command::new(program("ethtool", "ethtool"));
            command.args(["-K", INTERFACE]).args(features.split(' '));
            end.succeed(command);
        }
    }

    /// The kernel's IPv4 address.
    #[must_use]
    pub fn peer_v4(&self) -> IpAddr {
        parsed(&self.peer.address)
    }

    /// The host's IPv4 address.
    #[must_use]
    pub fn host_v4(&self) -> IpAddr {
        let (network, own) = self.peer.address.rsplit_once('.').unwrap_or_default();
        let other = if own == "1" { 2 } else { 1 };
        parsed(&format!("{network}.{other}"))
    }

    /// The kernel's IPv6 address.
    #[must_use]
    pub fn peer_v6(&self) -> IpAddr {
        v6(self.peer_v4())
    }

    /// The host's IPv6 address.
    #[must_use]
    pub fn host_v6(&self) -> IpAddr {
        v6(self.host_v4())
    }

    /// The link's networks, of IPv4 and of IPv6.
    #[must_use]
    pub fn networks(&self) -> [String; 2] {
        let (v4, v6) = (self.peer_v4().to_string(), self.peer_v6().to_string());
        let v4 = v4.rsplit_once('.').map_or("", |(network, _)| network);
        let v6 = v6.rsplit_once(':').map_or("", |(network, _)| network);
        [format!("{v4}.0/24"), format!("{v6}:/64")]
    }

    /// The host's addresses with their networks.
    #[must_use]
    pub fn host_addresses(&self) -> Vec<String> {
        let mut addresses = vec![format!("{}/24", self.host_v4())];
        if self.mtu >= 1_280 {
            addresses.push(format!("{}/64", self.host_v6()));
        }
        addresses
    }

    /// A host with its addresses, which takes its time for the end: what is lost then is sent
    /// again. It does not ask who else has the addresses: what it opens over IPv6 would wait.
    #[must_use]
    pub fn config(&self) -> Config {
        let parse = |text: &String| text.parse().unwrap_or_else(|_| panic!("{text}"));
        let mut config = Config::new(self.host_addresses().iter().map(parse).collect());
        config.mac = Some(MAC);
        config.duplicates = DuplicateDetection::Off;
        config.grace = Duration::from_secs(20);
        config
    }

    /// The host's device, which does this damage and writes everything down.
    ///
    /// # Panics
    /// When it cannot be opened.
    #[must_use]
    pub fn open(&self, faults: &str, capture: &Path) -> Queue {
        let queue = self.world.host.enter(|| self.open_bare());
        let queue = Pcap::create(queue, INTERFACE, capture)
            .unwrap_or_else(|error| panic!("{}: {error}", capture.display()));
        let faults: nic::fault::Faults =
            faults.parse().unwrap_or_else(|error| panic!("{faults}: {error}"));
        Box::new(Fault::new(queue, &faults))
    }

    /// Waits until the kernel's end works, which may take a second after the other end has been
    /// opened: up to then the kernel drops what it would send.
    pub fn wait_until_it_runs(&self) {
        crate::wait_for("the link to run", || {
            self.peer.enter(|| interface::is_running(INTERFACE)).ok().filter(|it| *it)
        });
    }

    fn open_bare(&self) -> Queue {
        match self.wire {
            Wire::Tap => {
                let opened = Tap::open(INTERFACE, 1).unwrap_or_else(|error| panic!("{error}"));
                let tap = opened.into_iter().next().expect("a queue");
                // Opening it has switched them on.
                self.set_features();
                self.wait_until_it_runs();
                if self.offload == Offload::Off { Box::new(Plain(tap)) } else { Box::new(tap) }
            }
            Wire::Veth => {
                let offloads = self.offload != Offload::Off;
                let options = packet::Options { offloads, ..packet::Options::default() };
                let opened = crate::wait_for("the link to be up", || {
                    Packet::open(INTERFACE, 1, &options).ok()
                });
                Box::new(opened.into_iter().next().expect("a queue"))
            }
        }
    }
}

/// A TAP whose offloads are not used.
struct Plain(Tap);

impl Nic for Plain {
    fn receive(&mut self, take: &mut dyn FnMut(Arrival<'_>)) -> Result<usize, Error> {
        self.0.receive(take)
    }

    fn transmit(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> Option<Departure>,
    ) -> Result<usize, Error> {
        self.0.transmit(fill)
    }

    fn offloads(&self) -> Offloads {
        Offloads { checksum: false, segment_bytes_max: 0, ..self.0.offloads() }
    }

    fn descriptor(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.0.descriptor()
    }
}

/// Runs `ip` in a namespace with arguments that have no spaces.
///
/// # Panics
/// When it fails.
pub fn ip(place: &Place, args: &str) {
    let mut command = Command::new(program("ip", "iproute2"));
    command.args(args.split(' '));
    place.succeed(command);
}

/// Sets a value below `/proc/sys/net` of a namespace.
///
/// # Panics
/// When the kernel does not have it.
pub fn set(place: &Place, name: &str, value: &str) {
    let path = Path::new("/proc/sys/net").join(name);
    place
        .enter(|| fs::write(&path, value))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn v6(of: IpAddr) -> IpAddr {
    let text = of.to_string();
    let mut parts = text.split('.').skip(1);
    let mut next = || parts.next().unwrap_or_default();
    parsed(&format!("fd00:{}:{}::{}", next(), next(), next()))
}

fn parsed(text: &str) -> IpAddr {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}
