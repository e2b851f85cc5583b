//! What the kernel lists, handed to the programs of a control group (bpf/listed.h), which cannot
//! look at a socket but in its turn.

use std::{
    collections::{HashMap, HashSet},
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::Path,
    time::{Duration, Instant},
};

use libbpf_rs::{MapCore, MapFlags, Object};
use portolan_sys::{clock, netns};

use crate::{
    Error,
    edge::Side,
    holders::{self, Holder, Holders},
    listing::{LISTEN, Listing, Row},
    maps,
    object::{map, refused},
};

/// `struct listed` of bpf/edge.h.
const LISTED_BYTES: usize = 128;

/// So many at once: `listing` of bpf/listed.h.
const AT_ONCE: usize = 512;

/// How often it is looked for namespaces that came or went. A listing keeps its own alive.
const LOOK_AFTER: Duration = Duration::from_secs(5);

/// The namespaces that can be listed, and what their sockets were told of.
#[derive(Debug)]
pub struct Listed {
    /// By inode number.
    spaces: HashMap<u64, Space>,
    holders: Holders,
    ephemeral: (u16, u16),
    looked: Instant,
    /// Inode numbers of namespaces by what programs call them, also of those that are gone.
    numbers: HashMap<u32, u64>,
    values: Vec<u8>,
}

#[derive(Debug)]
struct Space {
    listing: Listing,
    number: u32,
    /// It had sockets when it was last listed, which keep it alive where no process is in it.
    is_used: bool,
}

impl Listed {
    /// Nothing was listed yet.
    pub fn new(ephemeral: (u16, u16)) -> Self {
        Self {
            spaces: HashMap::new(),
            holders: Holders::new(),
            ephemeral,
            looked: Instant::now(),
            numbers: HashMap::new(),
            values: Vec::new(),
        }
    }

    /// Hands over all connections and listeners of all namespaces as those of before. Returns how
    /// many namespaces could not be entered.
    pub fn begin(&mut self, object: &Object) -> Result<usize, Error> {
        let hidden = self.look()?;
        self.holders = holders::find();
        self.hand_over(object, true)?;
        self.own_datagrams(object)?;
        Ok(hidden)
    }

    /// Hands over who holds what, of which nobody knows it.
    pub fn own(&mut self, object: &Object) -> Result<(), Error> {
        self.holders = holders::find();
        self.hand_over_all(object, false, true)?;
        self.own_datagrams(object)
    }

    /// Hands over who holds which UDP socket: one that does nothing but receive is seen by none of
    /// the programs that see processes.
    fn own_datagrams(&mut self, object: &Object) -> Result<(), Error> {
        let Self { spaces, holders, .. } = self;
        let known = map(object, "datagram_holders");
        for space in spaces.values_mut() {
            let mut rows = Vec::new();
            // Where it cannot be listed, nobody has a name yet.
            let _ = space.listing.udp(&mut |row| rows.push(row));
            for row in rows.into_iter().filter(|row| row.cookie != 0) {
                let value = caller(holders.get(&row.inode), space.number);
                let written = known.update(&row.cookie.to_ne_bytes(), &value, MapFlags::ANY);
                written
                    .map_err(|error| refused("write the map datagram_holders".to_owned(), error))?;
            }
        }
        Ok(())
    }

    /// Hands over what moved.
    pub fn refresh(&mut self, object: &Object) -> Result<(), Error> {
        if self.looked.elapsed() >= LOOK_AFTER {
            self.look()?;
        }
        self.hand_over(object, false)
    }

    /// The inode number of the namespace that programs call so; by a process that has a socket
    /// there, where it could not be entered.
    pub fn inode(&mut self, number: u32, pid: u32) -> Option<u64> {
        if let Some(&inode) = self.numbers.get(&number) {
            return Some(inode);
        }
        let inode = netns::of(pid).filter(|_| pid != 0)?;
        // It may have moved on since to one that is known.
        if self.numbers.values().any(|&known| known == inode) {
            return None;
        }
        self.numbers.insert(number, inode);
        Some(inode)
    }

    /// Opens what is new, and lets go of what nobody is in any more.
    fn look(&mut self) -> Result<usize, Error> {
        self.looked = Instant::now();
        let listing = netns::list().map_err(Error::system("list network namespaces", "/proc"))?;
        let here =
            netns::current().map_err(Error::system("find the network namespace", "/proc"))?;
        let found: HashMap<u64, _> =
            listing.namespaces.into_iter().map(|it| (it.inode, it.path)).collect();
        self.spaces
            .retain(|inode, space| *inode == here || space.is_used || found.contains_key(inode));
        if !self.spaces.contains_key(&here) {
            let opened = open(None).map_err(Error::system("list sockets", "sock_diag"))?;
            self.add(here, opened);
        }
        let mut hidden = 0;
        for (inode, path) in found {
            if self.spaces.contains_key(&inode) {
                continue;
            }
            match open(Some(&path)) {
                Ok(space) => self.add(inode, space),
                Err(_) => hidden += 1,
            }
        }
        Ok(hidden)
    }

