//! A scenario of a seed.

use super::{Connection, Datagrams, End, Scenario, Script, Service, Timed};
use crate::{
    host::{Keepalive, Kind, Setup},
    link::{Answer, Burst, Change, Settings},
    random::Random,
};

/// The scenario of this seed. Each kind of trouble is in some scenarios and absent from others: all
/// at once hide one another (Groce and others, "Swarm testing", 2012).
#[must_use]
pub fn generated(seed: u64) -> Scenario {
    let mut random = Random::new(seed, "scenario");
    let calm_us = random.pick(&[0, SECOND, 5 * SECOND, 20 * SECOND, 60 * SECOND]);
    let mut scenario = Scenario {
        seed,
        // Timestamps wrap every 50 days: begin anywhere in four times that.
        start_us: random.below(200 * 86_400 * SECOND),
        wrap: random.happens(300_000).then(|| wrap(&mut random)),
        ipv6: random.happens(400_000),
        hosts: hosts(&mut random),
        calm_us,
        ..Scenario::default()
    };
    if scenario.ipv6 {
        // RFC 8200, section 5: every link of IPv6 carries 1,280 bytes.
        for host in &mut scenario.hosts {
            host.mtu = host.mtu.max(MTU_MIN_V6);
        }
    }
    let first = link(&mut random, scenario.hosts[0].mtu);
    scenario.links = if random.happens(500_000) {
        [first.clone(), first]
    } else {
        [first, link(&mut random, scenario.hosts[1].mtu)]
    };
    scenario.changes = changes(&mut random, calm_us, scenario.ipv6);
    if scenario.hosts.iter().any(|host| host.kind == Kind::Smoltcp) {
        spare(&mut scenario);
    }
    if random.happens(50_000) {
        simultaneous(&mut scenario, &mut random);
    } else {
        connections(&mut scenario, &mut random);
    }
    habits(&mut scenario, &mut random);
    scenario.datagrams = datagrams(&mut random, &scenario);
    scenario
}

/// What a few scenarios have beside the rest.
fn habits(scenario: &mut Scenario, random: &mut Random) {
    let is_peer = scenario.hosts.iter().any(|host| host.kind == Kind::Smoltcp);
    if random.happens(20_000) {
        many(scenario, random);
    } else if !is_peer && random.happens(40_000) {
        one_after_another(scenario, random);
    } else if random.happens(150_000) {
        for service in &mut scenario.services {
            service.accept_every_us = random.pick(&[1_000, 200_000, 3 * SECOND]);
            service.backlog = random.pick(&[1, 2, 4]);
        }
    }
    if random.happens(50_000)
        && let Some(connection) = scenario.connections.first_mut()
        && connection.simultaneous_us.is_none()
    {
        connection.port = CLOSED_PORT;
    }
    if !is_peer && random.happens(100_000) {
        let which = random.pick(&[0, 1]);
        scenario.links[which].shrink_ppm = random.pick(&[5_000, 50_000, 300_000]);
    }
    for connection in &mut scenario.connections {
        if random.happens(20_000) {
            half_closed(connection, random);
        }
        for script in [&mut connection.active, &mut connection.passive] {
            if random.happens(80_000) {
                script.waits_us = random.pick(&[SECOND, 10 * SECOND, 100 * SECOND]);
            }
            if random.happens(50_000) {
                script.user_timeout_s = random.pick(&[1, 5, 30]);
            }
        }
    }
}

/// Many connections at once, each of them small.
fn many(scenario: &mut Scenario, random: &mut Random) {
    let Some(first) = scenario.connections.first().copied() else { return };
    if first.simultaneous_us.is_some() {
        return;
    }
    for _ in 0..random.between(10, 30) {
        let (there, back) = (random.between(1, 2_000), random.between(1, 10_000));
        let (active, mut passive) = (script(random, there, back), script(random, back, there));
        if active.end == End::AfterPeer && passive.end == End::AfterPeer {
            passive.end = End::Finish;
        }
        let at_us = random.below(200_000);
        scenario.connections.push(Connection { at_us, active, passive, ..first });
    }
}

