//! The experiment from begin to end.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, SocketAddr},
    thread,
    time::{Duration, Instant},
};

use portolan_sys::limits;

use super::{
    Job, Measured, Outcome, PortsOptions, Series, Strategy, Task,
    open::is_possible,
    options::{Plan, share},
    part::Part,
    place,
    task::{Opened, Opening, word},
};
use crate::{
    Error, Stop,
    source_ports::{Host, has_range},
};

/// Descriptors that a process keeps for other things.
const RESERVE: u64 = 64;

/// For how long servers may take to accept what is open, and how often they are asked.
const PATIENCE: Duration = Duration::from_secs(20);
const AGAIN: Duration = Duration::from_millis(10);

/// No more processes than this.
const PROCESSES_MAX: u64 = 64;

/// How far the experiment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is measured.
    pub job: Job,
    /// How ports are chosen.
    pub strategy: Strategy,
    /// How many calls there were.
    pub done: u32,
    /// Of how many.
    pub of: u32,
}

/// Who is told how far it is.
type Told<'a> = &'a mut (dyn FnMut(Progress) + Send);

/// Does the whole experiment, and tells how far it is. When `stop` is asked for, what is measured
/// so far is what there is. Nothing is left behind, however it ends.
///
/// # Errors
/// Options that make no sense, a namespace that cannot be made, a process that ends early.
pub fn run(options: &PortsOptions, stop: &Stop, told: Told<'_>) -> Result<Outcome, Error> {
    let host = Host::read();
    let is_own = !options.on_host && place::can_be_own();
    let plan = options.plan(is_own, &host)?;
    let has_range = has_range(&host).map_err(Error::system("make a socket"))?;
    let mut outcome = Outcome {
        range: plan.range.clone(),
        is_own,
        measured: Vec::new(),
        left_out: Vec::new(),
        is_interrupted: false,
    };
    for (job, count) in [(Job::Connect, plan.connections), (Job::Bind, plan.binds)] {
        let measurable = options.strategies.iter().filter(|one| **one != Strategy::Auto);
        for &strategy in measurable.filter(|_| count > 0) {
            if let Err(why) = is_possible(strategy, has_range) {
                outcome.left_out.push((job, strategy, why));
                continue;
            }
            let mut trial = Trial { options, plan: &plan, stop, job, strategy, count, told };
            match place::within(is_own, &plan.range, || trial.run())? {
                Some(measured) => outcome.measured.push(measured),
                None => {
                    outcome.is_interrupted = true;
                    return Ok(outcome);
                }
            }
        }
    }
    Ok(outcome)
}

/// One strategy in one job.
struct Trial<'a, 't> {
    options: &'a PortsOptions,
    plan: &'a Plan,
    stop: &'a Stop,
    job: Job,
    strategy: Strategy,
    count: u32,
    told: &'a mut (dyn FnMut(Progress) + Send + 't),
}

impl Trial<'_, '_> {
    /// `None` when it was stopped.
    fn run(&mut self) -> Result<Option<Measured>, Error> {
        let address = match self.job {
            Job::Connect => Some(place::listening_address(&self.plan.range)?),
            Job::Bind => None,
        };
        let Some(mut servers) = self.serve(address)? else { return Ok(None) };
        let mut measured = Measured {
            job: self.job,
            strategy: self.strategy,
            asked: self.count,
            series: Series::default(),
            distinct_ports: 0,
            verified: None,
            conflicts: 0,
            even_in_first_half: 0,
            even_in_second_half: 0,
            failure: None,
        };
        let (mut clients, mut ports) = (Vec::new(), Vec::new());
        let processes = processes(self.count)?;
        for nth in 0..processes {
            let (count, range) = share(self.count, &self.plan.range, nth, processes);
            let Some((client, opened)) = self.open(address, count, range, ports.len())? else {
                return Ok(None);
            };
            clients.push(client);
            measured.series.times_ns.extend(opened.times_ns);
            ports.extend(opened.ports);
            measured.conflicts += opened.conflicts;
            measured.failure = opened.failure;
            if measured.failure.is_some() {
                break;
            }
        }
        self.note_ports(&mut measured, &ports);
        if address.is_some() {
            let Some(alive) = self.verify(&mut clients, &mut servers)? else { return Ok(None) };
            measured.verified = Some(alive);
        }
        Ok(Some(measured))
    }

