//! One thread of the client: starts what is due, then waits for sockets or for time.

use std::{
    io,
    num::NonZeroU64,
    sync::mpsc::Sender,
    time::{Duration, Instant},
};

use rustix::event::epoll::EventFlags;

use super::{
    gate::Gates,
    job::Job,
    routes::Routes,
    run::{Run, Tally, Turns},
};
use crate::{
    ClientOptions, Mode, Stop,
    deadlines::Deadlines,
    gather::{Ended, Message},
    interval::Cuts,
    poll::{self, Events, Poll, Token},
    schedule::Schedule,
    socket,
    source_ports::Choice,
    summary::PortsUsed,
};

/// How many starts are made before sockets have their turn: this many times the depth, so that what
/// goes over one connection can be sent at once.
const STARTS_IN_TURN: u32 = 64;

/// Once somebody asked for the end, what is under way is waited for at most this long.
const STOPPING_MAX: Duration = Duration::from_secs(1);

/// The kernel may wake us so much later than asked for, instead of 50 us.
const TIMER_SLACK_NS: NonZeroU64 = NonZeroU64::MIN;

pub(super) struct Worker {
    pub(super) run: Run,
    pub(super) job: Job,
    schedule: Schedule,
    slots: u32,
    /// Of the workers of this process.
    is_first: bool,
    /// Why source ports are chosen as they are.
    why: String,
    stop: Stop,
    pub(super) gates: Gates,
    out: Sender<Message>,
    pub(super) is_stopped: bool,
    /// When what is still under way is given up; set once nothing more is started.
    give_up_at: Option<Instant>,
    /// The next start has waited for a slot before.
    has_waited: bool,
    /// The next start is due, but there was no slot for it.
    is_blocked: bool,
    begin: Instant,
    /// None before the begin.
    cuts: Option<Cuts>,
}

/// CPU time and time without a processor.
struct Spent(Duration, Duration);

impl Spent {
    fn now() -> Self {
        Self(socket::thread_cpu(), socket::thread_cpu_wait())
    }
}

impl Worker {
    /// The `nth` of this process.
    pub(super) fn new(
        options: &ClientOptions,
        routes: Routes,
        choice: &Choice,
        nth: usize,
        (stop, gates): (&Stop, &Gates),
        out: Sender<Message>,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        poll.add(stop, Token::Stop, EventFlags::IN)?;
        poll.add(&gates.begin, Token::Gate, EventFlags::IN)?;
        let number = |of: usize| u32::try_from(of).unwrap_or(u32::MAX);
        let is_first = nth == 0;
        // Of all processes.
        let nth = number(options.share.nth * options.threads + nth);
        let of = number(options.share.of * options.threads).max(1);
        let slots = options.connections / of + u32::from(nth < options.connections % of);
        let tally = Tally::new(routes.targets());
        let deadlines = Deadlines::new(slots.saturating_mul(options.depth));
        let turns = Turns::new(options);
        let mut run = Run { options: options.clone(), poll, routes, turns, deadlines, tally };
        let job = Job::new(&mut run, slots);
        Ok(Self {
            run,
            job,
            schedule: options.schedule().share(nth.into(), of.into()),
            slots,
            is_first,
            why: choice.why.clone(),
            stop: stop.clone(),
            gates: gates.clone(),
            out,
            is_stopped: false,
            give_up_at: None,
            has_waited: false,
            is_blocked: false,
            begin: Instant::now(),
            cuts: None,
        })
    }

    /// The whole run.
    pub(super) fn run(mut self) -> io::Result<()> {
        // Without it, starts are a little later.
        let _ = rustix::thread::set_current_timer_slack(Some(TIMER_SLACK_NS));
        let mut events = poll::no_events();
        if self.run.options.is_persistent() && self.run.options.mode != Mode::Hold {
            self.establish(&mut events)?;
        }
        self.say(Message::Ready);
        self.await_begin(&mut events)?;
        let before = Spent::now();
        if self.run.options.mode == Mode::Hold {
            self.hold(&mut events)?;
        } else {
            self.load(&mut events)?;
        }
        let ports = self.ports_used();
        self.job.finish(&mut self.run);
        self.end(&before, ports);
        Ok(())
    }

    /// Establishes all persistent connections, or fails to.
    fn establish(&mut self, events: &mut Events) -> io::Result<()> {
        let mut left = self.slots;
        while !self.is_stopped && (left > 0 || self.job.handshakes() > 0) {
            for _ in 0..left.min(STARTS_IN_TURN) {
                self.job.establish(&mut self.run);
                left -= 1;
            }
            let now = Instant::now();
            self.job.expire(&mut self.run, now);
            let wake_at = if left > 0 || self.job.handshakes() == 0 { Some(now) } else { None };
            self.wait(wake_at, now, events)?;
        }
        Ok(())
    }

    /// Waits until all workers are ready, and for the moment that is then named.
    fn await_begin(&mut self, events: &mut Events) -> io::Result<()> {
        let begin = loop {
            let now = Instant::now();
            match self.gates.begin.at() {
                Some(at) if at <= now => break at,
                _ if self.is_stopped => break now,
                known => self.wait(known, now, events)?,
            }
        };
        self.run.poll.add(&self.gates.verify, Token::Gate, EventFlags::IN)?;
        self.begin = begin;
        self.run.tally.last_at = begin;
        let Run { options, .. } = &self.run;
        let mut cuts = Cuts::new(options.interval, options.warm_up);
        if cuts.is_warm_up() && options.is_persistent() {
            // How long it took to connect is measured all the same.
            let none = Cuts::new(options.interval, Duration::ZERO);
            let part = self.run.tally.part(&none, Duration::ZERO, false);
            self.say(Message::Part(Box::new(part)));
        }
        // Where the begin is long over, so are intervals.
        cuts.nth = 0;
        self.cuts = Some(cuts);
        Ok(())
    }

