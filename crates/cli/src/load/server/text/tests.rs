use super::*;

fn vector() -> ServerSummary {
    let vector = include_str!("../../../../../load/tests/server-v1.json");
    serde_json::from_str(vector).unwrap()
}

#[test]
fn people_see_each_port_that_was_used() {
    let text = summary(&vector());
    let head = "3 ports for 1.500 s; CPU time 0.009 s of 2 threads\nall: 99 accepted, 98 closed";
    assert!(text.starts_with(head), "{text}");
    assert!(text.contains("\n127.0.0.1:9000: 50 accepted") && !text.contains(":9002"), "{text}");
    assert!(text.contains("; 1 reset; 1 truncated; 2 not served\n"), "{text}");
    assert!(!text.contains("datagrams") && !text.contains("malformed"), "{text}");
}

#[test]
fn people_see_rates_and_a_thread_without_time() {
    let text = |busiest_cpu_us| {
        interval(&ServerInterval {
            version: 1,
            kind: String::new(),
            nth: 3,
            begin_seconds: 3.0,
            seconds: 2.0,
            open: 64,
            cpu_us: 2_000_000,
            busiest_cpu_us,
            total: PortCounts {
                accepted: 100,
                requests: 200_001,
                bytes_received: 3_000_000,
                bytes_sent: 1_998,
                malformed: 7,
                ..PortCounts::default()
            },
        })
    };
    assert_eq!(
        text(1_800_000),
        "     5 s  64 open  50/s accepted  100001/s requests  1.5 MB/s in  999 B/s out  CPU 100 %  \
         7 malformed"
    );
    assert!(text(1_950_000).ends_with("A THREAD HAS NO TIME LEFT"));
}
