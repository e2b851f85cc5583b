//! A run: two hosts, the wire between them, and a clock that goes as fast as things happen.

use std::time::Duration;

use portolan_stack::Instant;

use crate::{
    coverage::Coverage,
    frame::Frame,
    host::{Event, Handle, Host, Kind, Portolan, Setup, Smoltcp},
    link::{End, Link},
    observer::{Cause, Ends, Observer},
    pcap::Capture,
    queue::Queue,
    random::Random,
    scenario::Scenario,
    violation::Violation,
};

mod audit;
mod datagrams;
mod pairs;

use datagrams::Flight;
use pairs::{Pairs, Turn};

/// How a run went.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The first rule that was broken.
    pub violation: Option<Violation>,
    /// Segments that the hosts sent.
    pub segments: u64,
    /// Bytes that programs got.
    pub bytes: u64,
    /// How long it took on the virtual clock.
    pub lasted: Duration,
    /// How long it took until the last byte was read.
    pub transferred: Duration,
    /// All frames, if the scenario wants them.
    pub capture: Capture,
    /// What happened, counted.
    pub coverage: Coverage,
}

/// Runs a scenario to its end, or to the first violation.
#[must_use]
pub fn run(scenario: &Scenario) -> Outcome {
    let mut scenario = scenario.clone();
    if let Some((host, before)) = scenario.wrap {
        // RFC 6528: the clock of sequence numbers goes on by one in 4 microseconds, so that they
        // begin where one wants if the clock does.
        let mut rehearsal = World::new(&scenario);
        if let Some(first) = rehearsal.first_sequence(host) {
            let on = 0u32.wrapping_sub(before).wrapping_sub(first);
            scenario.start_us += u64::from(on) * 4;
        }
    }
    let mut world = World::new(&scenario);
    let violation = world.run().err();
    Outcome {
        violation: violation.map(|violation| violation.at(world.now)),
        segments: world.observer.segments,
        bytes: world.pairs.bytes(),
        transferred: world.pairs.last_read().since(scenario.start()),
        lasted: world.now.since(scenario.start()),
        coverage: world.coverage(),
        capture: world.capture,
    }
}

/// What is planned.
enum Planned {
    Arrival(usize, Frame),
    Change(usize, crate::link::Change),
    Calm,
    /// Program `.1` of pair `.0` has something to do.
    Wake(usize, usize),
    /// The next datagram of this line of the scenario leaves.
    Datagram(usize),
    /// The connection of this number is opened; also the second side of a simultaneous one.
    Open(usize, usize),
}

