//! Until it is open: for scripts that need a service.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use portolan_probe::{Finding, Method, Pace, Session, Verdict};
use portolan_sys::clock;

use super::{
    ProbeArgs, Targets, method, owned, plan,
    report::{Found, Start, Summary, Verdicts},
    stop::Stop,
};

/// So many services may be waited for.
const CHECKS_MAX: u64 = 4096;
/// The pause before asking again doubles from this one
const PAUSE_MIN: Duration = Duration::from_millis(5);
/// to this one.
const PAUSE_MAX: Duration = Duration::from_millis(250);
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
    let targets = loop {
        match Targets::read(args) {
            Ok(targets) => break targets,
            Err(error) if !is_unresolved(&error) || is_over() => return Err(error),
            Err(_) => pauses.pause(started, at_most),
        }
    };
    if targets.space.len() > CHECKS_MAX {
        bail!("--wait is for {CHECKS_MAX} checks, and this is {}: name ports with -p", targets.space.len());
    }
    if !args.i_own_these_networks {
        owned::ensure_owned(&targets.space)?;
    }
    let mut report = super::report(args, false)?;
    let method = method::open_for(targets.space.len(), args.method.method())?;
    let ports: Vec<u16> = targets.ports.iter().collect();
    report.begin(&Start {
        command_line: &std::env::args().collect::<Vec<_>>().join(" "),
        started_ms,
        method: method.name(),
        checks: targets.space.len(),
        addresses: targets.space.addresses(),
        ports: &ports,
    })?;
    let mut session = Session::new(method, plan(args), Pace::Unlimited);
    let all = (0..targets.space.len()).filter_map(|index| targets.space.get(index));
    let mut pending: Vec<SocketAddr> = all.collect();
    let mut findings = BTreeMap::new();
    let mut pauses = Pauses::default();
    loop {
        ask(&mut session, &pending, &mut findings, &is_over)?;
        pending.retain(|target| !findings.get(target).is_some_and(is_open));
        if pending.is_empty() || is_over() {
            break;
        }
        pauses.pause(started, at_most);
    }
    let mut verdicts = Verdicts::default();
    for finding in findings.into_values() {
        verdicts.add(finding.verdict);
        let name = targets.names.get(&finding.target.ip()).map(String::as_str);
        report.finding(&Found { finding, name, at_ms: clock::now_ms() })?;
    }
    report.end(&Summary {
        verdicts,
        counts: session.counts(),
        forged: session.method().noise().forged,
        took: started.elapsed(),
        ended_ms: clock::now_ms(),
        is_complete: !stop.is_asked(),
    })?;
    Ok(if pending.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn is_open(finding: &Finding) -> bool {
    finding.verdict == Verdict::Open
}

/// Whether a name could not be resolved, which may change.
fn is_unresolved(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.to_string().contains("failed to lookup address"))
}

/// Asks each target once more; of what it was told before, the latest counts.
fn ask(
    session: &mut Session<Box<dyn Method + Send>>,
    pending: &[SocketAddr],
    findings: &mut BTreeMap<SocketAddr, Finding>,
    is_over: &dyn Fn() -> bool,
) -> anyhow::Result<()> {
    let mut left = pending.iter();
    loop {
        while session.room() > 0 {
            let Some(target) = left.next() else { break };
            session.add(*target, 0);
        }
        let wait = session.turn().context("cannot ask any more")?;
        while let Some((_, finding)) = session.next() {
            findings.insert(finding.target, finding);
        }
        if session.is_idle() && left.len() == 0 || is_over() {
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