    fn add(&mut self, inode: u64, space: Space) {
        self.numbers.insert(space.number, inode);
        self.spaces.insert(inode, space);
    }

    fn hand_over(&mut self, object: &Object, is_first: bool) -> Result<(), Error> {
        self.hand_over_all(object, is_first, is_first)
    }

    /// What cannot be listed now is left as it is, and told the programs.
    fn hand_over_all(
        &mut self,
        object: &Object,
        is_first: bool,
        with_listeners: bool,
    ) -> Result<(), Error> {
        let Self { spaces, holders, values, ephemeral, .. } = self;
        let mut is_torn = false;
        for space in spaces.values_mut() {
            let taken = clock::monotonic();
            let mut rows = Vec::new();
            is_torn |= space.listing.tcp(with_listeners, &mut |row| rows.push(row)).is_err();
            space.is_used = !rows.is_empty();
            let listeners = rows.iter().filter(|row| row.state == LISTEN).map(|row| row.local);
            let listeners = listeners.collect();
            let context = Context { listeners, holders, ephemeral: *ephemeral, is_first };
            for rows in rows.chunks(AT_ONCE) {
                values.clear();
                for row in rows {
                    context.encode(row, space.number, taken, values);
                }
                give(object, values, is_torn)?;
            }
        }
        maps::run(object, "list", [0, u32::from(is_torn)]).map(|_| ())
    }
}

/// `struct caller` of bpf/edge.h.
fn caller(holder: Option<&Holder>, netns: u32) -> Vec<u8> {
    let mut bytes = holder.map_or(0, |holder| holder.name.cgroup).to_ne_bytes().to_vec();
    bytes.extend(holder.map_or([0; 16], |holder| holder.name.comm));
    bytes.extend(holder.map_or(0, |holder| holder.pid).to_ne_bytes());
    bytes.extend(netns.to_ne_bytes());
    bytes
}

fn open(path: Option<&Path>) -> io::Result<Space> {
    let listing = match path {
        None => Listing::open(),
        Some(path) => netns::run_in(path, Listing::open).and_then(|opened| opened),
    }?;
    let number = listing.namespace()?;
    Ok(Space { listing, number, is_used: false })
}

fn give(object: &Object, values: &[u8], is_torn: bool) -> Result<(), Error> {
    let many = values.len() / LISTED_BYTES;
    let many = u32::try_from(many).expect("few at once");
    let keys: Vec<u8> = (0..many).flat_map(u32::to_ne_bytes).collect();
    let given =
        map(object, "listing").update_batch(&keys, values, many, MapFlags::ANY, MapFlags::ANY);
    given.map_err(|error| refused("write the map listing".to_owned(), error))?;
    maps::run(object, "list", [many, u32::from(is_torn)]).map(|_| ())
}

/// What a row is told with.
struct Context<'a> {
    listeners: HashSet<(IpAddr, u16)>,
    holders: &'a Holders,
    ephemeral: (u16, u16),
    is_first: bool,
}

impl Context<'_> {
    /// `struct listed`.
    fn encode(&self, row: &Row, netns: u32, taken: Duration, into: &mut Vec<u8>) {
        let (side, guessed) = if self.is_first { self.side(row) } else { (Side::Active, false) };
        let holder = self.holders.get(&row.inode);
        let taken_us = u64::try_from(taken.as_micros()).unwrap_or(0);
        let numbers = [row.cookie, taken_us, row.sent, row.sent_max, row.received];
        let cgroup = holder.map_or(0, |holder| holder.name.cgroup);
        into.extend(numbers.into_iter().chain([cgroup]).flat_map(u64::to_ne_bytes));
        into.extend(holder.map_or([0; 16], |holder| holder.name.comm));
        let pid = holder.map_or(0, |holder| holder.pid);
        into.extend(
            [pid, row.retransmits, row.rtt_us, netns].into_iter().flat_map(u32::to_ne_bytes),
        );
        for (address, _) in [row.local, row.remote] {
            let address = match address {
                IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
                IpAddr::V6(v6) => v6.octets(),
            };
            into.extend(address);
        }
        into.extend([row.local.1, row.remote.1].into_iter().flat_map(u16::to_ne_bytes));
        let side = if side == Side::Passive { 2 } else { 1 };
        into.extend([row.state, side, u8::from(guessed), u8::from(self.is_first)]);
        into.extend([0; 8]);
    }

    /// Of a connection whose beginning nobody saw: `side_of` of bpf/listen.h.
    fn side(&self, row: &Row) -> (Side, bool) {
        let (first, last) = self.ephemeral;
        let is_ephemeral = |port| (first..=last).contains(&port);
        let (address, port) = row.local;
        let any = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
        let mut places = any.into_iter().chain([address, address.to_canonical()]);
        if places.any(|address| self.listeners.contains(&(address, port))) {
            return (Side::Passive, false);
        }
        let (here, there) = (is_ephemeral(row.local.1), is_ephemeral(row.remote.1));
        let side = if !here && there { Side::Passive } else { Side::Active };
        (side, !here || there)
    }
}

#[cfg(test)]
mod tests;