struct World<'a> {
    scenario: &'a Scenario,
    now: Instant,
    queue: Queue<Planned>,
    hosts: [Box<dyn Host>; 2],
    links: [Link; 2],
    observer: Observer,
    pairs: Pairs,
    flights: Vec<Flight>,
    /// Whether the links do nothing by chance any more.
    is_calm: bool,
    capture: Capture,
    /// How many steps there were at this very moment.
    at_once: u32,
    steps: u64,
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let now = scenario.start();
        let host = |number: usize| host_of(number, scenario.ipv6, &scenario.hosts[number], now);
        let link = |number: usize| {
            let name = if number == 0 { "link 0" } else { "link 1" };
            Link::new(scenario.links[number].clone(), Random::new(scenario.seed, name))
        };
        let mut queue = Queue::default();
        let after = |us| now + Duration::from_micros(us);
        for timed in &scenario.changes {
            queue.push(after(timed.at_us), Planned::Change(timed.link, timed.change));
        }
        queue.push(after(scenario.calm_us), Planned::Calm);
        for (number, connection) in scenario.connections.iter().enumerate() {
            queue.push(after(connection.at_us), Planned::Open(number, 0));
            if let Some(later) = connection.simultaneous_us {
                queue.push(after(connection.at_us + later), Planned::Open(number, 1));
            }
        }
        let mtu = [scenario.hosts[0].mtu, scenario.hosts[1].mtu];
        let is_strict = [0, 1].map(|host: usize| scenario.hosts[host].kind == Kind::Portolan);
        Self {
            scenario,
            now,
            queue,
            hosts: [host(0), host(1)],
            links: [link(0), link(1)],
            observer: Observer::new(mtu, is_strict),
            pairs: Pairs::new(scenario),
            flights: scenario.datagrams.iter().map(|_| Flight::default()).collect(),
            is_calm: false,
            capture: Capture::new(scenario.captures),
            at_once: 0,
            steps: 0,
        }
    }

    /// Runs until the host has begun a connection.
    fn first_sequence(&mut self, host: usize) -> Option<u32> {
        self.listen().ok()?;
        while self.step().ok()? {
            if let Some(first) = self.observer.first_sequence(host) {
                return Some(first.0);
            }
        }
        None
    }

    fn run(&mut self) -> Result<(), Violation> {
        self.listen()?;
        self.begin_datagrams()?;
        let deadline = self.deadline();
        let datagrams = datagrams::last_at(self.scenario) + UNDER_WAY;
        let goes_on = |world: &Self| !world.pairs.are_over() || world.now < datagrams;
        while self.now < deadline && goes_on(self) && self.step()? {}
        self.pairs.audit(&self.observer)?;
        self.audit_datagrams()?;
        self.drain()
    }

    fn listen(&mut self) -> Result<(), Violation> {
        for service in &self.scenario.services {
            let every = Duration::from_micros(service.accept_every_us);
            let listens = self.hosts[service.host].listen(service.port, service.backlog, every);
            listens.map_err(|failure| Violation::new("listen", format!("refused: {failure:?}")))?;
        }
        Ok(())
    }

    /// The next thing that happens; false where nothing will.
    fn step(&mut self) -> Result<bool, Violation> {
        let timeouts = [0, 1].map(|host: usize| self.hosts[host].poll_timeout(self.now));
        let Some(at) = [self.queue.next_at(), timeouts[0], timeouts[1]].into_iter().flatten().min()
        else {
            return Ok(false);
        };
        self.pass(at)?;
        for (host, timeout) in timeouts.into_iter().enumerate() {
            if timeout.is_some_and(|timeout| timeout <= self.now) {
                self.hosts[host].handle_timeout(self.now);
                for at in (0..self.observer.alive(host).len()).rev() {
                    let Some(&ends) = self.observer.alive(host).get(at) else { continue };
                    self.watch(host, ends, Cause::TIME)?;
                }
                self.audit_holdings(host)?;
                self.drive(host)?;
            }
        }
        while self.queue.next_at().is_some_and(|next| next <= self.now) {
            let Some((_, planned)) = self.queue.pop() else { break };
            self.perform(planned)?;
        }
        Ok(true)
    }

    fn pass(&mut self, at: Instant) -> Result<(), Violation> {
        self.at_once = if at > self.now { 0 } else { self.at_once + 1 };
        self.now = self.now.max(at);
        self.steps += 1;
        if self.at_once > AT_ONCE_MAX || self.steps > STEPS_MAX {
            let what = format!("{} steps, {} of them at this moment", self.steps, self.at_once);
            return Err(Violation::new("busy", what));
        }
        Ok(())
    }

    fn perform(&mut self, planned: Planned) -> Result<(), Violation> {
        match planned {
            Planned::Arrival(host, frame) => self.arrival(host, &frame),
            Planned::Change(link, change) => {
                self.links[link].change(change, self.now);
                Ok(())
            }
            Planned::Calm => {
                self.links.iter_mut().for_each(Link::calm);
                self.is_calm = true;
                Ok(())
            }
            Planned::Wake(pair, side) => {
                let host = self.pairs.wake(pair, side, self.now);
                match host {
                    Some(host) => self.attend(host, pair, side).and_then(|()| self.drive(host)),
                    None => Ok(()),
                }
            }
            Planned::Datagram(number) => self.send_datagram(number),
            Planned::Open(pair, side) => self.open(pair, side),
        }
    }

    fn arrival(&mut self, host: usize, frame: &[u8]) -> Result<(), Violation> {
        let arrived = self.observer.arrived(host, frame, self.now);
        let (pairs, now) = (&mut self.pairs, self.now);
        let mut broken = None;
        let mut deliver = |handle: Handle, bytes: &[u8]| match pairs.take(host, handle, bytes, now)
        {
            Ok(taken) => taken,
            Err(violation) => {
                broken.get_or_insert(violation);
                0
            }
        };
        self.hosts[host].handle_frame(frame, now, &mut deliver);
        broken.map_or(Ok(()), Err)?;
        if let Some((ends, cause)) = arrived {
            self.watch(host, ends, cause)?;
        }
        self.drive(host)
    }

    /// Opens a connection, or tries again later where another one has to be over first.
    fn open(&mut self, pair: usize, side: usize) -> Result<(), Violation> {
        let host = self.pairs.host_of(pair, side);
        let turn = self.pairs.turn(pair);
        if turn == Turn::Never {
            self.pairs.leave_out(pair);
            return Ok(());
        }
        if turn == Turn::Later || !self.pairs.open(pair, side, &mut *self.hosts[host], self.now)? {
            self.queue.push(self.now + AGAIN, Planned::Open(pair, side));
            return Ok(());
        }
        if let Some(side) = self.pairs.side(pair, side) {
            let ends = (side.local, side.remote);
            self.watch(host, ends, Cause::OPEN)?;
        }
        self.attend(host, pair, side)?;
        self.drive(host)
    }

    /// Looks at how a connection of a host stands after this.
    fn watch(&mut self, host: usize, ends: Ends, cause: Cause) -> Result<(), Violation> {
        if self.scenario.hosts[host].kind != Kind::Portolan {
            return Ok(());
        }
        let numbers = self.hosts[host].numbers(ends.0, ends.1);
        match self.observer.moved(host, ends, numbers, (cause, self.now))? {
            Some(given_up) => self.audit_given_up(host, ends, given_up),
            None => Ok(()),
        }
    }

    /// What happened so far.
    fn coverage(&mut self) -> Coverage {
        let mut coverage = std::mem::take(&mut self.observer.coverage);
        self.links.iter().for_each(|link| coverage.merge(&link.coverage));
        self.hosts.iter_mut().for_each(|host| host.cover(&mut coverage));
        self.pairs.cover(&mut coverage);
        coverage
    }

    /// Hears the host's events, lets its programs act, and sends what it has to send.
    fn drive(&mut self, host: usize) -> Result<(), Violation> {
        for _ in 0..EVENTS_MAX {
            let Some(event) = self.hosts[host].poll_event() else {
                return self.transmit(host);
            };
            let met = match event {
                Event::Accepted { port: _, remote, handle } => {
                    let on = &mut *self.hosts[host];
                    let local = on.local(handle);
                    let met = self.pairs.accept(host, handle, remote, on, self.now)?;
                    if let Some(local) = local.filter(|_| met.is_none()) {
                        self.watch(host, (local, remote), Cause::ABORT)?;
                    }
                    met
                }
                Event::Ready(handle) => self.pairs.find(host, handle),
                Event::Datagram => {
                    self.take_datagrams(host)?;
                    None
                }
            };
            if let Some((pair, side)) = met {
                self.attend(host, pair, side)?;
            }
        }
        Err(Violation::new("busy", format!("host {host} does not run out of events")))
    }

    /// Lets a program act.
    fn attend(&mut self, host: usize, pair: usize, side: usize) -> Result<(), Violation> {
        if self.pairs.side(pair, side).is_none_or(|side| side.program.is_over) {
            return Ok(());
        }
        let wakes = self.pairs.step(pair, side, &mut *self.hosts[host], self.now)?;
        self.pairs.tell(pair, side, &mut self.observer);
        if let Some(side) = self.pairs.side(pair, side) {
            let ends = (side.local, side.remote);
            // Who closes what he has not read, or what is not open, gives it up.
            let cause = match (side.program.has_closed(), side.program.is_over) {
                (_, true) => Cause::CLOSE.and(Cause::ABORT),
                (true, false) => Cause::CLOSE,
                (false, false) => Cause::SENDING,
            };
            self.watch(host, ends, cause)?;
        }
        self.audit_failure(pair, side)?;
        if let Some(at) = wakes {
            self.queue.push(at.max(self.now), Planned::Wake(pair, side));
        }
        Ok(())
    }

    fn transmit(&mut self, host: usize) -> Result<(), Violation> {
        for _ in 0..FRAMES_MAX {
            let Some(frame) = self.hosts[host].poll_transmit(self.now) else { return Ok(()) };
            self.capture.add(self.now, &frame);
            self.observer.has_lost[host] = self.hosts[host].has_lost();
            let ends = self.observer.sent(host, &frame, self.now)?;
            if let Some(ends) = ends {
                self.watch(host, ends, Cause::SENDING)?;
            }
            let (queue, links) = (&mut self.queue, &mut self.links);
            links[host].send(frame, self.now, &mut |at, end, frame| {
                let to = if end == End::Far { 1 - host } else { host };
                queue.push(at, Planned::Arrival(to, frame));
            });
        }
        Err(Violation::new("storm", format!("host {host} does not run out of frames")))
    }
}

/// The host of this number.
#[must_use]
pub fn host_of(number: usize, ipv6: bool, setup: &Setup, now: Instant) -> Box<dyn Host> {
    match setup.kind {
        Kind::Portolan => Box::new(Portolan::new(number, ipv6, setup, now)),
        Kind::Smoltcp => Box::new(Smoltcp::new(number, ipv6, setup, now)),
    }
}

/// More than any link delays a datagram, or its fragments one another.
const UNDER_WAY: Duration = Duration::from_secs(60);
/// How long until a port is tried again.
const AGAIN: Duration = Duration::from_millis(250);
const AT_ONCE_MAX: u32 = 20_000;
const STEPS_MAX: u64 = 500_000;
const EVENTS_MAX: usize = 100_000;
const FRAMES_MAX: usize = 100_000;
