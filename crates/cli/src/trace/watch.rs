//! The methods of finding out who talks to whom, behind one interface.

use std::{
    mem,
    time::{Duration, Instant},
};

use anyhow::Context;
use portolan_flow::{Flow, Listener, Totals, fold};
use portolan_sockets::{Snapshot, SnapshotOptions};
use portolan_sys::{
    capabilities::{self, CapabilitySet},
    limits,
};
use portolan_trace::{Attach, MethodName, TraceOptions, Tracer, UdpAttach};

/// What it takes to load and attach the programs; nothing of it to read what they count, on a
/// kernel of this decade.
pub const LOADING: CapabilitySet =
    CapabilitySet::BPF.union(CapabilitySet::PERFMON).union(CapabilitySet::NET_ADMIN);

/// What it takes to see the processes of other users and to enter other namespaces.
pub const NAMING: CapabilitySet =
    CapabilitySet::SYS_PTRACE.union(CapabilitySet::DAC_READ_SEARCH).union(CapabilitySet::SYS_ADMIN);

/// Kept while tracing. Before 5.19 reading a map took CAP_BPF where unprivileged BPF is off; who is
/// new in a namespace or has a long name is found in `/proc`. Namespaces are entered at the start
/// only.
const TRACED_KEEPS: CapabilitySet = CapabilitySet::BPF
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::DAC_READ_SEARCH);

/// What happened between two readings.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The edges, folded and in order.
    pub flows: Vec<Flow>,
    /// The ports that listen, in order.
    pub listeners: Vec<Listener>,
    /// The sum of all edges that found no room, of either side.
    pub overflow: Totals,
    /// What is missing, by reason: all reasons that the method knows, also those with zero.
    pub losses: Vec<(&'static str, u64)>,
    /// How long it was.
    pub span: Duration,
    /// What could not be seen, why, and what to do; stable from one reading to the next.
    pub warnings: Vec<String>,
}

/// A method at work.
pub trait Watch: Send {
    /// What happened since the last reading.
    ///
    /// # Errors
    /// When the host cannot be read now; what was counted meanwhile is told by the next reading.
    fn read(&mut self) -> anyhow::Result<Observed>;

    /// Makes room for what happens, which takes no time where that is not needed.
    ///
    /// # Errors
    /// When the host cannot be read.
    fn relieve(&mut self) -> anyhow::Result<()>;

    /// Whether [`Watch::relieve`] has to be called every [`RELIEF`].
    fn needs_relief(&self) -> bool;

    /// For people: `bundle (sums per edge in the kernel, by tp_btf; UDP by fentry)`.
    fn describe(&self) -> String;

    /// One word.
    fn method(&self) -> &'static str;

    /// Where the programs are attached, where there are any.
    fn attach(&self) -> Option<Attach>;

    /// Where those for UDP are, where there are any.
    fn udp_attach(&self) -> Option<UdpAttach>;

    /// Every privilege that later readings need.
    fn capabilities(&self) -> CapabilitySet;
}

/// The queue of the method `stream` has to be emptied this often.
pub const RELIEF: Duration = Duration::from_millis(50);

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub way: Way,
    /// For the methods that trace; its method is that of `way`.
    pub trace: TraceOptions,
    pub snapshot: SnapshotOptions,
}

impl Wanted {
    /// Whether it says where in the kernel to attach.
    fn names_a_place(&self) -> bool {
        self.trace.attach.is_some() || self.trace.udp_attach.is_some()
    }
}

/// Which method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `bundle`, and `snapshot` where that is refused.
    Best,
    /// This one, or none.
    Traced(MethodName),
    /// `snapshot`.
    Polled,
}

/// The usual, with the ephemeral ports of this host.
pub fn options() -> TraceOptions {
    let usual = TraceOptions::default();
    let ephemeral = limits::ephemeral_ports().unwrap_or(usual.ephemeral);
    TraceOptions { ephemeral, ..usual }
}

/// Opens the method that is wanted. Returns it with what its user should know: why it is not the
/// better one, and what it will not see.
///
/// # Errors
/// When what was asked for by name is refused, or everything is.
pub fn open(wanted: &Wanted) -> anyhow::Result<(Box<dyn Watch>, Vec<String>)> {
    let method = match wanted.way {
        Way::Polled => return Ok((Box::new(Polled::open(wanted.snapshot)?), Vec::new())),
        Way::Traced(method) => method,
        Way::Best => MethodName::Bundle,
    };
    match Traced::open(TraceOptions { method, ..wanted.trace }) {
        Ok(traced) => {
            let notes = traced.notes();
            Ok((Box::new(traced), notes))
        }
        Err(error) if wanted.way == Way::Best && !wanted.names_a_place() => {
            let polled = Polled::open(wanted.snapshot)?;
            let note = format!(
                "not traced, but polled, which shows what is up and not what goes over it: {error}"
            );
            Ok((Box::new(polled), vec![note]))
        }
        Err(error) => {
            let by = wanted.trace.attach.map(|attach| format!(" by {attach}"));
            let udp_by = wanted.trace.udp_attach.map(|attach| format!(", UDP by {attach}"));
            let by = by.unwrap_or_default() + &udp_by.unwrap_or_default();
            let what = format!("cannot trace this host{by} (see portolan doctor)");
            Err(anyhow::Error::new(error).context(what))
        }
    }
}

