//! All that is known of the edge that is selected.

use portolan_flow::{End, Flow};
use portolan_hub::printable;

use crate::{
    print::amount::{narrow, narrow_time},
    trace::label,
};

/// So many lines at most.
pub const LINES: u16 = 9;

/// Lines about an edge.
pub fn lines(flow: &Flow) -> Vec<String> {
    let guessed = if flow.guessed { ", direction guessed" } else { "" };
    let mut lines = vec![
        format!("client  {}", end(&flow.client)),
        format!("server  {}", end(&flow.server)),
        format!("port    {}, seen from {}{guessed}", label::port(flow), seen_from(flow)),
        format!("now     {} up, {} opening", flow.connections(), flow.opening()),
    ];
    if let Some(traffic) = &flow.traffic {
        let once = traffic.counted_once().active;
        let or_none = |us: Option<u64>| us.map_or("-".to_owned(), narrow_time);
        lines.push(format!(
            "in {}   {} opened, {} closed after {} in the mean, {} by a reset",
            narrow_time(traffic.span_ms.saturating_mul(1000)),
            once.opened,
            once.closed,
            or_none(once.duration_us_sum.checked_div(once.closed)),
            once.resets
        ));
        lines.push(format!(
            "failed  {} refused, {} timed out, {} unreachable, {} abandoned",
            once.refused, once.timed_out, once.unreachable, once.abandoned
        ));
        #[expect(clippy::cast_precision_loss, reason = "numbers for people")]
        let short = |count: u64| narrow(count as f64);
        lines.push(format!(
            "bytes   {} to the server, {} to the client; datagrams {} and {}",
            short(once.bytes_sent),
            short(once.bytes_received),
            once.datagrams_sent,
            once.datagrams_received
        ));
        lines.push(format!(
            "path    round trip {}, {} retransmits",
            or_none(once.rtt_us()),
            once.retransmits
        ));
    }
    lines
}

fn seen_from(flow: &Flow) -> &'static str {
    match flow.side() {
        "both" => "both ends",
        "active" => "the client's end",
        "passive" => "the server's end",
        _ => "no end",
    }
}

fn end(end: &End) -> String {
    let mut parts = vec![label::end(end)];
    if let Some(process) = end.owner.process() {
        let pids: Vec<String> = end.pids.as_slice().iter().map(ToString::to_string).collect();
        if !pids.is_empty() {
            let more = if end.pids.has_more() { " ..." } else { "" };
            parts.push(format!("pid {}{more}", pids.join(" ")));
        }
        parts.extend(process.unit.as_ref().map(|unit| format!("unit {}", printable(unit))));
        parts.extend(process.container.as_ref().map(|id| format!("container {}", printable(id))));
    }
    parts.join(", ")
}