/// Connections from one port, of which the passive end finishes first and keeps TIME-WAIT.
fn one_after_another(scenario: &mut Scenario, random: &mut Random) {
    let Some(first) = scenario.connections.first().copied() else { return };
    if first.simultaneous_us.is_some() || scenario.services.iter().any(|one| one.backlog < 128) {
        return;
    }
    scenario.connections.truncate(1);
    for number in 0..random.between(2, 6) {
        let (there, back) = (bytes(random), bytes(random));
        let active = Script { end: End::AfterPeer, ..script(random, there, back) };
        let passive = Script { end: End::Finish, ..script(random, back, there) };
        let after = (number > 0).then(|| usize::try_from(number).unwrap_or_default() - 1);
        let next = Connection { active, passive, after, ..first };
        if number == 0 {
            scenario.connections[0] = next;
        } else {
            scenario.connections.push(next);
        }
    }
}

/// One end writes only when the other has said that it has no more, and takes its time.
fn half_closed(connection: &mut Connection, random: &mut Random) {
    let ends = [&mut connection.active, &mut connection.passive];
    let [first, last] = if random.happens(500_000) {
        ends
    } else {
        let [active, passive] = ends;
        [passive, active]
    };
    first.end = End::Finish;
    last.end = End::Finish;
    last.replies = true;
    last.bytes = last.bytes.max(random.between(1, 20_000));
    last.write = last.bytes.div_ceil(random.between(2, 10));
    last.write_every_us = random.pick(&[SECOND, 10 * SECOND]);
}

/// smoltcp 0.14 does not learn the MTU of a path, and takes hours where a queue is short, as it
/// sends all again.
fn spare(scenario: &mut Scenario) {
    for link in &mut scenario.links {
        (link.mtu, link.queue_bytes) = (0, 0);
    }
    scenario.changes.retain(|timed| !matches!(timed.change, Change::Mtu(_)));
}

fn wrap(random: &mut Random) -> (usize, u32) {
    let host = random.pick(&[0, 1]);
    (host, random.pick(&[0, 1, 2, 100, 1_460, 5_000, 60_000, 200_000]))
}

fn hosts(random: &mut Random) -> [Setup; 2] {
    let mtu = random.pick(&[1_500, 1_500, 1_500, 1_280, 576, 9_000]);
    let mut hosts = [host(random, mtu), host(random, mtu)];
    if random.happens(100_000) {
        hosts[1].mtu = random.pick(&[1_500, 1_280, 9_000]);
    }
    if random.happens(100_000) {
        let which = random.pick(&[0, 1]);
        hosts[which].kind = Kind::Smoltcp;
    }
    hosts
}

fn host(random: &mut Random, mtu: usize) -> Setup {
    let buffer = |random: &mut Random| {
        random.pick(&[64 * 1024, 64 * 1024, 256 * 1024, 16 * 1024, 4_096, 1_000_000])
    };
    Setup {
        mtu,
        newreno: random.happens(400_000),
        sack: random.happens(800_000),
        timestamps: random.happens(800_000),
        ecn: random.happens(300_000),
        receive_bytes: buffer(random),
        send_bytes: buffer(random),
        blocks: if random.happens(50_000) { random.pick(&[8, 32, 100]) } else { 0 },
        device_checksums: random.happens(300_000),
        device_segments: if random.happens(300_000) { 65_000 } else { 0 },
        secret: random.draw(),
        cookies: random.happens(850_000),
        keepalive: random.happens(200_000).then(|| Keepalive {
            idle_us: random.pick(&[2 * SECOND, 10 * SECOND, 60 * SECOND]),
            interval_us: random.pick(&[SECOND, 10 * SECOND]),
            probes: random.pick(&[3, 9]),
        }),
        ..Setup::default()
    }
}