/// Programs in the kernel that count.
#[derive(Debug)]
pub struct Traced {
    tracer: Tracer,
    method: MethodName,
}

impl Traced {
    /// Loads and attaches them.
    ///
    /// # Errors
    /// Those of [`Tracer::open`].
    pub fn open(options: TraceOptions) -> Result<Self, portolan_trace::Error> {
        Ok(Self { tracer: Tracer::open(options)?, method: options.method })
    }

    /// What the user should know.
    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for (attach, error) in self.tracer.passed_over() {
            notes.push(format!("not attached by {attach}: {error}"));
        }
        for (attach, error) in self.tracer.udp_passed_over() {
            notes.push(format!("UDP not attached by {attach}: {error}"));
        }
        let effective = capabilities::effective().unwrap_or(CapabilitySet::empty());
        let missing = capabilities::names(NAMING.difference(effective));
        if !missing.is_empty() {
            notes.push(format!(
                "without {}, some processes and network namespaces have no name; run with sudo, or \
                 grant them",
                missing.join(", ")
            ));
        }
        let (hidden, attach) = (self.tracer.hidden_namespaces(), self.tracer.attach());
        if hidden > 0 {
            let unseen = match attach {
                Attach::Cgroup => "connections that are up there already are not seen",
                _ => "of connections that are up there already, only the end is seen",
            };
            notes.push(format!("{hidden} network namespaces cannot be entered: {unseen}"));
        }
        if attach == Attach::Cgroup {
            notes.push(
                "by cgroup, what connections that are up already move between the last report and \
                 their end is missing; each is counted as untracked when it ends"
                    .to_owned(),
            );
        }
        notes
    }
}

impl Watch for Traced {
    fn read(&mut self) -> anyhow::Result<Observed> {
        let reading = self.tracer.read().context("cannot read what the kernel counted")?;
        Ok(Observed {
            flows: fold(reading.flows),
            listeners: reading.listeners,
            overflow: reading.overflow,
            losses: reading.losses.by_reason().to_vec(),
            span: reading.span,
            warnings: Vec::new(),
        })
    }

    fn relieve(&mut self) -> anyhow::Result<()> {
        self.tracer.relieve().context("cannot read what the kernel counted")
    }

    fn needs_relief(&self) -> bool {
        self.method == MethodName::Stream
    }

    fn describe(&self) -> String {
        self.tracer.describe()
    }

    fn method(&self) -> &'static str {
        self.method.name()
    }

    fn attach(&self) -> Option<Attach> {
        Some(self.tracer.attach())
    }

    fn udp_attach(&self) -> Option<UdpAttach> {
        self.tracer.udp_attach()
    }

    fn capabilities(&self) -> CapabilitySet {
        TRACED_KEEPS
    }
}

/// The kernel's socket tables, read again and again.
pub struct Polled {
    snapshot: Snapshot,
    since: Instant,
}

impl Polled {
    /// Finds out how to read this host.
    ///
    /// # Errors
    /// When its sockets cannot be listed.
    pub fn open(options: SnapshotOptions) -> anyhow::Result<Self> {
        let snapshot = Snapshot::open(options).context("cannot list the sockets of this host")?;
        Ok(Self { snapshot, since: Instant::now() })
    }
}

impl Watch for Polled {
    fn read(&mut self) -> anyhow::Result<Observed> {
        let reading = self.snapshot.read().context("cannot list the sockets of this host")?;
        let now = Instant::now();
        let span = now.duration_since(mem::replace(&mut self.since, now));
        Ok(Observed {
            flows: reading.bundle.flows,
            listeners: reading.bundle.listeners,
            span,
            warnings: reading.warnings,
            ..Observed::default()
        })
    }

    fn relieve(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn needs_relief(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        self.snapshot.describe()
    }

    fn method(&self) -> &'static str {
        "snapshot"
    }

    fn attach(&self) -> Option<Attach> {
        None
    }

    fn udp_attach(&self) -> Option<UdpAttach> {
        None
    }

    fn capabilities(&self) -> CapabilitySet {
        NAMING
    }
}

#[cfg(test)]
mod tests;
