//! A trace from its start to its end.

use std::{
    fmt, mem,
    net::IpAddr,
    time::{Duration, Instant},
};

use portolan_flow::{Counters, End, Flow, Listener, Pids, Totals, Traffic, Transport};
use portolan_sys::{
    capabilities::{self, CapabilitySet},
    kernel,
};

use crate::{
    Attach, Error, Losses, Reading, TraceOptions, UdpAttach,
    edge::{Counted, Edge, Name, Side},
    finder::Finder,
    listeners::Listeners,
    maps::{self, Maps},
    namespaces::Namespaces,
    object::{self, Loaded},
    owners::Owners,
};

/// What it takes to load and attach; to look at other namespaces, `finder` enters them.
const CAPABILITIES: CapabilitySet =
    CapabilitySet::BPF.union(CapabilitySet::PERFMON).union(CapabilitySet::NET_ADMIN);

/// When descriptors are searched for the processes that nobody knows, and at most how much later
/// again.
const SEARCH_AFTER: Duration = Duration::from_secs(5);
const SEARCH_AFTER_MAX: Duration = Duration::from_secs(300);

/// Programs in the kernel that count, until it is dropped; nothing stays attached when its process
/// ends, however that is.
pub struct Tracer {
    loaded: Loaded,
    options: TraceOptions,
    maps: Maps,
    listeners: Listeners,
    owners: Owners,
    finder: Finder,
    namespaces: Namespaces,
    /// Why better ways to attach were passed over.
    passed_over: Vec<(Attach, Error)>,
    hidden_namespaces: usize,
    lost: Losses,
    since: Instant,
    searched: Instant,
    search_after: Duration,
    has_nameless: bool,
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Tracer {
    /// Loads and attaches the programs, and makes what is there already known to them. Whatever
    /// happens after it returned is counted.
    ///
    /// # Errors
    /// [`Error::Privilege`]; [`Error::NoWay`], with the reason for each, or the
    /// reason for the one that was asked for, of UDP too; others when the host cannot be read.
    pub fn open(options: TraceOptions) -> Result<Self, Error> {
        check_host()?;
        let (loaded, passed_over) = load_best(&options)?;
        let maps = Maps::new(&loaded.object, options.method)?;
        let mut finder = Finder::new(loaded.attach, &options);
        let hidden_namespaces = finder.begin(&loaded.object)?;
        maps::set_ready(&loaded.object)?;
        let mut tracer = Self {
            lost: maps::losses(&loaded)?,
            loaded,
            options,
            maps,
            listeners: Listeners::new(),
            owners: Owners::default(),
            finder,
            namespaces: Namespaces::default(),
            passed_over,
            hidden_namespaces,
            since: Instant::now(),
            searched: Instant::now(),
            search_after: SEARCH_AFTER,
            has_nameless: false,
        };
        // What ended while the rest was made known belongs to no reading.
        tracer.finder.refresh(&tracer.loaded.object)?;
        tracer.maps.take(&tracer.loaded)?;
        tracer.maps.told();
        tracer.since = Instant::now();
        Ok(tracer)
    }

    /// Where the programs are attached.
    #[must_use]
    pub fn attach(&self) -> Attach {
        self.loaded.attach
    }

    /// Why better ways to attach were passed over.
    #[must_use]
    pub fn passed_over(&self) -> &[(Attach, Error)] {
        &self.passed_over
    }

    /// Where UDP is seen; `None` where it is not traced.
    #[must_use]
    pub fn udp_attach(&self) -> Option<UdpAttach> {
        self.loaded.udp
    }

    /// Why better ways to see UDP were passed over; all of them, where none works.
    #[must_use]
    pub fn udp_passed_over(&self) -> &[(UdpAttach, Error)] {
        &self.loaded.udp_passed_over
    }

    /// Why UDP is not traced, where it was asked for: the kernel refuses, or the unified hierarchy
    /// of control groups is missing.
    #[must_use]
    pub fn without_udp(&self) -> Option<&Error> {
        self.loaded.without_udp()
    }

    /// How many network namespaces could not be entered: of connections that were up there at the
    /// start, only the end is seen.
    #[must_use]
    pub fn hidden_namespaces(&self) -> usize {
        self.hidden_namespaces
    }

    /// For people: `bundle (sums per edge in the kernel, by tp_btf; UDP by fentry)`.
    #[must_use]
    pub fn describe(&self) -> String {
        let (method, attach) = (self.options.method, self.loaded.attach);
        let udp = match self.loaded.udp {
            Some(udp) => format!("UDP by {udp}"),
            None => "without UDP".to_owned(),
        };
        format!("{method} ({}, by {attach}; {udp})", method.describe())
    }

    /// With the method `stream`, makes room in the queue, which must be done often: it holds
    /// [`TraceOptions::queue_bytes`]. Does nothing with the others.
    ///
    /// # Errors
    /// When the queue cannot be read.
    pub fn relieve(&mut self) -> Result<(), Error> {
        self.maps.relieve()
    }

    /// What happened since the last reading.
    ///
    /// # Errors
    /// When the kernel cannot be asked; what it counted meanwhile is told by the next reading.
    pub fn read(&mut self) -> Result<Reading, Error> {
        self.search_owners()?;
        // What can fail comes first: what is taken from the kernel is nowhere else.
        self.listeners.read(&self.loaded.object)?;
        let lost = maps::losses(&self.loaded)?;
        self.finder.refresh(&self.loaded.object)?;
        self.maps.take(&self.loaded)?;
        let now = Instant::now();
        let span = now.duration_since(mem::replace(&mut self.since, now));
        let losses = lost.since(mem::replace(&mut self.lost, lost));
        if losses.missed > 0 && maps::missed_states(&self.loaded).is_ok_and(|missed| missed > 0) {
            // That it cannot be attached is no worse than before.
            let _ = self.loaded.double();
        }
        let (sums, overflow) = self.maps.told();
        self.owners.refresh();
        let seen = sums.iter().map(|(edge, counted)| (edge.netns, counted.pid));
        self.namespaces.learn(&mut self.finder, seen);
        self.has_nameless = self.listeners.has_nameless();
        let span_ms = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let mut flows = Vec::with_capacity(sums.len());
        for (edge, counted) in &sums {
            let is_up = counted.up > 0 || edge.transport == Transport::Udp;
            self.has_nameless |= edge.name.is_empty() && is_up;
            flows.push(self.flow(edge, counted, span_ms));
        }
        let listeners = self.listeners();
        Ok(Reading { flows, listeners, overflow, losses, span })
    }

    /// Looks for the processes that nobody knows yet; the less often, the longer there are some
    /// that it does not find: they may be the kernel's own.
    fn search_owners(&mut self) -> Result<(), Error> {
        if !self.has_nameless {
            self.search_after = SEARCH_AFTER;
        } else if self.searched.elapsed() >= self.search_after {
            self.finder.own(&self.loaded.object)?;
            self.searched = Instant::now();
            self.search_after = (2 * self.search_after).min(SEARCH_AFTER_MAX);
        }
        Ok(())
    }

    fn flow(&mut self, edge: &Edge, counted: &Counted, span_ms: u64) -> Flow {
        let counters = Counters { connections: counted.up, ..Counters::default() };
        let here = self.end(edge, counted.pid);
        let there = End::unobserved(edge.remote);
        let none = (Counters::default(), Totals::default());
        let seen = (counters, counted.totals);
        let (client, server, (active, sent), (passive, received)) = match edge.side {
            Side::Active => (here, there, seen, none),
            Side::Passive => (there, here, none, seen),
        };
        Flow {
            transport: edge.transport,
            server_port: edge.port,
            client,
            server,
            active,
            passive,
            traffic: Some(Box::new(Traffic { span_ms, active: sent, passive: received })),
            guessed: edge.guessed,
        }
    }

    /// The end that was seen. Who did not show is whoever listens there.
    fn end(&mut self, edge: &Edge, pid: u32) -> End {
        let (mut name, mut pid) = (edge.name, pid);
        if name.is_empty() && edge.side == Side::Passive {
            let listener = self.listeners.accepting(edge.netns, edge.local, edge.port);
            if let Some(listener) = listener {
                (name, pid) = (listener.name, listener.pid);
            }
        }
        self.end_of(edge.local, edge.netns, name, pid)
    }

    fn end_of(&mut self, address: IpAddr, netns: u32, name: Name, pid: u32) -> End {
        End {
            address,
            namespace: Some(self.namespaces.of(netns)),
            owner: self.owners.of(name, pid),
            pids: if pid == 0 { Pids::default() } else { Pids::of(pid) },
        }
    }

    fn listeners(&mut self) -> Vec<Listener> {
        let all: Vec<_> = self.listeners.each().collect();
        let seen = all.iter().map(|(_, at, listener)| (at.netns, listener.pid));
        self.namespaces.learn(&mut self.finder, seen);
        let mut listeners: Vec<Listener> = all
            .into_iter()
            .map(|(transport, at, listener)| {
                let end = self.end_of(at.address, at.netns, listener.name, listener.pid);
                Listener { transport, port: at.port, end }
            })
            .collect();
        listeners.sort();
        listeners
    }
}

fn check_host() -> Result<(), Error> {
    let effective = capabilities::effective()
        .map_err(Error::system("find out about privileges", "capabilities"))?;
    // Before 5.8 this one was for all of them, and it still is.
    if !effective.contains(CapabilitySet::SYS_ADMIN) {
        let missing = capabilities::names(CAPABILITIES.difference(effective));
        if !missing.is_empty() {
            return Err(Error::Privilege { missing: missing.join(", ") });
        }
    }
    Ok(())
}

/// The first way to attach that works, and why those before it do not.
fn load_best(options: &TraceOptions) -> Result<(Loaded, Vec<(Attach, Error)>), Error> {
    if let Some(attach) = options.attach {
        return Ok((load(attach, options)?, Vec::new()));
    }
    let mut passed_over = Vec::new();
    for attach in Attach::ALL {
        match load(attach, options) {
            Ok(loaded) => return Ok((loaded, passed_over)),
            Err(error) => passed_over.push((attach, error)),
        }
    }
    Err(Error::NoWay(passed_over))
}

fn load(attach: Attach, options: &TraceOptions) -> Result<Loaded, Error> {
    if attach.needs_btf() && !kernel::has_btf() {
        return Err(Error::NoBtf);
    }
    object::load(attach, options)
}
