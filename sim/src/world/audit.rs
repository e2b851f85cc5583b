//! What must hold at the end, and when a program is told that its connection is over.

use std::time::Duration;

use portolan_stack::Instant;

use super::{
    World, datagrams,
    pairs::{Pair, Pairs},
};
use crate::{
    host::{Failure, Holdings, Kind, State},
    observer::{Cause, Ends, GivenUp, Observer},
    scenario::{Connection, End, Script},
    violation::Violation,
};

impl World<'_> {
    /// By when all that can be transferred must have been.
    pub(super) fn deadline(&self) -> Instant {
        let scenario = self.scenario;
        let bytes: u64 =
            scenario.connections.iter().map(|one| one.active.bytes + one.passive.bytes).sum();
        let rates = scenario.links.iter().map(|link| link.rate_bytes).filter(|&rate| rate > 0);
        let rate = rates.min().unwrap_or(u64::MAX);
        // Forty times what the slower link takes: small segments have large headers.
        let transfer = bytes.saturating_mul(40_000_000) / rate;
        let paced: u64 = scenario.connections.iter().map(paced_us).sum();
        let connections = scenario.start()
            + Duration::from_micros(scenario.calm_us + transfer + paced)
            + PATIENCE;
        connections.max(datagrams::last_at(scenario) + PATIENCE)
    }

    /// A connection is over before its time only if the wire says why.
    pub(super) fn audit_failure(&mut self, pair: usize, side: usize) -> Result<(), Violation> {
        let Some(side) = self.pairs.side(pair, side) else { return Ok(()) };
        let Some(failure) = side.program.failure else { return Ok(()) };
        let host = side.program.host;
        let is_audited = std::mem::replace(&mut side.failure_is_audited, true);
        if is_audited || self.scenario.hosts[host].kind != Kind::Portolan {
            return Ok(());
        }
        let heard = self.observer.heard_at(host, side.local, side.remote);
        let silent = self.now.since(heard.unwrap_or(self.scenario.start()));
        let is_right = match failure {
            Failure::Reset | Failure::Refused => {
                self.observer.was_reset(host, side.local, side.remote)
            }
            Failure::TimedOut => self.observer.has_given_up(host, (side.local, side.remote)),
            Failure::Unreachable | Failure::Full | Failure::Unknown => false,
        };
        if is_right {
            return Ok(());
        }
        let what = format!(
            "host {host} says {failure:?} of {} to {}; nothing was heard for {silent:?}",
            side.local, side.remote
        );
        Err(Violation::new("failure", what))
    }

    /// Nothing is given up in this state before its time: R2 of RFC 9293, section 3.8.3, or what
    /// the program asked for.
    pub(super) fn audit_given_up(
        &mut self,
        host: usize,
        ends: Ends,
        GivenUp { state, since }: GivenUp,
    ) -> Result<(), Violation> {
        let start = self.scenario.start();
        let heard = self.observer.heard_at(host, ends.0, ends.1).unwrap_or(start);
        let silent = self.now.since(heard);
        let waiting = self.observer.waits_since(host, ends).map(|since| self.now.since(since));
        let waiting = waiting.unwrap_or(silent).max(silent);
        let script = self.pairs.script_of(host, ends);
        let of_program = match script.map_or(0, |script| script.user_timeout_s) {
            0 if state == State::SynReceived => SYN_ACKS,
            0 => GIVES_UP_AFTER,
            seconds => Duration::from_secs(seconds.into()),
        };
        let of_probes = self.scenario.hosts[host].keepalive.map(|keepalive| {
            let probes = keepalive.interval_us * u64::from(keepalive.probes);
            Duration::from_micros(keepalive.idle_us + probes)
        });
        let is_half = state == State::FinWait2 && self.now.since(since) >= FIN_WAIT_2;
        if waiting >= of_program || is_half || of_probes.is_some_and(|least| silent >= least) {
            return Ok(());
        }
        let what = format!(
            "host {host} gives up {} to {} in {state:?}, after {waiting:?}; silent for {silent:?}",
            ends.0, ends.1
        );
        Err(Violation::new("given up", what))
    }

    /// At no time does a host hold a connection that neither a program nor the wire knows, a timer
    /// of none, or memory for none.
    pub(super) fn audit_holdings(&mut self, host: usize) -> Result<(), Violation> {
        if self.scenario.hosts[host].kind != Kind::Portolan {
            return Ok(());
        }
        let holdings = self.hosts[host].holdings();
        let alive = self.observer.alive(host).len();
        // Who is over stays until its program gives it back, or has accepted it at all.
        let slow = self.scenario.services.iter().filter(|one| one.host == host);
        let slow: usize = slow.filter(|one| one.accept_every_us > 0).map(|one| one.backlog).sum();
        let is_known = holdings.connections <= alive
            || holdings.connections <= alive + slow + self.pairs.held(host);
        let is_bound = holdings.timers <= holdings.connections;
        let is_empty = holdings.connections > 0 || holdings.blocks == 0;
        if is_known && is_bound && is_empty {
            return Ok(());
        }
        let what = format!("host {host} holds {holdings:?}, and has {alive} connections");
        Err(Violation::new("leak", what))
    }

    /// After all programs are through, nothing may be left in the stacks.
    pub(super) fn drain(&mut self) -> Result<(), Violation> {
        let given_up = self.pairs.give_up(&mut self.hosts, &mut self.observer, self.now);
        for (host, ends) in given_up {
            self.watch(host, ends, Cause::ABORT)?;
        }
        for host in [0, 1] {
            self.drive(host)?;
        }
        let until = self.now + DRAIN;
        while !self.is_empty() && self.now < until && self.step()? {}
        if self.is_empty() {
            return Ok(());
        }
        let holdings = [0, 1].map(|host: usize| self.hosts[host].holdings());
        Err(Violation::new("leak", format!("the hosts still hold {holdings:?}")))
    }

    fn is_empty(&mut self) -> bool {
        let mut hosts = self.hosts.iter_mut().zip(&self.scenario.hosts);
        hosts.all(|(host, setup)| {
            setup.kind != Kind::Portolan || host.holdings() == Holdings::default()
        })
    }
}

