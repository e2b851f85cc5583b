//! One that watches while a load comes, or nobody.

use std::{
    fs,
    ops::RangeInclusive,
    os::fd::OwnedFd,
    thread,
    time::{Duration, Instant},
};

use portolan_sys::{bpf, usage::Usage};

use super::{
    figures::{self, Loaded},
    load::{Client, Flow, Plan, Server},
    said::Said,
    spent::{Between, Spent},
};
use crate::{
    Contestant, Fault, Figure, Program, Purpose, Sample,
    process::{Ended, Process, Processor, on_processor},
    world,
};

/// What a run looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What the tracer costs, with the kernel's account of BPF programs.
    Cost,
    /// How long requests take at a rate, without that account.
    Response,
    /// How long they take one after the other, without it.
    Loop,
}

/// A load, and what is looked at.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) name: &'static str,
    pub(super) baseline: &'static str,
    pub(super) kind: Kind,
    pub(super) flow: Flow,
}

/// The contestant.
#[derive(Clone, Debug)]
pub(super) struct Traced {
    pub(super) name: String,
    pub(super) about: &'static str,
    pub(super) task: &'static Task,
    /// `--method` of the tracer; `None` for nobody.
    pub(super) method: Option<&'static str>,
    pub(super) trace: Program,
    pub(super) load: Program,
    pub(super) window: Duration,
}

/// The load runs for so long before it is looked at what the tracer costs, and goes on for a
/// fifth of that after.
const WARM_UP: Duration = Duration::from_millis(500);

/// The load begins so long after the run, with a tracer or without: the kernel cleans up what the
/// run before left behind meanwhile, and would do it in the time of whoever began sooner.
const LEAD: Duration = Duration::from_millis(700);

/// A tracer that took longer is left alone for so long before the load begins.
const SETTLE: Duration = Duration::from_millis(50);

/// How long a tracer may take to get ready, or to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a tracer says once it is on.
const READY: &str = "portolan: tracing";

/// Where an administrator has the kernel account for BPF programs all the time.
const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";

/// What happened in a run, and what the tracer's process took from its start to its end.
struct Ran {
    loaded: Loaded,
    between: Option<Between>,
    tracer: Option<(Said, Usage)>,
}

impl Traced {
    fn plan(&self, size: u64) -> Plan {
        match self.task.kind {
            Kind::Cost => {
                let duration = self.window + WARM_UP + WARM_UP / 5;
                Plan::at_rate(self.task.flow, size, duration)
            }
            Kind::Response => Plan::at_rate(self.task.flow, size, self.window),
            Kind::Loop => Plan::closed_loop(self.task.flow, size, self.window),
        }
    }

    fn trace(&self, plan: Plan) -> Result<Ran, Fault> {
        // Nobody meets what another one left behind: connections in TIME-WAIT, most of all.
        world::enter_fresh().map_err(|error| Fault::Refused(error.to_string()))?;
        let begun = Instant::now();
        let _account = self.account()?;
        // With both ends on one processor a round trip has no interrupt of another one in it, and
        // no waking up of one that sleeps, which vary by more than what is looked for.
        let is_loop = self.task.kind == Kind::Loop;
        let server = placed(is_loop, || Server::start(&self.load, plan))?;
        let tracer = self.start_tracer(plan)?;
        thread::sleep(LEAD.saturating_sub(begun.elapsed()).max(SETTLE));
        let client = placed(is_loop, || Client::start(&self.load, plan))?;
        let between = match &tracer {
            Some(tracer) if self.task.kind == Kind::Cost => Some(self.watch(tracer)?),
            _ => None,
        };
        let client = client.wait(plan.duration)?;
        let tracer = tracer.map(|tracer| tracer.end(PATIENCE)).transpose()?;
        let server = server.end()?;
        let tracer = tracer.map(|ended| self.said(&ended, plan)).transpose()?;
        Ok(Ran { loaded: Loaded { client, server }, between, tracer })
    }

    /// The kernel's account of BPF programs, on until the result is dropped, where it is wanted.
    fn account(&self) -> Result<Option<OwnedFd>, Fault> {
        if self.task.kind != Kind::Cost {
            return Ok(None);
        }
        match bpf::count_run_time() {
            Ok(account) => Ok(Some(account)),
            // They have no programs in the kernel.
            Err(_) if matches!(self.method, None | Some("snapshot")) => Ok(None),
            Err(error) => Err(Fault::Refused(format!(
                "the kernel does not account for BPF programs: {error}; needs root and Linux 5.8"
            ))),
        }
    }

    fn start_tracer(&self, plan: Plan) -> Result<Option<Process>, Fault> {
        let Some(method) = self.method else { return Ok(None) };
        // It ends by itself if nobody tells it to.
        let limit = format!("{}ms", (plan.duration + 3 * PATIENCE).as_millis());
        let args = ["--method", method, "--json", "--interval", "1s", "--duration", &limit];
        let mut tracer = Process::start(&self.trace.clone().with(args))?;
        tracer.wait_for(READY, PATIENCE).map_err(Fault::Refused)?;
        Ok(Some(tracer))
    }

