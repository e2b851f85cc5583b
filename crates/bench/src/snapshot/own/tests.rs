use portolan_sockets::MethodName;

use super::*;
use crate::ReadingCost;

fn own(report: &str, depth: Depth, repeat: u32) -> Own {
    let program = Program::new("/bin/sh", ["-c", &format!("echo '{report}'"), "sh"]);
    let read = Read { method: Some(MethodName::Diag), depth, repeat };
    Own { name: "own", about: "echoes a report", program, read }
}

fn report(rows: u64, owned: Option<u64>, connections: Option<u64>) -> String {
    let readings = vec![
        ReadingCost { wall_us: 9_000, cpu_us: 8_000 },
        ReadingCost { wall_us: 100, cpu_us: 50 },
        ReadingCost { wall_us: 300, cpu_us: 150 },
    ];
    let report = ReadReport { rows, owned, connections, edges: connections, readings };
    serde_json::to_string(&report).unwrap()
}

#[test]
fn a_whole_reading_is_measured_from_outside() {
    let mut own = own(&report(12, Some(10), Some(5)), Depth::Map, 1);
    let sample = own.run(10, Purpose::Timed).unwrap();
    assert_eq!(sample.rows, Some(12));
    assert!(sample.user.is_some());
}

#[test]
fn a_steady_poll_is_the_mean_of_all_readings_but_the_first() {
    let mut own = own(&report(12, Some(10), Some(5)), Depth::Map, 3);
    let sample = own.run(10, Purpose::Timed).unwrap();
    assert_eq!((sample.wall.as_micros(), sample.cpu.as_micros()), (200, 100));
    assert_eq!((sample.user, sample.system), (None, None));
}

#[test]
fn what_cannot_be_right_is_wrong() {
    for (report, depth) in [
        (report(9, None, None), Depth::List),
        (report(12, Some(9), None), Depth::Owners),
        (report(12, None, None), Depth::Owners),
        (report(12, Some(10), Some(4)), Depth::Map),
        ("{\"rows\":".to_owned(), Depth::List),
    ] {
        let fault = own(&report, depth, 1).run(10, Purpose::Timed).unwrap_err();
        assert!(matches!(fault, Fault::Wrong(_)), "{report}: {fault:?}");
    }
    assert!(own(&report(10, None, None), Depth::List, 1).run(10, Purpose::Timed).is_ok());
}
