use portolan_host::stack::tcp::{Reason, State, Trouble};

use super::*;

fn info(remote_port: u16, unread: u32) -> Info {
    Info {
        flow: Flow {
            local: "192.0.2.1".parse().unwrap(),
            remote: "192.0.2.2".parse().unwrap(),
            local_port: 7,
            remote_port,
        },
        state: State::Established,
        reason: None,
        trouble: None,
        unacknowledged: 5,
        unread,
        urgent: None,
        congestion_window: 14_600,
        window: 65_535,
        segment_len: 1_460,
        round_trip: Some(Duration::from_micros(1_250)),
        retransmission_timeout: Duration::from_millis(200),
        sack: true,
        timestamps: true,
        scaling: true,
        ecn: false,
    }
}

#[test]
fn who_takes_the_most_memory_comes_first() {
    let infos = sorted(vec![info(1, 10), info(2, 30), info(4, 20), info(3, 20)]);
    let ports: Vec<u16> = infos.iter().map(|info| info.flow.remote_port).collect();
    assert_eq!(ports, [2, 3, 4, 1]);
}

#[test]
fn a_table_has_a_line_for_each_and_says_how_many_more_there_are() {
    let table = table(&sorted((1..=102).map(|nth| info(nth, 0)).collect()));
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "102 connections, 510 bytes in their buffers");
    assert_eq!(
        lines[2],
        "ESTABLISHED  192.0.2.1:7           192.0.2.2:1                  5        0    14600    \
         65535   1.2 ms 200.0 ms"
    );
    assert_eq!(*lines.last().unwrap(), "... and 2 more: --json has all");
    assert_eq!(lines.len(), 103);
    assert_eq!(super::table(&[]), "0 connections, 0 bytes in their buffers");
}

#[test]
fn what_is_wrong_is_said() {
    let troubled = Info { trouble: Some(Trouble::Silent), ..info(1, 0) };
    assert!(table(&[troubled]).ends_with(&Trouble::Silent.to_string()));
    let over = Info { reason: Some(Reason::Reset), state: State::Closed, ..troubled };
    assert_eq!(record(&over)["trouble"], Reason::Reset.to_string());
}

#[test]
fn a_record_is_as_the_vector_has_it() {
    let written = record(&info(40_000, 3));
    let wanted: Value =
        serde_json::from_str(include_str!("../record/vectors/host-connection-v1.jsonl")).unwrap();
    assert_eq!(written, wanted, "it would be:\n{written}");
}
