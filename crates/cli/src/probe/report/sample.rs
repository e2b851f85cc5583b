//! A small sweep for tests, with everything in it that a format has to show.

use std::{
    io::{self, Write},
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use portolan_probe::{Counts, Evidence, Finding, MethodName, Noise, Reason, Verdict};

use super::{Format, Found, Report, Shown, Sink, Start, Summary, Verdicts};

/// When it began: Sat Nov 21 14:58:43 2026.
pub const STARTED_MS: u64 = 1_795_273_123_456;

/// A name as nobody should have it.
pub const HOSTILE: &str = "a\"><b>&'\n\t\0\u{1b}[2J(x)/open/, Ports:\u{202e}\u{fffe}\u{2028}é";

/// A finding by the method `syn`.
pub fn finding(target: &str, verdict: Verdict, evidence: Evidence, took_us: u64) -> Finding {
    Finding {
        target: target.parse().expect("an address with a port"),
        verdict,
        evidence,
        method: MethodName::Syn,
        attempts: 1,
        took: Duration::from_micros(took_us),
    }
}

/// An open port.
pub fn open(target: &str) -> Finding {
    finding(target, Verdict::Open, Evidence::SynAck, 210)
}

/// A closed port.
pub fn closed(target: &str) -> Finding {
    finding(target, Verdict::Closed, Evidence::Reset, 1_540)
}

/// A port of which nothing came.
pub fn filtered(target: &str) -> Finding {
    let silent = finding(target, Verdict::Filtered, Evidence::Silence, 3_000_400);
    Finding { attempts: 3, ..silent }
}

/// All of the sample, in the order in which they came.
pub fn findings() -> Vec<(Finding, Option<&'static str>)> {
    let icmp = |kind, code| Evidence::Icmp { kind, code };
    let unreachable =
        |target, reason, evidence| finding(target, Verdict::Unreachable(reason), evidence, 12_340);
    let mut zoned = open("[fe80::1]:22");
    if let SocketAddr::V6(target) = &mut zoned.target {
        target.set_scope_id(2);
    }
    vec![
        (open("[2001:db8::1]:443"), None),
        (closed("10.0.0.2:80"), None),
        (open("10.0.0.10:5432"), Some("db.example")),
        (open("10.0.0.2:22"), None),
        (filtered("10.0.0.2:443"), None),
        (unreachable("10.0.0.3:22", Reason::Prohibited, icmp(3, 13)), None),
        (unreachable("10.0.0.4:22", Reason::Host, Evidence::Refusal(113)), Some(HOSTILE)),
        (open("10.0.0.5:22"), Some(HOSTILE)),
        (finding("10.0.0.6:22", Verdict::Error(13), Evidence::Refusal(13), 9), None),
        (zoned, None),
        (Finding { method: MethodName::Quiet, ..closed("10.0.0.10:4711") }, Some("www.example")),
        (filtered("10.0.0.7:22"), None),
    ]
}

/// What the sample begins with.
pub const fn start(checks: u64) -> Start<'static> {
    Start {
        command_line: "portolan probe 10.0.0.0/28 --exclude <\"me\"> --seed 1",
        started_ms: STARTED_MS,
        method: MethodName::Syn,
        checks,
        addresses: 10,
        ports: &[22, 23, 24, 80, 443, 4711, 5432],
    }
}

/// What comes of it.
pub fn summary(findings: &[(Finding, Option<&str>)]) -> Summary {
    let mut verdicts = Verdicts::default();
    findings.iter().for_each(|(finding, _)| verdicts.add(finding.verdict));
    Summary {
        verdicts,
        counts: Counts {
            asked: 1_259,
            answered: 996,
            duplicates: 2,
            attributed: 996,
            asked_of_attributed: 1_000,
        },
        noise: Noise { forged: 3, ..Noise::default() },
        took: Duration::from_micros(3_012_345),
        ended_ms: STARTED_MS + 3_012,
        is_complete: true,
    }
}

/// What a report writes that was told it has so many checks, and holds up to so many. The program's
/// version is left out of it.
pub fn written(
    format: Format,
    shown: Shown,
    (checks, together_max): (u64, u64),
    findings: &[(Finding, Option<&str>)],
) -> String {
    let shared = Shared::default();
    let mut report = Report::new(vec![Sink::new(format, shared.clone())])
        .show(shown)
        .together_up_to(together_max);
    report.begin(&start(checks)).expect("written");
    for (at_ms, &(finding, name)) in (STARTED_MS..).zip(findings) {
        report.finding(&Found { finding, name, at_ms }).expect("written");
    }
    report.end(&summary(findings)).expect("written");
    shared.text().replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

/// Many ports of one host.
pub fn ports(host: Ipv4Addr, ports: impl Iterator<Item = u16>) -> impl Iterator<Item = String> {
    ports.map(move |port| format!("{host}:{port}"))
}

/// Bytes that a sink wrote.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    /// All of them.
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        String::from_utf8(bytes).expect("UTF-8")
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
