use std::sync::Arc;

use super::*;
use crate::{
    Counters, Namespace, Owner, Pids, Process,
    generators::{ip, process},
};

/// The test vector of `docs/formats/flow.md`: a list of records of version 1.
const VECTOR: &str = include_str!("../../tests/record-v1.json");

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

fn records() -> Vec<Record> {
    [complete(), sparse(), from_history()].iter().map(Record::from).collect()
}

#[test]
fn the_vector_is_what_is_written() {
    let written = serde_json::to_string_pretty(&records()).expect("records are JSON");
    assert_eq!(written, VECTOR.trim_end());
}

#[test]
fn the_vector_is_what_is_read() {
    let read: Vec<Record> = serde_json::from_str(VECTOR).expect("the vector is valid");
    assert_eq!(read, records());
}

#[test]
fn every_field_is_described() {
    let format = include_str!("../../../../docs/formats/flow.md");
    let vector: serde_json::Value = serde_json::from_str(VECTOR).expect("the vector is valid");
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
    let mut short = value.clone();
    short.as_object_mut().expect("an object").remove("server_port");
    assert!(serde_json::from_value::<Record>(short).is_err());
}
