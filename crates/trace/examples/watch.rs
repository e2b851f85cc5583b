use std::time::Duration;
fn main() {
    let method = match std::env::args().nth(1).as_deref() {
        Some("stream") => portolan_trace::MethodName::Stream,
        Some("aggregate") => portolan_trace::MethodName::Aggregate,
        _ => portolan_trace::MethodName::Bundle,
    };
    let n: u32 = std::env::args().nth(2).and_then(|n| n.parse().ok()).unwrap_or(5);
    let t = std::time::Instant::now();
    let mut tracer =
        portolan_trace::Tracer::open(portolan_trace::TraceOptions { method, ..Default::default() })
            .unwrap_or_else(|e| panic!("{e}"));
    eprintln!("open {:?} {}", t.elapsed(), tracer.describe());
    for _ in 0..n {
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(50));
            tracer.relieve().unwrap();
        }
        let t = std::time::Instant::now();
        let r = tracer.read().unwrap();
        println!(
            "--- read {:?} halves {} losses {:?} overflow {:?}",
            t.elapsed(),
            r.flows.len(),
            r.losses.by_reason().iter().filter(|x| x.1 > 0).collect::<Vec<_>>(),
            r.overflow.opened
        );
        for f in portolan_flow::fold(r.flows).iter().take(12) {
            let t = f.traffic.as_ref().unwrap();
            println!(
                "{} {:?} -> {} {:?} :{} conns {} opened {}/{} closed {} failed {} bytes {}/{} p {}/{} rtt {:?} retr {} dur {}",
                f.client.address,
                f.client.owner.process().map(|p| &p.name),
                f.server.address,
                f.server.owner.process().map(|p| &p.name),
                f.server_port,
                f.connections(),
                t.active.opened,
                t.passive.opened,
                t.active.closed,
                t.active.failed(),
                t.active.bytes_sent,
                t.active.bytes_received,
                t.passive.bytes_sent,
                t.passive.bytes_received,
                t.rtt_us(),
                t.retransmits(),
                t.active.duration_us_sum.checked_div(t.active.closed).unwrap_or(0)
            );
        }
    }
}
