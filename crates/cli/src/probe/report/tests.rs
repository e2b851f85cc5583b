use std::io::Write;

use portolan_probe::Reason;

use super::{
    sample::{STARTED_MS, Shared, findings, open, start, summary, written},
    *,
};

#[test]
fn verdicts_are_counted() {
    let mut verdicts = Verdicts::default();
    assert!(!verdicts.all_open());
    verdicts.add(Verdict::Open);
    assert!(verdicts.all_open());
    for verdict in [
        Verdict::Closed,
        Verdict::Filtered,
        Verdict::Unreachable(Reason::Host),
        Verdict::Error(1),
        Verdict::Open,
    ] {
        verdicts.add(verdict);
    }
    let expected = Verdicts { open: 2, closed: 1, filtered: 1, unreachable: 1, error: 1 };
    assert_eq!((verdicts, verdicts.total(), verdicts.all_open()), (expected, 6, false));
}

#[test]
fn several_formats_are_written_at_once() {
    let formats = [Format::Text, Format::Json, Format::Grepable, Format::Xml];
    let outs = formats.map(|_| Shared::default());
    let sinks = formats.iter().zip(&outs).map(|(&format, out)| Sink::new(format, out.clone()));
    let mut report = Report::new(sinks.collect());
    let findings = findings();
    report.begin(&start(12)).expect("written");
    for (at_ms, &(finding, name)) in (STARTED_MS..).zip(&findings) {
        report.finding(&Found { finding, name, at_ms }).expect("written");
    }
    report.end(&summary(&findings)).expect("written");
    for (format, out) in formats.into_iter().zip(outs) {
        let text = out.text().replace(env!("CARGO_PKG_VERSION"), "VERSION");
        assert_eq!(text, written(format, Shown::Usual, (12, 12), &findings));
    }
}

#[test]
fn few_findings_are_handed_on_at_once_and_many_in_time() {
    let found = |at_ms| Found { finding: open("10.0.0.1:22"), name: None, at_ms };
    let lines = |out: &Shared| out.text().lines().count();
    let begun = |checks| {
        let out = Shared::default();
        let mut report = Report::new(vec![Sink::new(Format::Json, out.clone())]);
        report.begin(&start(checks)).expect("written");
        (out, report)
    };
    let (out, mut report) = begun(64);
    report.finding(&found(STARTED_MS)).expect("written");
    assert_eq!(lines(&out), 1);

    let (out, mut report) = begun(65);
    report.finding(&found(STARTED_MS + 1)).expect("written");
    assert_eq!(lines(&out), 0);
    report.finding(&found(STARTED_MS + 200)).expect("written");
    assert_eq!(lines(&out), 2);
    report.finding(&found(STARTED_MS + 201)).expect("written");
    report.flush().expect("written");
    assert_eq!(lines(&out), 3);
}

#[test]
fn what_cannot_be_written_is_an_error_and_comes_once() {
    struct Broken;
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut report = Report::new(vec![Sink::new(Format::Json, Broken)]);
    report.begin(&start(1)).expect("nothing to write");
    let found = Found { finding: open("10.0.0.1:22"), name: None, at_ms: STARTED_MS };
    let error = report.finding(&found).expect_err("broken");
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    report.flush().expect("nothing is left");
}
