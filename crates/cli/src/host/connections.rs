//! The connections of the host, one by one, for who asks by SIGUSR1.

use std::{fmt::Write, net::SocketAddr, time::Duration};

use portolan_host::stack::tcp::{Flow, Info};
use serde_json::{Value, json};

/// Lines of a table; what is beyond is counted.
const LINES_MAX: usize = 100;

/// Those that take the most memory first.
pub fn sorted(mut infos: Vec<Info>) -> Vec<Info> {
    infos.sort_by_key(|info| {
        let Flow { remote, remote_port, local_port, .. } = info.flow;
        (u64::MAX - buffered(info), remote, remote_port, local_port)
    });
    infos
}

fn buffered(info: &Info) -> u64 {
    u64::from(info.unacknowledged) + u64::from(info.unread)
}

/// For people.
pub fn table(infos: &[Info]) -> String {
    let bytes: u64 = infos.iter().map(buffered).sum();
    let mut out = format!("{} connections, {bytes} bytes in their buffers", infos.len());
    if !infos.is_empty() {
        line(
            &mut out,
            &[
                "STATE", "LOCAL", "REMOTE", "UNACKED", "UNREAD", "CWND", "WINDOW", "RTT", "RTO",
                "TROUBLE",
            ]
            .map(str::to_owned),
        );
    }
    for info in infos.iter().take(LINES_MAX) {
        let (local, remote) = ends(info);
        line(
            &mut out,
            &[
                info.state.to_string(),
                local.to_string(),
                remote.to_string(),
                info.unacknowledged.to_string(),
                info.unread.to_string(),
                info.congestion_window.to_string(),
                info.window.to_string(),
                info.round_trip.map_or_else(|| "-".to_owned(), millis),
                millis(info.retransmission_timeout),
                trouble(info).unwrap_or_default(),
            ],
        );
    }
    if let Some(more @ 1..) = infos.len().checked_sub(LINES_MAX) {
        let _ = write!(out, "\n... and {more} more: --json has all");
    }
    out
}

fn line(out: &mut String, [state, local, remote, numbers @ .., trouble]: &[String; 10]) {
    // Writing to a string does not fail.
    let _ = write!(out, "\n{state:<12} {local:<21} {remote:<21}");
    for number in numbers {
        let _ = write!(out, " {number:>8}");
    }
    if !trouble.is_empty() {
        let _ = write!(out, "  {trouble}");
    }
}

/// One, as programs read it (docs/formats/host.md).
pub fn record(info: &Info) -> Value {
    let (local, remote) = ends(info);
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    json!({
        "version": super::record::VERSION,
        "type": "host_connection",
        "state": info.state.to_string(),
        "local": local,
        "remote": remote,
        "unacknowledged": info.unacknowledged,
        "unread": info.unread,
        "congestion_window": info.congestion_window,
        "window": info.window,
        "segment_bytes": info.segment_len,
        "round_trip_us": info.round_trip.map(micros),
        "retransmission_timeout_us": micros(info.retransmission_timeout),
        "trouble": trouble(info),
    })
}

fn ends(info: &Info) -> (SocketAddr, SocketAddr) {
    let Flow { local, remote, local_port, remote_port } = info.flow;
    (SocketAddr::new(local, local_port), SocketAddr::new(remote, remote_port))
}

/// What it ended by, or what is wrong at present.
fn trouble(info: &Info) -> Option<String> {
    let reason = info.reason.map(|reason| reason.to_string());
    reason.or_else(|| info.trouble.map(|trouble| trouble.to_string()))
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests;
