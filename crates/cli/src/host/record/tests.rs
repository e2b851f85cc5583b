use std::time::Duration;

use portolan_load::{Port, PortCounts};

use super::*;

const VECTOR: &str = include_str!("vectors/host-v1.jsonl");

fn figures() -> Figures {
    Figures {
        frames_in: 12,
        bytes_in: 1_234,
        frames_out: 11,
        bytes_out: 2_345,
        counts: vec![
            ("delivered", "arp", 1),
            ("delivered", "tcp", 10),
            ("dropped", "ip_destination", 1),
            ("dropped", "vlan", 0),
            ("tcp", "segments_received", 10),
            ("queues", "handed_over", 3),
        ],
        connections: 1,
        time_waits: 2,
        blocks: 3,
        cpu: vec![Duration::from_micros(400), Duration::from_micros(600)],
    }
}

#[test]
fn records_are_as_the_vector_has_them() {
    let total = PortCounts { accepted: 3, closed: 2, requests: 7, ..PortCounts::default() };
    let served = ServerInterval {
        version: 1,
        kind: "server_interval".to_owned(),
        nth: 4,
        begin_seconds: 4.0,
        seconds: 1.0,
        open: 1,
        cpu_us: 0,
        busiest_cpu_us: 0,
        total,
    };
    let address = "[::]:9100".parse().unwrap();
    let all = ServerSummary {
        version: 1,
        kind: "server".to_owned(),
        seconds: 5.0,
        cpu_us: 0,
        threads_cpu_us: vec![],
        total,
        ports: vec![Port { address, counts: total }],
    };
    let written = [interval(&served, &figures()), summary(&all, &figures())];
    let wanted: Vec<Value> =
        VECTOR.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text = written.each_ref().map(ToString::to_string).join("\n");
    assert_eq!(written[..], wanted[..], "it would be:\n{text}");
}

#[test]
fn what_was_counted_before_is_taken_away() {
    let (mut later, earlier) = (figures(), figures());
    later.frames_in += 5;
    later.counts[1].2 += 7;
    later.cpu[1] += Duration::from_micros(9);
    let since = later.since(&earlier);
    assert_eq!((since.frames_in, since.bytes_in, since.count("delivered", "tcp")), (5, 0, 7));
    assert_eq!(since.cpu_total(), Duration::from_micros(9));
    assert_eq!(since.connections, 1, "what there is stays");
}
