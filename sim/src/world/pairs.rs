//! The programs at both ends of each connection of a scenario.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use portolan_stack::Instant;

use crate::{
    application::Application,
    coverage::{Coverage, Happening},
    host::{self, Failure, Handle, Host},
    observer::{Ends, Observer},
    pattern::Pattern,
    random::mixed,
    scenario::{Connection, Scenario, Script},
    violation::Violation,
};

/// All of them.
pub(super) struct Pairs {
    pairs: Vec<Pair>,
    /// Which pair and side a handle of a host belongs to.
    handles: HashMap<(usize, Handle), (usize, usize)>,
    seed: u64,
    /// A backlog may be full, so that SYN cookies are sent.
    has_cookies: bool,
    /// The run is over: whoever connects now is not wanted.
    have_given_up: bool,
}

/// The two ends of a connection: side 0 opens it, side 1 accepts it, or opens it as well.
pub(super) struct Pair {
    pub(super) connection: Connection,
    /// Where each side connects to.
    remotes: [SocketAddr; 2],
    pub(super) sides: [Option<Side>; 2],
    /// It was to be opened, and the stack did not want to.
    pub(super) refused: Option<Failure>,
    /// It is not opened: that before it did not end in good order.
    pub(super) is_left_out: bool,
}

/// Whether a connection can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Now,
    /// It waits for another one.
    Later,
    Never,
}

/// One end, and the program there.
pub(super) struct Side {
    pub(super) program: Application,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    /// The next wake that counts; others were planned before it.
    wakes: Option<Instant>,
    pub(super) failure_is_audited: bool,
}

