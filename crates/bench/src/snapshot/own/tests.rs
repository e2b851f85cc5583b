use portolan_sockets::MethodName;

use super::*;
use crate::ReadingCost;

fn own(report: &str, repeat: u32) -> Own {
    let program = Program::new("/bin/sh", ["-c", &format!("echo '{report}'"), "sh"]);
    let read = Read { method: Some(MethodName::Diag), repeat };
    Own { name: "own".to_owned(), about: "echoes a report", program, read }
}

fn report(rows: u64, owned: u64, connections: u64) -> String {
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
    let mut own = own(&report(12, 10, 5), 1);
    let sample = own.run(10, Purpose::Timed).unwrap();
    assert_eq!(sample.rows, Some(12));
    assert!(sample.user.is_some());
}

#[test]
fn a_steady_poll_is_the_mean_of_all_readings_but_the_first() {
    let mut own = own(&report(12, 10, 5), 3);
    let sample = own.run(10, Purpose::Timed).unwrap();
    assert_eq!((sample.wall.as_micros(), sample.cpu.as_micros()), (200, 100));
    assert_eq!((sample.user, sample.system), (None, None));
}

#[test]
fn what_cannot_be_right_is_wrong() {
    for report in [report(9, 10, 5), report(12, 9, 5), report(12, 10, 4), "{\"rows\":".to_owned()] {
        let fault = own(&report, 1).run(10, Purpose::Timed).unwrap_err();
        assert!(matches!(fault, Fault::Wrong(_)), "{report}: {fault:?}");
    }
    assert!(own(&report(10, 10, 5), 1).run(10, Purpose::Timed).is_ok());
    let too_few = own(&report(12, 10, 5), 4).run(10, Purpose::Timed).unwrap_err();
    assert_eq!(too_few, Fault::Wrong("3 readings, of at least 4".to_owned()));
}
