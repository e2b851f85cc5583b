use std::sync::Arc;

use super::*;
use crate::{
    Counters, Namespace, Owner, Pids, Process, Totals,
    generators::{ip, process},
};

/// The test vector of `docs/formats/flow.md`: a list of records of version 1.
const VECTOR: &str = include_str!("../../tests/record-v1.json");

/// The same of records whose method counts traffic.
const TRAFFIC_VECTOR: &str = include_str!("../../tests/record-v1-traffic.json");

const TRAFFIC_FIELDS: [&str; 15] = [
    "traffic_ms",
    "opened",
    "closed",
    "resets",
    "refused",
    "timed_out",
    "unreachable",
    "abandoned",
    "bytes_to_server",
    "bytes_to_client",
    "datagrams_to_server",
    "datagrams_to_client",
    "retransmits",
    "rtt_us",
    "duration_us",
];

fn complete() -> Flow {
    let mut client_pids = Pids::of(991);
    client_pids.insert(990);
    Flow {
        transport: Transport::Tcp,
        server_port: 5432,
        client: End {
            namespace: Some(Namespace::new("netns:blue")),
            owner: Owner::Process(Arc::new(Process {
                name: "gunicorn".to_owned(),
                unit: None,
                container: Some("4f1c".repeat(16)),
            })),
            pids: client_pids,
            ..End::unobserved(ip("10.0.0.1"))
        },
        server: End {
            namespace: Some(Namespace::new(Namespace::HOST)),
            owner: Owner::Process(Arc::new(Process {
                name: "postgres".to_owned(),
                unit: Some("postgresql@15-main.service".to_owned()),
                container: None,
            })),
            pids: Pids::of(812),
            ..End::unobserved(ip("10.0.0.2"))
        },
        active: Counters { connections: 3, opening: 1, time_wait: 2 },
        passive: Counters { connections: 4, opening: 0, time_wait: 5 },
        traffic: None,
        guessed: false,
    }
}

fn sparse() -> Flow {
    Flow {
        transport: Transport::Udp,
        server_port: 40404,
        client: End {
            namespace: Some(Namespace::new("netns:4026532008")),
            owner: Owner::Hidden { uid: 1000 },
            ..End::unobserved(ip("2001:db8::1"))
        },
        server: End::unobserved(ip("2001:db8::2")),
        active: Counters { connections: 1, ..Counters::default() },
        passive: Counters::default(),
        traffic: None,
        guessed: true,
    }
}

fn from_history() -> Flow {
    Flow {
        transport: Transport::Tcp,
        server_port: 443,
        client: End { owner: process("curl"), ..End::unobserved(ip("192.0.2.1")) },
        server: End::unobserved(ip("192.0.2.2")),
        active: Counters::default(),
        passive: Counters::default(),
        traffic: None,
        guessed: false,
    }
}

/// What went over [`complete`], as both ends counted it.
fn busy() -> Flow {
    let active = Totals {
        opened: 120,
        closed: 118,
        resets: 2,
        refused: 5,
        timed_out: 1,
        unreachable: 3,
        abandoned: 4,
        bytes_sent: 48_000,
        bytes_received: 1_200_000,
        retransmits: 2,
        rtt_us_sum: 44_800,
        rtt_samples: 112,
        duration_us_sum: 1_180_000,
        ..Totals::default()
    };
    let passive = Totals {
        opened: 119,
        closed: 117,
        bytes_sent: 1_250_000,
        bytes_received: 47_000,
        retransmits: 9,
        rtt_us_sum: 1,
        rtt_samples: 1,
        duration_us_sum: 1,
        ..Totals::default()
    };
    let traffic = Traffic { span_ms: 1_000, active, passive };
    Flow { traffic: Some(Box::new(traffic)), ..complete() }
}

/// Datagrams that came and went; nothing of it is connected.
fn datagrams() -> Flow {
    let active = Totals {
        bytes_sent: 64,
        bytes_received: 512,
        datagrams_sent: 2,
        datagrams_received: 1,
        ..Totals::default()
    };
    let traffic = Traffic { span_ms: 500, active, passive: Totals::default() };
    let traffic = Some(Box::new(traffic));
    Flow { active: Counters::default(), traffic, ..sparse() }
}

fn busy_records() -> Vec<Record> {
    [busy(), datagrams()].iter().map(Record::from).collect()
}

fn records() -> Vec<Record> {
    [complete(), sparse(), from_history()].iter().map(Record::from).collect()
}

#[test]
fn the_vector_is_what_is_written() {
    let written = serde_json::to_string_pretty(&records()).expect("records are JSON");
    assert_eq!(written, VECTOR.trim_end());
    let written = serde_json::to_string_pretty(&busy_records()).expect("records are JSON");
    assert_eq!(written, TRAFFIC_VECTOR.trim_end());
}

#[test]
fn the_vector_is_what_is_read() {
    let read: Vec<Record> = serde_json::from_str(VECTOR).expect("the vector is valid");
    assert_eq!(read, records());
    let read: Vec<Record> = serde_json::from_str(TRAFFIC_VECTOR).expect("the vector is valid");
    assert_eq!(read, busy_records());
}

#[test]
fn what_is_not_counted_is_left_out() {
    let has_traffic = |record: &Record| {
        let value = serde_json::to_value(record).expect("a record is JSON");
        let fields = value.as_object().expect("an object").clone();
        TRAFFIC_FIELDS.map(|field| fields.contains_key(field))
    };
    assert_eq!(has_traffic(&Record::from(&complete())), [false; 15]);
    assert_eq!(has_traffic(&Record::from(&busy())), [true; 15]);
    // Datagrams have no round-trip time, and nothing ended.
    let [.., rtt, duration] = has_traffic(&Record::from(&datagrams()));
    assert_eq!((rtt, duration), (false, false));
}

#[test]
fn every_field_is_described() {
    let format = include_str!("../../../../docs/formats/flow.md");
    let vector: serde_json::Value =
        serde_json::from_str(TRAFFIC_VECTOR).expect("the vector is valid");
    for field in vector[0].as_object().expect("an object").keys() {
        assert!(format.contains(&format!("`{field}`")), "{field} is not in docs/formats/flow.md");
    }
}

#[test]
fn a_reader_ignores_fields_that_it_does_not_know() {
    let mut value = serde_json::to_value(&records()[0]).expect("a record is JSON");
    value["first_seen_ms"] = 1.into();
    let read: Record = serde_json::from_value(value).expect("a later version is readable");
    assert_eq!(read, records()[0]);
}

#[test]
fn a_record_that_lacks_a_field_or_has_nonsense_in_it_is_refused() {
    let value = serde_json::to_value(&records()[0]).expect("a record is JSON");
    let with = |field: &str, new: serde_json::Value| {
        let mut value = value.clone();
        value[field] = new;
        serde_json::from_value::<Record>(value)
    };
    assert!(with("server_port", 65536.into()).is_err());
    assert!(with("client_address", "localhost".into()).is_err());
    assert!(with("network_transport", "sctp".into()).is_err());
    assert!(with("connections", (-1).into()).is_err());
    assert!(with("opened", (-1).into()).is_err());
    assert!(with("rtt_us", "0.4 ms".into()).is_err());
    let mut short = value.clone();
    short.as_object_mut().expect("an object").remove("server_port");
    assert!(serde_json::from_value::<Record>(short).is_err());
}
