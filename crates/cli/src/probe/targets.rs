//! From what was written to addresses and ports.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Read},
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    path::Path,
};

use anyhow::{Context, bail};
use portolan_flow::service_port;
use portolan_probe::{
    ports::PortSet,
    space::{AddressRange, Entry, Ranges, Space},
    targets::{Hosts, Target, parse_file},
};
use rustix::net::{self, AddressFamily, SocketType, netdevice};

use super::args::ProbeArgs;

/// Files of targets are read up to this length.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// What is asked for when nobody says which ports.
const TOP: usize = 100;

/// All that is asked about.
#[derive(Debug)]
pub struct Targets {
    /// Every check.
    pub space: Space,
    /// The ports of targets that have none of their own.
    pub ports: PortSet,
    /// The names that addresses were given by, with the port of those that had one.
    names: BTreeMap<(IpAddr, Option<u16>), String>,
    /// What was written, to know it again.
    pub written: Vec<String>,
    /// The targets without what is left out.
    entries: Vec<Entry>,
    excluded: Ranges,
}

impl Targets {
    /// The name that a target was given by, if it was.
    pub fn name_of(&self, target: SocketAddr) -> Option<&str> {
        let with = |port| self.names.get(&(target.ip(), port));
        with(Some(target.port())).or_else(|| with(None)).map(String::as_str)
    }

    /// Reads targets, ports and what is left out; resolves names.
    ///
    /// # Errors
    /// What cannot be read or resolved, and why.
    pub fn read(args: &ProbeArgs) -> anyhow::Result<Self> {
        Written::read(args)?.resolve(args)
    }

    /// The checks of addresses that are none of these.
    ///
    /// # Errors
    /// When they are too many ranges.
    pub fn outside(&self, ours: &Ranges) -> anyhow::Result<Space> {
        let entries = self.entries.iter().copied();
        Ok(Space::new(self.ports.clone(), entries, &self.excluded.union(ours))?)
    }