impl Pairs {
    /// What each pair of programs must have seen in the end.
    pub(super) fn audit(&mut self, observer: &Observer) -> Result<(), Violation> {
        for (number, pair) in self.all().enumerate() {
            let audited = pair.audit(observer);
            if pair.waits_for_nobody() {
                continue;
            }
            audited.map_err(|(rule, what)| {
                Violation::new(rule, format!("connection {number}: {what}"))
            })?;
        }
        Ok(())
    }
}

impl Pair {
    /// The last segment of the handshake was lost, and whoever sent it waits for the other end to
    /// speak first. That one has given up, or never kept anything: the price of SYN cookies
    /// (RFC 4987, section 3.6).
    fn waits_for_nobody(&self) -> bool {
        let script = self.connection.active;
        let speaks = script.bytes > 0 || script.end != End::AfterPeer;
        self.sides[1].is_none() && (script.replies || !speaks)
    }

    fn audit(&self, observer: &Observer) -> Result<(), (&'static str, String)> {
        // One that waits for another one is as good as that.
        let waits = self.connection.after.is_some() && self.sides[0].is_none();
        if self.is_left_out || waits {
            return Ok(());
        }
        if let Some(failure) = self.refused {
            return Err(("connect", format!("refused at once: {failure:?}")));
        }
        let ends = [self.connection.active.end, self.connection.passive.end];
        let is_orderly = ends.iter().all(|end| end.is_orderly());
        // Also when its program was through already.
        let failed = self.sides.iter().flatten().any(|side| {
            let ends = (side.local, side.remote);
            let host = side.program.host;
            side.program.failure.is_some()
                || observer.has_given_up(host, ends)
                || observer.was_reset_by_other(host, ends)
        });
        if !is_orderly || failed {
            return Ok(());
        }
        for (name, side) in ["active", "passive"].into_iter().zip(&self.sides) {
            let Some(side) = side else {
                return Err(("liveness", format!("the {name} side never got it")));
            };
            let program = &side.program;
            if !program.has_all() || !program.is_over {
                let what = format!(
                    "the {name} side has sent {} bytes and got {}; end of the stream: {}",
                    program.sent, program.received, program.got_end
                );
                return Err(("liveness", what));
            }
        }
        Ok(())
    }
}

/// How long the programs of a connection take by themselves.
fn paced_us(connection: &Connection) -> u64 {
    let paced = |chunk: u64, every: u64, bytes: u64| match chunk {
        0 => (bytes / 1_000 + 1) * every,
        // No more than the least buffer takes.
        chunk => (bytes / chunk.min(4_096) + 1) * every,
    };
    let of = |script: Script, gets: u64| {
        paced(script.write, script.write_every_us, script.bytes)
            + paced(script.read, script.read_every_us, gets)
            + script.stall.map_or(0, |(_, us)| us)
            + script.waits_us
    };
    // The one before may have to wait for late segments first.
    let turn = if connection.after.is_some() { TIME_WAIT_US } else { 0 };
    let (active, passive) = (connection.active, connection.passive);
    connection.at_us + turn + of(active, passive.bytes) + of(passive, active.bytes)
}

/// The wait itself, and as much again for one that began again.
const TIME_WAIT_US: u64 = 130_000_000;
/// What timers may add that have backed off as far as they do: RFC 6298, section 2.5.
const PATIENCE: Duration = Duration::from_secs(600);
/// R2 of RFC 9293, section 3.8.3, at least.
const GIVES_UP_AFTER: Duration = Duration::from_secs(100);
/// A listener answers SYN six times: after 1, 2, 4, 8, 16 and 32 seconds it gives up.
const SYN_ACKS: Duration = Duration::from_secs(63);
/// A connection that only the other end could end.
const FIN_WAIT_2: Duration = Duration::from_secs(60);
/// Above twice the MSL: RFC 9293, section 3.4.2; and above the last retransmissions of a FIN.
const DRAIN: Duration = Duration::from_secs(1_800);