    fn load(&mut self, events: &mut Events) -> io::Result<()> {
        loop {
            let next = self.start_next();
            let now = Instant::now();
            self.job.expire(&mut self.run, now);
            self.cut(now);
            if next.is_none() {
                let timeout = self.run.options.timeout;
                let longest = if self.is_stopped { timeout.min(STOPPING_MAX) } else { timeout };
                let give_up_at = *self.give_up_at.get_or_insert(now + longest);
                if self.job.slots().in_use() == 0 || now >= give_up_at {
                    return Ok(());
                }
            }
            self.wait(next.into_iter().chain(self.give_up_at).min(), now, events)?;
        }
    }

    /// Starts what is due, and says when to come again; `None` when nothing more will be started.
    pub(super) fn start_next(&mut self) -> Option<Instant> {
        let next = self.start_due();
        self.job.flush(&mut self.run);
        let next = next?;
        if !self.is_blocked {
            return Some(next);
        }
        // What was flushed may have freed a slot; if not, and none rests, an event tells when to go
        // on.
        Some(self.job.free_at(Instant::now()).unwrap_or(next))
    }

    fn start_due(&mut self) -> Option<Instant> {
        for _ in 0..STARTS_IN_TURN.saturating_mul(self.run.options.depth) {
            let now = Instant::now();
            let since = now.saturating_duration_since(self.begin);
            let intended = self.begin + self.schedule.next(since).filter(|_| !self.is_stopped)?;
            if intended > now {
                return Some(intended);
            }
            if !self.job.start(&mut self.run, intended, now) {
                if !self.has_waited && self.run.options.rate.is_some() {
                    self.run.tally.waited += 1;
                    self.has_waited = true;
                }
                self.is_blocked = true;
                return Some(now + self.run.options.timeout);
            }
            self.has_waited = false;
            self.is_blocked = false;
            self.schedule.advance();
        }
        Some(self.begin)
    }

    /// Waits for events until `wake_at`, the first deadline or the end of the interval, and handles
    /// them.
    pub(super) fn wait(
        &mut self,
        wake_at: Option<Instant>,
        now: Instant,
        events: &mut Events,
    ) -> io::Result<()> {
        let unfinished = self.job.is_unfinished().then_some(now);
        let deadline = self.run.deadlines.first().map(|(_, at)| at);
        let cut = self.cuts.map(|cuts| self.begin + cuts.until());
        let wake_at = wake_at.into_iter().chain(deadline).chain(cut).chain(unfinished).min();
        let longest = wake_at.map(|at| at.saturating_duration_since(now));
        let count = self.run.poll.wait(events, longest)?;
        for event in &events[..count] {
            match poll::read(event) {
                (Token::Stop, _) => {
                    self.run.poll.remove(&self.stop);
                    self.is_stopped = true;
                    self.give_up_at = None;
                }
                (Token::Gate, _) => {
                    // Whoever waits for it looks at it each time; it need not tell again.
                    for gate in [&self.gates.begin, &self.gates.verify] {
                        if gate.at().is_some() {
                            self.run.poll.remove(gate);
                        }
                    }
                }
                (Token::Slot(slot), flags) => self.job.handle(&mut self.run, slot, flags),
                (Token::Listener(_), _) => {}
            }
        }
        if unfinished.is_some() {
            self.job.flush(&mut self.run);
        }
        Ok(())
    }

    /// Says what happened in intervals that are over.
    pub(super) fn cut(&mut self, now: Instant) {
        while let Some(cuts) = &mut self.cuts
            && self.begin + cuts.until() <= now
        {
            let part = self.run.tally.part(cuts, cuts.until() - cuts.since, true);
            cuts.advance();
            self.say(Message::Part(Box::new(part)));
        }
    }

    fn ports_used(&self) -> Option<PortsUsed> {
        if self.run.options.mode == Mode::Udp {
            return None;
        }
        let occupancy = self.run.routes.occupancy();
        Some(PortsUsed {
            strategy: self.run.routes.strategy(),
            why: self.why.clone(),
            in_use: occupancy.in_use,
            free: occupancy.free,
            conflicts: occupancy.conflicts,
            advice: self.run.routes.advice().to_vec(),
        })
    }

    /// Says what is left.
    fn end(&mut self, before: &Spent, source_ports: Option<PortsUsed>) {
        let (now, spent) = (Instant::now(), Spent::now());
        self.cut(now);
        let elapsed = now.saturating_duration_since(self.begin);
        let Some(cuts) = self.cuts else { return };
        let tally = &mut self.run.tally;
        let took = tally.last_at.saturating_duration_since(self.begin);
        let part = tally.part(&cuts, elapsed.saturating_sub(cuts.since), true);
        let wall = elapsed.as_secs_f64();
        let share = |of: Duration| if wall > 0.0 { of.as_secs_f64() / wall } else { 0.0 };
        let ended = Ended {
            nth: cuts.nth,
            targets: std::mem::take(&mut tally.targets),
            took,
            ports_skipped: tally.ports_skipped,
            source_ports,
            waited: tally.waited,
            verified: tally.verified,
            busy: share(spent.0.saturating_sub(before.0)),
            delayed: share(spent.1.saturating_sub(before.1)),
            peak_kib: if self.is_first { socket::peak_kib() } else { 0 },
        };
        self.say(Message::Part(Box::new(part)));
        self.say(Message::Ended(Box::new(ended)));
    }

    pub(super) fn say(&self, message: Message) {
        // Who does not listen any more does not need to know.
        let _ = self.out.send(message);
    }
}