    /// The ports that some target is asked for, ascending.
    pub fn asked_ports(&self) -> Vec<u16> {
        let own: BTreeSet<u16> = self.entries.iter().filter_map(|entry| entry.port).collect();
        let needs_all = self.entries.iter().any(|entry| entry.port.is_none());
        let all = self.ports.iter().filter(|_| needs_all);
        all.chain(own).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// What was written, which is read once, as standard input can be.
#[derive(Debug)]
pub struct Written {
    ports: PortSet,
    targets: Vec<Target>,
    excluded: Vec<Target>,
}

impl Written {
    /// Reads targets, ports and what is left out.
    ///
    /// # Errors
    /// What cannot be read, and why.
    pub fn read(args: &ProbeArgs) -> anyhow::Result<Self> {
        Ok(Self { ports: ports(args)?, targets: targets(args)?, excluded: excluded(args)? })
    }

    /// Resolves names.
    ///
    /// # Errors
    /// Which cannot be resolved; nothing or too much that is left to ask.
    pub fn resolve(&self, args: &ProbeArgs) -> anyhow::Result<Targets> {
        let ports = self.ports.clone();
        let mut names = BTreeMap::new();
        let mut entries = Vec::new();
        for target in &self.targets {
            add(target, args, &mut names, &mut entries)?;
        }
        let excluded = ranges(&self.excluded)?;
        let space = Space::new(ports.clone(), entries.iter().copied(), &excluded)?;
        if space.is_empty() {
            bail!("nothing is left to ask: --exclude leaves out every target");
        }
        let written = self.targets.iter().map(ToString::to_string).collect();
        Ok(Targets { space, ports, names, written, entries, excluded })
    }
}

fn ports(args: &ProbeArgs) -> anyhow::Result<PortSet> {
    Ok(match (&args.ports, args.top) {
        (Some(text), _) => PortSet::parse(text, &service)?,
        (None, Some(count)) => PortSet::top(count)?,
        (None, None) => PortSet::top(TOP)?,
    })
}

/// The targets of the command line, then those of files.
fn targets(args: &ProbeArgs) -> anyhow::Result<Vec<Target>> {
    let mut targets = Vec::new();
    for text in &args.targets {
        targets.push(Target::parse(text, &service)?);
    }
    for file in &args.targets_from {
        read_targets(file, &mut targets)?;
    }
    if targets.is_empty() {
        bail!("the files name no targets: write one to a line");
    }
    Ok(targets)
}

fn read_targets(file: &Path, into: &mut Vec<Target>) -> anyhow::Result<()> {
    let text = read(file)?;
    for target in parse_file(&text, &service) {
        into.push(target.with_context(|| file.display().to_string())?.1);
    }
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        io::stdin().lock().take(FILE_BYTES_MAX).read_to_string(&mut text)
    } else {
        fs::File::open(file)
            .and_then(|opened| opened.take(FILE_BYTES_MAX).read_to_string(&mut text))
    };
    let read = read.with_context(|| format!("cannot read targets from {}", file.display()))?;
    if read as u64 == FILE_BYTES_MAX {
        bail!("{} is longer than 256 MiB: name networks instead of addresses", file.display());
    }
    Ok(text)
}

/// What is left out: the same grammar, without ports.
fn excluded(args: &ProbeArgs) -> anyhow::Result<Vec<Target>> {
    let mut targets = Vec::new();
    for text in &args.exclude {
        targets.push(Target::parse_exclude(text, &service)?);
    }
    for file in &args.exclude_file {
        read_targets(file, &mut targets)?;
        if let Some(target) = targets.iter().find(|target| target.port.is_some()) {
            bail!("{}: {target}: what is left out has no port", file.display());
        }
    }
    Ok(targets)
}

fn ranges(targets: &[Target]) -> anyhow::Result<Ranges> {
    let mut ranges = Vec::new();
    for target in targets {
        match &target.hosts {
            // Whichever of its addresses would be asked.
            Hosts::Name(name) => ranges.extend(resolve(name)?.map(AddressRange::from)),
            hosts => ranges.extend(hosts.ranges()),
        }
    }
    Ok(Ranges::collect(ranges)?)
}

fn add(
    target: &Target,
    args: &ProbeArgs,
    names: &mut BTreeMap<(IpAddr, Option<u16>), String>,
    entries: &mut Vec<Entry>,
) -> anyhow::Result<()> {
    let port = target.port;
    let zone = match target.hosts.zone() {
        Some(zone) => interface(zone)?,
        None => 0,
    };
    let Hosts::Name(name) = &target.hosts else {
        entries.extend(target.hosts.ranges().map(|range| Entry { range, zone, port }));
        return Ok(());
    };
    let is_wanted =
        |address: &IpAddr| !(args.ipv4 && address.is_ipv6() || args.ipv6 && address.is_ipv4());
    let mut addresses: Vec<IpAddr> = resolve(name)?.filter(is_wanted).collect();
    if addresses.is_empty() {
        let family = if args.ipv4 { "IPv4" } else { "IPv6" };
        bail!("{name} has no {family} address: leave -4 and -6 out");
    }
    if !args.all_addresses {
        addresses.truncate(1);
    }
    for address in addresses {
        names.entry((address, port)).or_insert_with(|| name.clone());
        entries.push(Entry { range: address.into(), zone, port });
    }
    Ok(())
}

/// The addresses of a name, in the order of preference of this host (RFC 6724).
fn resolve(name: &str) -> anyhow::Result<impl Iterator<Item = IpAddr>> {
    let found = (name, 0).to_socket_addrs().with_context(|| format!("cannot resolve {name}"))?;
    Ok(found.map(|address| address.ip()))
}

fn interface(zone: &str) -> anyhow::Result<u32> {
    if let Ok(index) = zone.parse() {
        return Ok(index);
    }
    // Not by /sys/class/net, which may show the interfaces of another network namespace.
    let socket = net::socket(AddressFamily::INET6, SocketType::DGRAM, None)
        .or_else(|_| net::socket(AddressFamily::INET, SocketType::DGRAM, None));
    let index = socket.and_then(|socket| netdevice::name_to_index(socket, zone));
    index.ok().with_context(|| {
        format!("there is no interface {zone}: ip link lists those that there are")
    })
}

/// The port of a service: as this program names it, or /etc/services.
fn service(name: &str) -> Option<u16> {
    service_port(name).or_else(|| in_etc_services(&fs::read_to_string("/etc/services").ok()?, name))
}

/// The TCP port of a name or alias (services(5)).
fn in_etc_services(text: &str, name: &str) -> Option<u16> {
    text.lines().find_map(|line| {
        let line = line.split('#').next()?;
        let mut words = line.split_ascii_whitespace();
        let (first, port) = (words.next()?, words.next()?.strip_suffix("/tcp")?);
        std::iter::once(first).chain(words).find(|word| *word == name)?;
        port.parse().ok()
    })
}

#[cfg(test)]
mod tests;