fn link(random: &mut Random, mtu: usize) -> Settings {
    let mut link = Settings {
        delay_us: random.pick(&[0, 50, 1_000, 5_000, 20_000, 100_000, 300_000]),
        pads: random.happens(300_000),
        ..Settings::default()
    };
    if random.happens(400_000) {
        link.rate_bytes = random.pick(&[10_000, 100_000, 1_250_000, 12_500_000, 125_000_000]);
        // Room for a few frames: with less, whoever has no SACK waits for a timeout each time.
        link.queue_bytes = random.pick(&[0, 4 * mtu as u64, 64_000, 1_000_000]);
    }
    if random.happens(300_000) {
        link.jitter_us = random.between(1, 20_000);
    }
    losses(&mut link, random);
    if random.happens(300_000) {
        link.reorder_ppm = random.pick(&[5_000, 50_000, 300_000]);
        link.reorder_us = random.pick(&[100, 5_000, 50_000, SECOND]);
    }
    if random.happens(250_000) {
        link.duplicate_ppm = random.pick(&[5_000, 50_000, 300_000]);
        link.duplicate_us = random.pick(&[0, 5_000, 500_000]);
    }
    if random.happens(250_000) {
        link.replay_ppm = random.pick(&[200_000, 1_000_000]);
        link.replay_us = random.pick(&[100_000, 3 * SECOND, 30 * SECOND]);
    }
    if random.happens(100_000) {
        link.mtu = random.pick(&[mtu.saturating_sub(100), MTU_MIN_V6]).max(MTU_MIN_V6);
        link.answer = random.pick(&[
            Answer::Mtu,
            Answer::Mtu,
            Answer::NoMtu,
            Answer::Nothing,
            Answer::Nothing,
        ]);
    }
    link
}

fn losses(link: &mut Settings, random: &mut Random) {
    if random.happens(400_000) {
        link.loss_ppm = random.pick(&[1_000, 10_000, 30_000, 100_000, 300_000]);
    }
    if random.happens(200_000) {
        link.burst = Some(Burst {
            enter_ppm: random.pick(&[1_000, 10_000, 50_000]),
            leave_ppm: random.pick(&[50_000, 200_000, 500_000]),
            loss_ppm: random.pick(&[500_000, 900_000, 1_000_000]),
        });
    }
    if random.happens(200_000) {
        link.corrupt_ppm = random.pick(&[2_000, 20_000, 100_000]);
    }
    if random.happens(100_000) {
        link.truncate_ppm = random.pick(&[2_000, 20_000]);
    }
    if random.happens(200_000) {
        link.mark_ppm = random.pick(&[5_000, 50_000, 500_000]);
    }
}

fn changes(random: &mut Random, calm_us: u64, ipv6: bool) -> Vec<Timed> {
    let mut changes = Vec::new();
    let mut add = |random: &mut Random, change| {
        let (at_us, link) = (random.below(calm_us + 1), random.pick(&[0, 1]));
        changes.push(Timed { at_us, link, change });
    };
    if calm_us > 0 && random.happens(300_000) {
        for _ in 0..random.between(1, 3) {
            let us = random.pick(&[50_000, 500_000, 3 * SECOND, 15 * SECOND]);
            let change = Change::Pause { us, lost: random.happens(500_000) };
            add(random, change);
        }
    }
    if random.happens(100_000) {
        let least = if ipv6 { MTU_MIN_V6 } else { 576 };
        let change = Change::Mtu(random.pick(&[1_400, MTU_MIN_V6, least]));
        add(random, change);
    }
    if random.happens(100_000) {
        let change = Change::DelayUs(random.pick(&[0, 2_000, 50_000, 700_000]));
        add(random, change);
    }
    changes.sort_by_key(|change| change.at_us);
    changes
}

/// Both hosts open the same connection.
fn simultaneous(scenario: &mut Scenario, random: &mut Random) {
    let (there, back) = (bytes(random), bytes(random));
    scenario.connections.push(Connection {
        at_us: 0,
        from: 0,
        port: 6_000,
        simultaneous_us: Some(random.pick(&[0, 10, 1_000, 100_000, 2 * SECOND])),
        after: None,
        active: Script { end: End::Finish, ..script(random, there, back) },
        passive: script(random, back, there),
    });
}