    /// What the tracer spends in the window.
    fn watch(&self, tracer: &Process) -> Result<Between, Fault> {
        let read = || {
            let spent = Spent::read(tracer.id());
            spent.map_err(|error| Fault::Failed(format!("cannot see what it spends: {error}")))
        };
        thread::sleep(WARM_UP);
        let before = read()?;
        thread::sleep(self.window);
        Ok(read()?.since(&before))
    }

    fn said(&self, ended: &Ended, plan: Plan) -> Result<(Said, Usage), Fault> {
        if ended.usage.code != Some(0) {
            return Err(Fault::Failed(format!("the tracer ended early: {}", ended.complaint())));
        }
        let said = Said::read(&ended.output, plan.services, plan.is_tcp());
        Ok((said.map_err(Fault::Wrong)?, ended.usage))
    }

    /// Whether what the tracer said is what the client did.
    fn check(&self, said: &Said, loaded: &Loaded) -> Result<(), Fault> {
        // It sees what is up when it looks, and does not count.
        if self.method == Some("snapshot") {
            return Ok(());
        }
        if !said.has_sides {
            return Err(Fault::Wrong("no edge of the load says what its ends counted".to_owned()));
        }
        let total = &loaded.client.total;
        let (what, counted, happened) = if self.task.flow == Flow::Udp {
            ("datagrams", said.datagrams_sent, total.datagrams_sent)
        } else {
            ("connections", said.opened, total.connected)
        };
        if said.agrees(counted, happened) {
            return Ok(());
        }
        let lost = said.describe_losses().unwrap_or_else(|| "nothing".to_owned());
        Err(Fault::Wrong(format!("{counted} {what}, of {happened}; said to be lost: {lost}")))
    }

    fn figures(&self, size: u64, ran: &Ran) -> Vec<Figure> {
        let loaded = &ran.loaded;
        let connects = matches!(self.task.flow, Flow::Short | Flow::Fan);
        let mut figures = Vec::new();
        match self.task.kind {
            Kind::Cost => {
                figures.push(loaded.rate());
                let per_second = loaded.client.achieved_per_second;
                figures.extend(
                    ran.between.into_iter().flat_map(|between| figures::spent(between, per_second)),
                );
            }
            Kind::Response => {
                figures.push(loaded.rate());
                figures.extend(loaded.times(false, connects));
                figures.push(loaded.cost());
            }
            Kind::Loop => {
                figures.extend(loaded.times(true, connects));
                figures.push(loaded.cycle(size));
            }
        }
        figures.extend(ran.tracer.iter().flat_map(|(said, _)| figures::told(said)));
        figures
    }
}

fn placed<T>(on_one: bool, work: impl FnOnce() -> T) -> T {
    if on_one { on_processor(Processor::Last, work) } else { work() }
}

/// Whether the kernel accounts for BPF programs although nobody here asked it to.
fn is_accounting() -> bool {
    fs::read_to_string(STATISTICS).is_ok_and(|text| text.trim() != "0")
}

impl Contestant for Traced {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn task(&self) -> &'static str {
        self.task.name
    }

    fn baseline(&self) -> &'static str {
        self.task.baseline
    }

    fn is_own(&self) -> bool {
        self.method.is_some()
    }

    fn absent(&self, _size: u64) -> Option<String> {
        (self.task.kind != Kind::Cost && is_accounting()).then(|| {
            "the kernel accounts for all BPF programs, which would be measured too: sysctl -w \
             kernel.bpf_stats_enabled=0"
                .to_owned()
        })
    }

    fn rows_expected(&self, _size: u64) -> RangeInclusive<u64> {
        0..=u64::MAX
    }

    fn run(&mut self, size: u64, _purpose: Purpose) -> Result<Sample, Fault> {
        let begun = Instant::now();
        let ran = self.trace(self.plan(size))?;
        let mut marks: Vec<String> = ran.loaded.mark().into_iter().collect();
        if let Some((said, _)) = &ran.tracer {
            self.check(said, &ran.loaded)?;
            marks.extend(said.describe_losses().map(|losses| format!("lost: {losses}")));
        }
        if self.task.kind != Kind::Cost && is_accounting() {
            marks.push("somebody had the kernel account for BPF programs meanwhile".to_owned());
        }
        let usage = ran.tracer.as_ref().map(|(_, usage)| *usage);
        let (user, system) = (usage.map(|usage| usage.user), usage.map(|usage| usage.system));
        Ok(Sample {
            wall: begun.elapsed(),
            cpu: user.unwrap_or_default() + system.unwrap_or_default(),
            user,
            system,
            peak_kib: usage.map_or(0, |usage| usage.peak_kib),
            figures: self.figures(size, &ran),
            marks,
            ..Sample::default()
        })
    }
}

#[cfg(test)]
mod tests;