    /// Starts who listens and accepts.
    fn serve(&self, address: Option<SocketAddr>) -> Result<Option<Vec<Part>>, Error> {
        let Some(address) = address else { return Ok(Some(Vec::new())) };
        let processes = match processes(self.count)? {
            1 => 1,
            // The kernel spreads connections over them by a hash: not quite evenly.
            _ => processes(self.count.saturating_add(self.count / 8))?,
        };
        // The backlog of a namespace of its own holds them all.
        let task = Task::Serve { address, is_late: self.plan.is_own };
        let mut servers = Vec::new();
        for _ in 0..processes {
            let mut server = Part::start(&self.options.program, &task)?;
            match server.line(self.stop).map_err(Error::system("start a server"))? {
                Some(line) if line == word::READY => servers.push(server),
                Some(line) => return Err(Error::system("start a server")(io::Error::other(line))),
                None => return Ok(None),
            }
        }
        Ok(Some(servers))
    }

    /// Lets a process open its part; the others have opened `before`.
    fn open(
        &mut self,
        target: Option<SocketAddr>,
        count: u32,
        ports: std::ops::RangeInclusive<u16>,
        before: usize,
    ) -> Result<Option<(Part, Opened)>, Error> {
        let failed = Error::system("open connections in a process");
        let source = IpAddr::V4(place::ADDRESS);
        let strategy = self.strategy;
        let task = Task::Open(Opening { target, source, strategy, ports, count });
        let mut client = Part::start(&self.options.program, &task)?;
        let before = u32::try_from(before).unwrap_or(u32::MAX);
        loop {
            let Some(line) = client.line(self.stop).map_err(&failed)? else { return Ok(None) };
            let mut progress = Progress { job: self.job, strategy, done: before, of: self.count };
            match line.strip_prefix(word::PROGRESS) {
                Some(done) => {
                    progress.done += done.trim().parse::<u32>().unwrap_or(0);
                    (self.told)(progress);
                }
                None => {
                    progress.done += count;
                    (self.told)(progress);
                    let opened =
                        serde_json::from_str(&line).map_err(|error| failed(error.into()))?;
                    return Ok(Some((client, opened)));
                }
            }
        }
    }

    fn note_ports(&self, measured: &mut Measured, ports: &[u16]) {
        let first = *self.plan.range.start();
        let is_even = |port: &&u16| port.wrapping_sub(first).is_multiple_of(2);
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let (one, other) = ports.split_at(ports.len() / 2);
        measured.even_in_first_half = number(one.iter().filter(is_even).count());
        measured.even_in_second_half = number(other.iter().filter(is_even).count());
        let distinct: BTreeSet<u16> =
            ports.iter().filter(|port| self.plan.range.contains(port)).copied().collect();
        measured.distinct_ports = number(distinct.len());
    }

    /// Lets a byte go over each connection and back; over how many it did.
    fn verify(&self, clients: &mut [Part], servers: &mut [Part]) -> Result<Option<u64>, Error> {
        let Some(sent) = self.ask_all(clients, word::SEND)? else { return Ok(None) };
        // Servers may still be accepting: they are asked until all came back, or no more do.
        let deadline = Instant::now() + PATIENCE;
        loop {
            let Some(echoed) = self.ask_all(servers, word::ECHO)? else { return Ok(None) };
            if echoed >= sent || Instant::now() >= deadline {
                break;
            }
            thread::sleep(AGAIN);
        }
        self.ask_all(clients, word::RECEIVE)
    }

    /// The sum of the answers.
    fn ask_all(&self, parts: &mut [Part], word: &str) -> Result<Option<u64>, Error> {
        let failed = Error::system("verify connections in a process");
        for part in &mut *parts {
            part.ask(word).map_err(&failed)?;
        }
        let mut sum = 0;
        for part in parts {
            let Some(line) = part.line(self.stop).map_err(&failed)? else { return Ok(None) };
            sum += line.parse::<u64>().unwrap_or(0);
        }
        Ok(Some(sum))
    }
}

/// How many processes have descriptors for so many sockets.
fn processes(sockets: u32) -> Result<u32, Error> {
    let allowed = limits::descriptors().hard.unwrap_or(u64::MAX).saturating_sub(RESERVE);
    let wanted = u64::from(sockets);
    match wanted.div_ceil(allowed.max(1)).max(1) {
        processes @ 1..=PROCESSES_MAX => Ok(u32::try_from(processes).unwrap_or(1)),
        _ => Err(Error::Descriptors { wanted, allowed: allowed * PROCESSES_MAX }),
    }
}
