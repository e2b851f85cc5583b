//! All targets at once.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Context;
use portolan_probe::{
    Finding, Method, Session,
    space::{Order, Permutation, Shard},
};
use portolan_sys::clock;

use super::{
    CANNOT_WRITE, ProbeArgs, Targets, method, pace, plan,
    progress::Progress,
    report::{Found, Report, Start, Summary, Verdicts},
    resume::{self, Beginning, Identity, Keeper},
    stop::Stop,
};

/// Checks that are added between two looks at what came.
const ADDED_AT_ONCE: usize = 4096;
/// So few checks are asked as planned, and no more often.
const FEW_MAX: u64 = 64;
/// So many findings are told in order, at the end.
const HELD_MAX: u64 = 1024;
/// How soon a request to end is noticed.
const PATIENCE: Duration = Duration::from_millis(100);

/// Asks about every target and reports what it finds.
///
/// # Errors
/// When nothing can be asked or heard, or a report cannot be written.
pub fn run(args: &ProbeArgs, targets: &Targets) -> anyhow::Result<ExitCode> {
    let identity = Identity::of(targets, args.shard.unwrap_or(Shard::WHOLE));
    let beginning = beginning(args, &identity)?;
    let report = super::report(args, beginning.position > 0)?;
    let stop = Stop::listen().context("cannot listen for signals")?;
    let mut order = order(args, targets, beginning.seed);
    order.resume_at(beginning.position.max(order.position()));
    let method = method::open_for(order.remaining(), targets.space.addresses(), args)?;
    let progress = Progress::new(order.remaining(), beginning.verdicts.total());
    let mut keeper = Keeper::new(args.resume.clone(), identity, beginning);
    // Now rather than in the midst of it all: whether the file can be written.
    keeper.write()?;
    let session = Session::new(method, plan(args), pace(args));
    let is_sweep = order.remaining() > FEW_MAX;
    let session = if is_sweep { session.insistent() } else { session };
    let verdicts = beginning.verdicts;
    // What is held would be lost to a sweep that goes on after a crash.
    let is_held = order.remaining() <= HELD_MAX && args.resume.is_none();
    let held = is_held.then(Vec::new);
    let ahead = args.timeout + PATIENCE;
    let sweep = Sweep {
        targets,
        session,
        order,
        report,
        progress,
        keeper,
        verdicts,
        held,
        stop,
        ahead,
        under_way: 0,
        dropped: 0,
    };
    sweep.run()
}

fn beginning(args: &ProbeArgs, identity: &Identity) -> anyhow::Result<Beginning> {
    let resumed = match &args.resume {
        Some(file) => resume::read(file, identity, args.seed)?,
        None => None,
    };
    // Few targets are asked in the order in which they were given.
    let seed = args.seed.unwrap_or_else(|| clock::now_ms() ^ u64::from(std::process::id()) << 32);
    Ok(resumed.unwrap_or(Beginning { seed, position: 0, verdicts: Verdicts::default() }))
}

fn order(args: &ProbeArgs, targets: &Targets, seed: u64) -> Order {
    let permutation = Permutation::new(targets.space.len(), seed);
    Order::new(permutation, args.shard.unwrap_or(Shard::WHOLE))
}

/// A sweep under way.
struct Sweep<'a> {
    targets: &'a Targets,
    session: Session<Box<dyn Method + Send>>,
    order: Order,
    report: Report,
    progress: Progress,
    keeper: Keeper,
    verdicts: Verdicts,
    /// Findings that are told in the order of their targets, where they are few.
    held: Option<Vec<(Finding, u64)>>,
    stop: Stop,
    /// Checks are added for this time at the present rate: the rest is not yet begun when somebody
    /// asks it to end.
    ahead: Duration,
    /// Checks that were added and are not over.
    under_way: usize,
    /// Checks that were not asked before the end was asked for.
    dropped: usize,
}