fn connections(scenario: &mut Scenario, random: &mut Random) {
    let backlog = random.pick(&[128, 128, 128, 1, 2, 4]);
    for host in [0, 1] {
        scenario.services.push(Service { host, port: PORT, backlog, accept_every_us: 0 });
    }
    let count = random.pick(&[1, 1, 1, 2, 3, 5, 12]);
    let both = random.happens(200_000);
    let at_once = random.happens(400_000);
    for _ in 0..count {
        let from = if both { random.pick(&[0, 1]) } else { 0 };
        let at_us = if at_once { 0 } else { random.below(5 * SECOND) };
        let (there, back) = (bytes(random) / count, bytes(random) / count);
        let (there, back) = match random.below(4) {
            0 => (there, 0),
            1 => (0, back),
            2 => (there.min(300), back.min(3_000)),
            _ => (there, back),
        };
        let (active, mut passive) = (script(random, there, back), script(random, back, there));
        if active.end == End::AfterPeer && passive.end == End::AfterPeer {
            // One of them must be the first.
            passive.end = End::Finish;
        }
        let (simultaneous_us, after) = (None, None);
        let connection =
            Connection { at_us, from, port: PORT, simultaneous_us, after, active, passive };
        scenario.connections.push(connection);
    }
    scenario.connections.sort_by_key(|connection| connection.at_us);
}

fn bytes(random: &mut Random) -> u64 {
    let most = random.pick(&[1, 100, 3_000, 20_000, 100_000, 300_000]);
    random.between(1, most)
}

/// A program that sends so many bytes and gets so many.
fn script(random: &mut Random, sends: u64, gets: u64) -> Script {
    let mut script =
        Script { bytes: sends, in_place: random.happens(500_000), ..Script::default() };
    if random.happens(300_000) {
        // Not so many writes that a run takes for ever.
        script.write = random.pick(&[1, 10, 100, 1_000, 10_000]).max(sends / 500);
        script.write_every_us = random.pick(&[0, 0, 1_000, 40_000]);
    }
    if random.happens(300_000) {
        script.read = random.pick(&[1, 100, 500, 1_460, 10_000]).max(gets / 200);
        script.read_every_us = random.pick(&[0, 0, 1_000, 40_000]);
    }
    if random.happens(200_000) {
        let us = random.pick(&[100_000, SECOND, 20 * SECOND, 200 * SECOND]);
        script.stall = Some((random.below(gets + 1), us));
    }
    script.end = match random.below(16) {
        0 => End::Close,
        1 => End::CloseAfterUs(random.below(3 * SECOND)),
        2 => End::AbortAfterUs(random.below(3 * SECOND)),
        3..6 => End::AfterPeer,
        _ => End::Finish,
    };
    script
}

fn datagrams(random: &mut Random, scenario: &Scenario) -> Vec<Datagrams> {
    let is_peer = scenario.hosts.iter().any(|host| host.kind == Kind::Smoltcp);
    if is_peer || !random.happens(50_000) {
        return Vec::new();
    }
    let one = |random: &mut Random, from| Datagrams {
        at_us: random.below(2 * SECOND),
        from,
        count: u32::try_from(random.between(1, 30)).unwrap_or(1),
        every_us: random.pick(&[100, 10_000, 500_000, 5 * SECOND]),
        bytes: random.pick(&[0, 1, 500, 1_472, 1_473, 5_000, 20_000]),
        is_bound: random.happens(800_000),
    };
    let mut all = Vec::new();
    for from in 0..2 {
        if random.happens(700_000) {
            all.push(one(random, from));
        }
    }
    all
}

const PORT: u16 = 80;
/// Where nobody listens.
const CLOSED_PORT: u16 = 81;
const SECOND: u64 = 1_000_000;
const MTU_MIN_V6: usize = 1_280;
