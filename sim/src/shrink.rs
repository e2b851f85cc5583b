//! A failing scenario, made smaller for as long as it fails in the same way.

use std::time::{Duration, Instant};

use crate::{
    host::Setup,
    link::Settings,
    runner::run_safely,
    scenario::{End, Scenario, Script},
    violation::Violation,
};

/// What is left of a scenario, and how that fails; none if it does not fail.
///
/// It takes away one thing after the other: a connection, a fault, a change, half of the bytes, and
/// keeps what still breaks the same rule. It ends when nothing can be taken away any more, or after
/// this time.
#[must_use]
pub fn shrunk(scenario: &Scenario, at_most: Duration) -> Option<(Scenario, Violation)> {
    let began = Instant::now();
    let mut best = scenario.clone();
    let mut violation = run_safely(&best).violation?;
    loop {
        let mut found = false;
        for candidate in candidates(&best) {
            if began.elapsed() > at_most {
                return Some((best, violation));
            }
            if candidate == best {
                continue;
            }
            let failed = run_safely(&candidate).violation;
            if let Some(failed) = failed.filter(|failed| failed.rule == violation.rule) {
                (best, violation, found) = (candidate, failed, true);
                break;
            }
        }
        if !found {
            return Some((best, violation));
        }
    }
}

/// Scenarios that are a little smaller, the largest step first.
fn candidates(scenario: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    let mut changed = |change: &dyn Fn(&mut Scenario)| {
        let mut candidate = scenario.clone();
        change(&mut candidate);
        all.push(candidate);
    };
    let count = scenario.connections.len();
    if count > 1 {
        changed(&|one| one.connections.truncate(count / 2));
        changed(&|one| (0..count / 2).for_each(|_| without(one, 0)));
        for at in 0..count {
            changed(&|one| without(one, at));
        }
    }
    for link in [0, 1] {
        changed(&|one| one.links[link] = Settings::default());
    }
    changed(&|one| one.changes.clear());
    for at in 0..scenario.changes.len() {
        changed(&|one| _ = one.changes.remove(at));
    }
    for at in 0..scenario.services.len() {
        changed(&|one| (one.services[at].backlog, one.services[at].accept_every_us) = (128, 0));
    }
    for at in 0..scenario.datagrams.len() {
        changed(&|one| _ = one.datagrams.remove(at));
        changed(&|one| one.datagrams[at].count /= 2);
    }
    changed(&|one| one.wrap = None);
    changed(&|one| one.start_us = 0);
    changed(&|one| one.ipv6 = false);
    changed(&|one| one.calm_us = 0);
    for link in [0, 1] {
        for calmer in LINK_STEPS {
            changed(&|one| calmer(&mut one.links[link]));
        }
    }
    for host in [0, 1] {
        for plainer in HOST_STEPS {
            changed(&|one| plainer(&mut one.hosts[host]));
        }
    }
    for at in 0..count {
        for simpler in SCRIPT_STEPS {
            changed(&|one| simpler(&mut one.connections[at].active));
            changed(&|one| simpler(&mut one.connections[at].passive));
        }
        changed(&|one| one.connections[at].at_us = 0);
    }
    all
}

/// Takes a connection out; who was to follow it follows nobody.
fn without(scenario: &mut Scenario, at: usize) {
    scenario.connections.remove(at);
    for connection in &mut scenario.connections {
        connection.after = match connection.after {
            Some(before) if before == at => None,
            Some(before) if before > at => Some(before - 1),
            other => other,
        };
    }
}

const LINK_STEPS: [fn(&mut Settings); 14] = [
    |link| link.loss_ppm = 0,
    |link| link.burst = None,
    |link| link.reorder_ppm = 0,
    |link| link.duplicate_ppm = 0,
    |link| link.replay_ppm = 0,
    |link| link.corrupt_ppm = 0,
    |link| link.truncate_ppm = 0,
    |link| link.mark_ppm = 0,
    |link| link.shrink_ppm = 0,
    |link| (link.rate_bytes, link.queue_bytes) = (0, 0),
    |link| link.jitter_us = 0,
    |link| link.mtu = 0,
    |link| link.delay_us = link.delay_us.min(1_000),
    |link| link.pads = false,
];

const HOST_STEPS: [fn(&mut Setup); 11] = [
    |host| host.sack = true,
    |host| host.timestamps = true,
    |host| host.ecn = false,
    |host| host.newreno = false,
    |host| host.blocks = 0,
    |host| host.device_checksums = false,
    |host| host.device_segments = 0,
    |host| (host.receive_bytes, host.send_bytes) = (64 * 1024, 64 * 1024),
    |host| host.mtu = 1_500,
    |host| host.cookies = true,
    |host| host.keepalive = None,
];

const SCRIPT_STEPS: [fn(&mut Script); 11] = [
    |script| script.bytes = 0,
    |script| script.bytes /= 2,
    |script| script.bytes = script.bytes * 9 / 10,
    |script| (script.write, script.write_every_us) = (0, 0),
    |script| (script.read, script.read_every_us) = (0, 0),
    |script| script.stall = None,
    |script| script.in_place = false,
    |script| script.waits_us = 0,
    |script| script.replies = false,
    |script| script.user_timeout_s = 0,
    |script| script.end = End::Finish,
];

#[cfg(test)]
mod tests;