impl Pairs {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let of = |host: usize| -> IpAddr { host::address(host, scenario.ipv6) };
        let pair = |connection: &Connection| {
            let (from, to) = (connection.from, 1 - connection.from);
            Pair {
                connection: *connection,
                remotes: [
                    SocketAddr::new(of(to), connection.port),
                    SocketAddr::new(of(from), SIMULTANEOUS_PORT),
                ],
                sides: [None, None],
                refused: None,
                is_left_out: false,
            }
        };
        Self {
            pairs: scenario.connections.iter().map(pair).collect(),
            handles: HashMap::new(),
            seed: scenario.seed,
            has_cookies: scenario.services.iter().any(|service| service.backlog < BACKLOG_MIN),
            have_given_up: false,
        }
    }

    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Pair> {
        self.pairs.iter_mut()
    }

    /// The side of this pair, once there is a program.
    pub(super) fn side(&mut self, pair: usize, side: usize) -> Option<&mut Side> {
        self.pairs[pair].sides[side].as_mut()
    }

    /// Bytes that all programs got.
    pub(super) fn bytes(&self) -> u64 {
        let sides = self.pairs.iter().flat_map(|pair| pair.sides.iter().flatten());
        sides.map(|side| side.program.received).sum()
    }

    /// When a program read something last.
    pub(super) fn last_read(&self) -> Instant {
        let sides = self.pairs.iter().flat_map(|pair| pair.sides.iter().flatten());
        sides.map(|side| side.program.read_at).max().unwrap_or_default()
    }

    /// Whether every connection was opened and every program is through.
    pub(super) fn are_over(&self) -> bool {
        self.pairs.iter().all(Pair::is_over)
    }

    /// The host of a side.
    pub(super) fn host_of(&self, pair: usize, side: usize) -> usize {
        let from = self.pairs[pair].connection.from;
        if side == 0 { from } else { 1 - from }
    }

    /// Whether the connection that this one follows is over.
    pub(super) fn turn(&self, pair: usize) -> Turn {
        let Some(before) = self.pairs[pair].connection.after else { return Turn::Now };
        match self.pairs.get(before) {
            Some(before) if !before.is_over() => Turn::Later,
            Some(before) if before.is_complete() => Turn::Now,
            _ => Turn::Never,
        }
    }

    /// It will not be opened.
    pub(super) fn leave_out(&mut self, pair: usize) {
        self.pairs[pair].is_left_out = true;
    }

    /// The port that a connection comes from, where it is not any: each side of a simultaneous one
    /// knows the port that the other one comes from.
    fn port_of(&self, pair: usize, side: usize) -> Option<u16> {
        let connection = &self.pairs[pair].connection;
        if connection.simultaneous_us.is_some() {
            return Some(self.pairs[pair].remotes[1 - side].port());
        }
        let before = self.pairs.get(connection.after?)?;
        before.sides[0].as_ref().map(|side| side.local.port())
    }

    /// Opens a connection, where the stack does. Whether it did, or is not to be asked again.
    pub(super) fn open(
        &mut self,
        pair: usize,
        side: usize,
        host: &mut dyn Host,
        now: Instant,
    ) -> Result<bool, Violation> {
        let number = self.host_of(pair, side);
        let remote = self.pairs[pair].remotes[side];
        let handle = match host.connect(remote, self.port_of(pair, side), now) {
            Ok(handle) => handle,
            // The one before waits in this host for late segments.
            Err(Failure::Full) if self.pairs[pair].connection.after.is_some() => return Ok(false),
            Err(failure) => {
                self.pairs[pair].refused = Some(failure);
                return Ok(true);
            }
        };
        let Some(local) = host.local(handle) else {
            return Err(Violation::new("connect", "a connection has no local address"));
        };
        self.add((pair, side), (number, handle), (local, remote), now);
        self.set_timeout((pair, side), host, now);
        Ok(true)
    }

    /// Somebody connected to a host.
    pub(super) fn accept(
        &mut self,
        number: usize,
        handle: Handle,
        remote: SocketAddr,
        host: &mut dyn Host,
        now: Instant,
    ) -> Result<Option<(usize, usize)>, Violation> {
        let knows = |pair: &Pair| {
            pair.connection.from != number
                && pair.sides[1].is_none()
                && pair.sides[0].as_ref().is_some_and(|side| side.local == remote)
        };
        let known = self.pairs.iter().rposition(knows).filter(|_| !self.have_given_up);
        let Some(pair) = known else {
            if self.has_cookies || self.have_given_up {
                // A late acknowledgment of a cookie opens a connection a second time: the price of
                // keeping nothing (RFC 4987, section 3.6). Its program wants no such thing.
                host.abort(handle, now);
                return Ok(None);
            }
            let what = format!("host {number} accepted {remote}, which nobody opened");
            return Err(Violation::new("accept", what));
        };
        let local = host.local(handle).unwrap_or(self.pairs[pair].remotes[0]);
        self.add((pair, 1), (number, handle), (local, remote), now);
        self.set_timeout((pair, 1), host, now);
        Ok(Some((pair, 1)))
    }

    fn set_timeout(&mut self, (pair, side): (usize, usize), host: &mut dyn Host, now: Instant) {
        let Some(side) = self.side(pair, side) else { return };
        let seconds = side.program.script.user_timeout_s;
        if seconds > 0 {
            let timeout = Duration::from_secs(seconds.into());
            host.set_user_timeout(side.program.handle, timeout, now);
        }
    }

    fn add(
        &mut self,
        (number, side): (usize, usize),
        of: (usize, Handle),
        (local, remote): (SocketAddr, SocketAddr),
        now: Instant,
    ) {
        let seed = self.seed;
        let stream =
            |side: usize| Pattern(mixed(seed ^ mixed(number as u64 * 2 + side as u64 + 1)));
        let pair = &mut self.pairs[number];
        let scripts = [pair.connection.active, pair.connection.passive];
        let streams = (stream(side), stream(1 - side));
        let expects = scripts[1 - side].bytes;
        let program = Application::new(scripts[side], of, streams, expects, now);
        let (wakes, failure_is_audited) = (None, false);
        pair.sides[side] = Some(Side { program, local, remote, wakes, failure_is_audited });
        self.handles.insert(of, (number, side));
    }

    /// Whose handle this is.
    pub(super) fn find(&self, host: usize, handle: Handle) -> Option<(usize, usize)> {
        self.handles.get(&(host, handle)).copied()
    }

    /// The host on which the program is to act, if it still waits for this moment.
    pub(super) fn wake(&mut self, pair: usize, side: usize, now: Instant) -> Option<usize> {
        let side = self.side(pair, side)?;
        side.wakes.take_if(|at| *at <= now).map(|_| side.program.host)
    }

    /// Lets a program act; when it is to be woken is the answer, if it has not been planned.
    pub(super) fn step(
        &mut self,
        pair: usize,
        side: usize,
        host: &mut dyn Host,
        now: Instant,
    ) -> Result<Option<Instant>, Violation> {
        let Some(one) = &mut self.pairs[pair].sides[side] else { return Ok(None) };
        let wakes = one.program.step(host, now)?;
        if one.program.is_over {
            self.handles.remove(&(one.program.host, one.program.handle));
        }
        let is_planned = one.wakes.is_some() && one.wakes <= wakes;
        if is_planned || wakes.is_none() {
            return Ok(None);
        }
        one.wakes = wakes;
        Ok(wakes)
    }

    /// How many programs of the host have a connection.
    pub(super) fn held(&self, host: usize) -> usize {
        self.handles.keys().filter(|(of, _)| *of == host).count()
    }

    /// What the programs did.
    pub(super) fn cover(&self, coverage: &mut Coverage) {
        for pair in &self.pairs {
            pair.sides.iter().flatten().for_each(|side| coverage.merge(&side.program.coverage));
            let was_opened = pair.sides[0].is_some();
            let reused = was_opened && pair.connection.after.is_some();
            coverage.add(Happening::PortReused, u64::from(reused));
            coverage.add(Happening::Complete, u64::from(pair.is_complete()));
            let failures = pair.sides.iter().flatten().filter_map(|side| side.program.failure);
            for failure in failures {
                match failure {
                    Failure::Refused => coverage.note(Happening::Refused),
                    Failure::TimedOut => coverage.note(Happening::GivenUp),
                    _ => {}
                }
            }
        }
    }

    /// Tells the observer who has a connection.
    pub(super) fn tell(&mut self, pair: usize, side: usize, observer: &mut Observer) {
        let Some(side) = self.side(pair, side) else { return };
        let holds = !side.program.is_over && side.program.failure.is_none();
        observer.holds(side.program.host, side.local, side.remote, holds);
    }

    /// Data that is offered in place.
    pub(super) fn take(
        &mut self,
        host: usize,
        handle: Handle,
        bytes: &[u8],
        now: Instant,
    ) -> Result<usize, Violation> {
        let Some((pair, side)) = self.find(host, handle) else { return Ok(0) };
        self.side(pair, side).map_or(Ok(0), |side| side.program.take(bytes, now))
    }

    /// The programs that are not through give up.
    pub(super) fn give_up(
        &mut self,
        hosts: &mut [Box<dyn Host>; 2],
        observer: &mut Observer,
        now: Instant,
    ) -> Vec<(usize, Ends)> {
        self.have_given_up = true;
        let mut given_up = Vec::new();
        for side in self.pairs.iter_mut().flat_map(|pair| pair.sides.iter_mut().flatten()) {
            let program = &mut side.program;
            if !std::mem::replace(&mut program.is_over, true) {
                hosts[program.host].abort(program.handle, now);
                observer.holds(program.host, side.local, side.remote, false);
                self.handles.remove(&(program.host, program.handle));
                given_up.push((program.host, (side.local, side.remote)));
            }
        }
        given_up
    }

    /// What the program does that has, or had, this connection last.
    pub(super) fn script_of(&self, host: usize, ends: Ends) -> Option<Script> {
        let sides = self.pairs.iter().rev().flat_map(|pair| pair.sides.iter().flatten());
        let mut found = sides
            .filter(|side| side.program.host == host && (side.local, side.remote) == ends)
            .map(|side| side.program.script);
        found.next()
    }
}

impl Pair {
    /// Whether both programs are through and have all.
    fn is_complete(&self) -> bool {
        let is_it = |side: &Side| side.program.is_over && side.program.has_all();
        self.sides.iter().all(|side| side.as_ref().is_some_and(is_it))
    }

    fn is_over(&self) -> bool {
        if self.refused.is_some() || self.is_left_out {
            return true;
        }
        match &self.sides {
            [Some(active), Some(passive)] => active.program.is_over && passive.program.is_over,
            // Nobody must be accepted whom the other end gave up.
            [Some(active), None] => {
                let program = &active.program;
                program.is_over && (program.failure.is_some() || !program.script.end.is_orderly())
            }
            [None, _] => false,
        }
    }
}

/// Where side 0 of a simultaneous opening comes from.
const SIMULTANEOUS_PORT: u16 = 5_000;
/// More than any scenario has connections.
const BACKLOG_MIN: usize = 64;
