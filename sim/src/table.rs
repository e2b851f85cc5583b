//! How much gets through, over loss, round-trip time, bandwidth and congestion control.

use std::fmt::Write;

use crate::{
    host::Setup,
    link::Settings,
    scenario::{Connection, Scenario, Script, Service},
    world::{self, Outcome},
};

/// The table as text: a line for each combination, in percent of what the link carries.
///
/// Each cell is one transfer of 10 seconds' worth of data, at most 4 MB, over a link whose queue
/// holds one bandwidth-delay product. All is decided by a seed, so that the table changes only if
/// the stack or the simulator does.
#[must_use]
pub fn table() -> String {
    let mut text = String::from(HEAD);
    for (rate_name, rate) in RATES {
        for rtt_ms in RTTS_MS {
            let _ = write!(text, "{rate_name:>9} {rtt_ms:>6} ms");
            for newreno in [true, false] {
                for (_, loss_ppm) in LOSSES {
                    let _ = write!(text, " {:>6}", cell(rate, rtt_ms, loss_ppm, newreno));
                }
                text.push_str(if newreno { " |" } else { "\n" });
            }
        }
    }
    text
}

/// In percent with one decimal, or what went wrong.
fn cell(rate: u64, rtt_ms: u64, loss_ppm: u32, newreno: bool) -> String {
    let bytes = (rate * SECONDS).min(BYTES_MAX);
    let outcome = world::run(&scenario(rate, rtt_ms, loss_ppm, newreno, bytes));
    if let Some(violation) = outcome.violation {
        return violation.rule.to_owned();
    }
    let per_mille = per_mille(&outcome, bytes, rate);
    format!("{}.{}", per_mille / 10, per_mille % 10)
}

/// Of the time that the bytes would take at least, over the time that they took.
fn per_mille(outcome: &Outcome, bytes: u64, rate: u64) -> u128 {
    let least_us = u128::from(bytes) * 1_000_000 / u128::from(rate);
    let took_us = outcome.transferred.as_micros().max(1);
    least_us * 1_000 / took_us
}

fn scenario(rate: u64, rtt_ms: u64, loss_ppm: u32, newreno: bool, bytes: u64) -> Scenario {
    let link = Settings {
        delay_us: rtt_ms * 500,
        rate_bytes: rate,
        queue_bytes: (rate * rtt_ms / 1_000).max(15_000),
        ..Settings::default()
    };
    let host = Setup {
        newreno,
        send_bytes: BUFFER_BYTES,
        receive_bytes: BUFFER_BYTES,
        ..Setup::default()
    };
    let transfer = Script { bytes, ..Script::default() };
    Scenario {
        seed: 1,
        hosts: [host.clone(), host],
        links: [Settings { loss_ppm, ..link.clone() }, link],
        // The loss does not end before the transfer does.
        calm_us: 100_000_000_000,
        services: vec![Service { host: 1, port: 80, backlog: 128, accept_every_us: 0 }],
        connections: vec![Connection {
            at_us: 0,
            from: 0,
            port: 80,
            simultaneous_us: None,
            after: None,
            active: transfer,
            passive: Script { in_place: true, ..Script::default() },
        }],
        ..Scenario::default()
    }
}

const HEAD: &str = "\
# Throughput of one connection, in percent of what the link carries, from SYN to the last byte read.
# Data takes 10 s of the link, at most 4 MB; random loss on the way of the data; a queue of one
# bandwidth-delay product; both ends with buffers of 4 MB, SACK and timestamps.
# Made by: cargo run -p portolan-sim -- table --write
#                   | NewReno, loss of                   | CUBIC, loss of
#  bandwidth       RTT   none  0.01%   0.1%     1%     5% |   none  0.01%   0.1%     1%     5%
";
/// Names and bytes a second.
const RATES: [(&str, u64); 3] =
    [("1 Mbit/s", 125_000), ("10 Mbit/s", 1_250_000), ("100 Mbit/s", 12_500_000)];
const RTTS_MS: [u64; 4] = [2, 20, 100, 300];
const LOSSES: [(&str, u32); 5] =
    [("none", 0), ("0.01%", 100), ("0.1%", 1_000), ("1%", 10_000), ("5%", 50_000)];
const SECONDS: u64 = 10;
const BYTES_MAX: u64 = 4_000_000;
const BUFFER_BYTES: usize = 4_000_000;