impl Sweep<'_> {
    fn run(mut self) -> anyhow::Result<ExitCode> {
        let ports = self.targets.asked_ports();
        let start = Start {
            command_line: &std::env::args().collect::<Vec<_>>().join(" "),
            started_ms: clock::now_ms(),
            method: self.session.method().name(),
            checks: self.order.remaining(),
            addresses: self.targets.space.addresses(),
            ports: &ports,
        };
        self.report.begin(&start).context(CANNOT_WRITE)?;
        let started = Instant::now();
        let done = self.ask_all();
        // Whatever happened, what was found so far is told, and kept.
        let is_complete = done.is_ok() && self.order.remaining() == 0 && self.dropped == 0;
        self.progress.clear();
        self.tell_held()?;
        let summary = Summary {
            verdicts: self.verdicts,
            counts: self.session.counts(),
            noise: self.session.method().noise(),
            took: started.elapsed(),
            ended_ms: clock::now_ms(),
            is_complete,
        };
        self.report.end(&summary).context(CANNOT_WRITE)?;
        if is_complete {
            self.keeper.remove()?;
        } else {
            self.keeper.write()?;
        }
        done?;
        let all_open = is_complete && self.verdicts.all_open();
        Ok(if all_open { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    fn ask_all(&mut self) -> anyhow::Result<()> {
        loop {
            self.add();
            if self.stop.is_asked() {
                let dropped = self.session.drop_waiting();
                self.under_way -= dropped;
                self.dropped += dropped;
            }
            let wait = self.session.turn().context("cannot ask any more")?;
            let mut is_idle = true;
            while let Some((number, finding)) = self.session.next() {
                is_idle = false;
                self.under_way -= 1;
                self.tell(finding)?;
                self.keeper.finish(number, self.order.position(), finding.verdict);
            }
            if self.keeper.is_due() && !self.report.holds() {
                self.report.flush().context(CANNOT_WRITE)?;
                self.keeper.write()?;
            }
            self.progress.tell(self.verdicts);
            let has_more = self.order.remaining() > 0 && !self.stop.is_asked();
            if self.session.is_idle() && !has_more {
                return Ok(());
            }
            if is_idle && (self.is_full() || !has_more) {
                let wait = wait.unwrap_or(PATIENCE).min(PATIENCE);
                self.session.wait(Some(wait)).context("cannot wait for answers")?;
            }
        }
    }

    /// Adds checks, as many as may be under way.
    fn add(&mut self) {
        if self.stop.is_asked() {
            return;
        }
        let room = self.session.room().min(self.under_way_max().saturating_sub(self.under_way));
        for _ in 0..room.min(ADDED_AT_ONCE) {
            let Some((position, index)) = self.order.next() else { break };
            let Some(target) = self.targets.space.get(index) else { break };
            let number = self.keeper.add(position);
            self.session.add(target, number);
            self.under_way += 1;
        }
    }

    fn is_full(&self) -> bool {
        self.session.room() == 0 || self.under_way >= self.under_way_max()
    }

    /// As many checks as silent targets keep under way at the present rate, and a few more.
    fn under_way_max(&self) -> usize {
        let most = self.session.per_second() * self.ahead.as_secs_f64() * 1.25;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it saturates, and is not negative"
        )]
        let most = most as usize;
        most.saturating_add(1)
    }

    fn tell(&mut self, finding: Finding) -> anyhow::Result<()> {
        self.verdicts.add(finding.verdict);
        let now_ms = clock::now_ms();
        match &mut self.held {
            Some(held) => {
                held.push((finding, now_ms));
                Ok(())
            }
            None => self.write(finding, now_ms),
        }
    }

    fn tell_held(&mut self) -> anyhow::Result<()> {
        let mut held = self.held.take().unwrap_or_default();
        held.sort_by_key(|(finding, _)| finding.target);
        held.into_iter().try_for_each(|(finding, at_ms)| self.write(finding, at_ms))
    }

    fn write(&mut self, finding: Finding, at_ms: u64) -> anyhow::Result<()> {
        let name = self.targets.name_of(finding.target);
        let found = Found { finding, name, at_ms };
        let Self { progress, report, .. } = self;
        progress.aside(|| report.finding(&found)).context(CANNOT_WRITE)
    }
}
