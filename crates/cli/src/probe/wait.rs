//! Until it is open: for scripts that need a service.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use portolan_probe::{Finding, Method, Pace, Plan, Session, Verdict};
use portolan_sys::clock;

use super::{
    CANNOT_WRITE, ProbeArgs, method, owned, plan,
    report::{Found, Start, Summary, Verdicts},
    stop::Stop,
    targets::Written,
};

/// So many services may be waited for.
const CHECKS_MAX: u64 = 4096;
/// The pause before asking again doubles from this one
const PAUSE_MIN: Duration = Duration::from_millis(5);
/// to this one.
const PAUSE_MAX: Duration = Duration::from_millis(250);
/// The last round is at least so long: what answers is heard.
const ROUND_MIN: Duration = Duration::from_millis(50);
/// How soon a request to end is noticed.
const PATIENCE: Duration = Duration::from_millis(100);

/// Asks until everything is open, `at_most` that long.
///
/// # Errors
/// When the targets make no sense, or nothing can be asked. A name that does not resolve yet is
/// waited for.
pub fn run(args: &ProbeArgs, at_most: Option<Duration>) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let started_ms = clock::now_ms();
    let stop = Stop::listen().context("cannot listen for signals")?;
    let is_over = || stop.is_asked() || at_most.is_some_and(|most| started.elapsed() >= most);
    let mut pauses = Pauses::default();
    let written = Written::read(args)?;
    let targets = loop {
        match written.resolve(args) {
            Ok(targets) => break targets,
            Err(error) if !is_unresolved(&error) || is_over() => return Err(error),
            Err(_) => pauses.pause(started, at_most),
        }
    };
    if targets.space.len() > CHECKS_MAX {
        bail!(
            "--wait is for {CHECKS_MAX} checks, and this is {}: name ports with -p",
            targets.space.len()
        );
    }
    if !args.i_own_these_networks {
        owned::ensure_owned(&targets)?;
    }
    let mut report = super::report(args, false)?;
    let method = method::open_for(targets.space.len(), targets.space.addresses(), args)?;
    let ports = targets.asked_ports();
    let start = Start {
        command_line: &std::env::args().collect::<Vec<_>>().join(" "),
        started_ms,
        method: method.name(),
        checks: targets.space.len(),
        addresses: targets.space.addresses(),
        ports: &ports,
    };
    report.begin(&start).context(CANNOT_WRITE)?;
    let mut session = Session::new(method, plan(args), Pace::Unlimited);
    let all = (0..targets.space.len()).filter_map(|index| targets.space.get(index));
    let mut pending: Vec<SocketAddr> = all.collect();
    let mut findings = BTreeMap::new();
    let mut pauses = Pauses::default();
    loop {
        let left = at_most.map_or(args.timeout, |most| most.saturating_sub(started.elapsed()));
        session.set_plan(Plan::new(left.max(ROUND_MIN).min(args.timeout), args.retries));
        let is_last = left < args.timeout;
        ask(&mut session, &pending, &mut findings, is_last, &stop)?;
        pending.retain(|target| !findings.get(target).is_some_and(is_open));
        if pending.is_empty() || is_over() {
            break;
        }
        pauses.pause(started, at_most);
    }
    let mut verdicts = Verdicts::default();
    for finding in findings.into_values() {
        verdicts.add(finding.verdict);
        let name = targets.name_of(finding.target);
        let found = Found { finding, name, at_ms: clock::now_ms() };
        report.finding(&found).context(CANNOT_WRITE)?;
    }
    let summary = Summary {
        verdicts,
        counts: session.counts(),
        noise: session.method().noise(),
        took: started.elapsed(),
        ended_ms: clock::now_ms(),
        // Whatever was waited for in vain was asked.
        is_complete: verdicts.total() == targets.space.len(),
    };
    report.end(&summary).context(CANNOT_WRITE)?;
    Ok(if pending.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn is_open(finding: &Finding) -> bool {
    finding.verdict == Verdict::Open
}

/// Whether a name could not be resolved, which may change.
fn is_unresolved(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.to_string().contains("failed to lookup address"))
}

/// Asks each target once more; of what it was told before, the latest counts. In the last round,
/// which may be short, silence says less than what came before.
fn ask(
    session: &mut Session<Box<dyn Method + Send>>,
    pending: &[SocketAddr],
    findings: &mut BTreeMap<SocketAddr, Finding>,
    is_last: bool,
    stop: &Stop,
) -> anyhow::Result<()> {
    let mut left = pending.iter();
    loop {
        while session.room() > 0 {
            let Some(target) = left.next() else { break };
            session.add(*target, 0);
        }
        let wait = session.turn().context("cannot ask any more")?;
        while let Some((_, finding)) = session.next() {
            if is_last && finding.verdict == Verdict::Filtered {
                findings.entry(finding.target).or_insert(finding);
            } else {
                findings.insert(finding.target, finding);
            }
        }
        if session.is_idle() && left.len() == 0 || stop.is_asked() {
            return Ok(());
        }
        session.wait(Some(wait.unwrap_or(PATIENCE).min(PATIENCE))).context("cannot wait")?;
    }
}

/// Pauses that grow, so that what is open soon is seen at once.
#[derive(Debug)]
struct Pauses(Duration);

impl Default for Pauses {
    fn default() -> Self {
        Self(PAUSE_MIN)
    }
}

impl Pauses {
    fn pause(&mut self, started: Instant, at_most: Option<Duration>) {
        let left = at_most.map_or(self.0, |most| most.saturating_sub(started.elapsed()));
        thread::sleep(self.0.min(left));
        self.0 = (self.0 * 2).min(PAUSE_MAX);
    }
}
