//! Which method each job will use here.

mod nic;
mod trace;

use portolan_flow::Transport;
use portolan_probe as probe;
use portolan_sockets::{
    Hidden, Method, MethodName, Owners, Place, Query, Snapshot, SnapshotOptions, Source, Wish,
    choose, hidden_processes, open, places,
};
use portolan_sys::capabilities::{self, CapabilitySet};

use super::{Finding, Status};

/// The jobs and their methods, the best first.
pub fn find() -> Vec<Finding> {
    let mut findings = sockets();
    findings.push(automatic());
    findings.extend(owners());
    findings.push(namespaces());
    findings.push(map(&findings));
    findings.extend(trace::find());
    findings.extend(probes());
    findings.extend(nic::find());
    findings
}

/// Whether every job that needs a method has one.
pub fn all_can_be_done(findings: &[Finding]) -> bool {
    ["sockets", "map", "trace", "probe"].iter().all(|job| {
        findings.iter().any(|finding| finding.topic == *job && finding.status == Status::Ok)
    })
}

fn sockets() -> Vec<Finding> {
    let mut chosen = false;
    let mut findings = Vec::new();
    for method in MethodName::ALL {
        let tried = open(method, &Place::here()).and_then(|mut reader| count(reader.as_mut()));
        findings.push(match tried {
            Ok(rows) => {
                let status = if chosen { Status::Available } else { Status::Ok };
                chosen = true;
                let detail = format!("{}: lists {rows} sockets", method.describe());
                Finding::new("sockets", method.name(), status, detail)
            }
            Err(error) => {
                Finding::new("sockets", method.name(), Status::Refused, error.to_string())
                    .advise(advice_for(method))
            }
        });
    }
    findings
}

fn count(reader: &mut dyn Method) -> Result<u64, portolan_sockets::Error> {
    let tcp = reader.read(&Query::all(Transport::Tcp), &mut |_| {})?;
    let udp = reader.read(&Query::all(Transport::Udp), &mut |_| {})?;
    Ok(tcp.rows + udp.rows)
}

fn advice_for(method: MethodName) -> &'static str {
    match method {
        MethodName::Walk => {
            "run as root, or grant CAP_BPF and CAP_PERFMON, on Linux 6.2 or newer; \
             diag is used instead"
        }
        MethodName::Diag => {
            "load the modules (modprobe tcp_diag udp_diag), or allow AF_NETLINK in the sandbox; \
             procfs is used instead"
        }
        MethodName::Iter => {
            "run as root, or grant CAP_BPF and CAP_PERFMON, on Linux 5.15 or newer; \
             diag is used instead"
        }
        MethodName::Procfs => "mount /proc",
    }
}

/// The ways to ask whether a port is open, in the order in which they are tried; those that nobody
/// has to fall back to are not.
fn probes() -> Vec<Finding> {
    let asking = [
        (probe::MethodName::Syn, "own segments: three packets, fastest"),
        (probe::MethodName::Quiet, "handshakes that are reset before the server accepts"),
    ];
    let mut chosen = false;
    let mut findings = Vec::new();
    for (method, what) in asking {
        findings.push(match probe::open(method, probe::SynSettings::default()) {
            Ok(_) => {
                let status = if chosen { Status::Available } else { Status::Ok };
                chosen = true;
                Finding::new("probe", method.name(), status, what)
            }
            Err(error) => {
                let refused = error.to_string();
                Finding::new("probe", method.name(), Status::Refused, refused).advise(
                    match method {
                        probe::MethodName::Syn => {
                            "run as root, or grant CAP_NET_RAW; quiet is used instead"
                        }
                        _ => "raise the limit of descriptors (ulimit -n)",
                    },
                )
            }
        });
    }
    findings
}

/// What is taken where no method is named, and why not a faster one.
fn automatic() -> Finding {
    let query = Query::all(Transport::Tcp);
    let describe = |again| {
        let choice = choose(&Wish { query: &query, owners: false, again })?;
        let reasons = choice.passed_over.iter().map(|(method, why)| format!("not {method}: {why}"));
        let reasons: Vec<String> = reasons.collect();
        Ok(match &reasons[..] {
            [] => choice.method.to_string(),
            _ => format!("{} ({})", choice.method, reasons.join("; ")),
        })
    };
    let both = describe(false).and_then(|once| Ok((once, describe(true)?)));
    match both {
        Ok((once, again)) => Finding::new(
            "sockets",
            "auto",
            Status::Ok,
            format!("to list all TCP sockets now: {once}; for the map: {again}"),
        ),
        Err(error) => {
            let error: portolan_sockets::Error = error;
            Finding::new("sockets", "auto", Status::Refused, error.to_string())
                .advise("see the methods above")
        }
    }
}

/// How holders are found, the fastest way first.
fn owners() -> Vec<Finding> {
    let mut chosen = false;
    Source::ALL
        .into_iter()
        .map(|source| {
            let finding = owners_by(source, chosen);
            chosen |= finding.status != Status::Refused;
            finding
        })
        .collect()
}

fn owners_by(source: Source, available_only: bool) -> Finding {
    let (topic, name) = ("owners", source.name());
    let mut owners = Owners::from(source);
    if let Err(error) = owners.walk() {
        let finding = Finding::new(topic, name, Status::Refused, error.to_string());
        return match source {
            Source::Procfs => finding.advise("mount /proc; sockets are shown by user until then"),
            Source::Walk | Source::Iter => finding.advise("the next one is used instead"),
        };
    }
    let found = format!("{}: {} sockets have a visible process", source.describe(), owners.len());
    match owners.hidden_processes() {
        0 if available_only => Finding::new(topic, name, Status::Available, found),
        0 => Finding::new(topic, name, Status::Ok, found),
        hidden => {
            let detail = format!("{found}; {}", hidden_processes(hidden));
            let status = if available_only { Status::Available } else { Status::Limited };
            Finding::new(topic, name, status, detail).advise(Hidden::Sockets.advice())
        }
    }
}

fn namespaces() -> Finding {
    let topic = "namespaces";
    let found = match places() {
        Ok(found) => found,
        Err(error) => {
            return Finding::new(topic, "setns", Status::Refused, error.to_string())
                .advise("mount /proc; only the own network namespace is shown until then");
        }
    };
    let detail = format!("{} network namespaces are visible", found.places.len());
    let may_enter = capabilities::has(CapabilitySet::SYS_ADMIN);
    if may_enter && found.hidden_processes == 0 {
        return Finding::new(topic, "setns", Status::Ok, detail);
    }
    let reason = if may_enter {
        format!("; processes that do not show theirs: {}", found.hidden_processes)
    } else {
        ", and only the own one can be entered".to_owned()
    };
    Finding::new(topic, "setns", Status::Limited, detail + &reason)
        .advise(Hidden::Namespaces.advice())
}

fn map(findings: &[Finding]) -> Finding {
    if !findings.iter().any(|it| it.topic == "sockets" && it.status == Status::Ok) {
        return Finding::new("map", "snapshot", Status::Refused, "sockets cannot be listed")
            .advise("see sockets above");
    }
    let options = SnapshotOptions { method: None, own_namespace_only: true, again: true };
    let how = match Snapshot::open(options) {
        Ok(snapshot) => match (snapshot.choice(), snapshot.unfollowed()) {
            (Some(choice), Some(reason)) => {
                format!("polls the sockets ({}; not events: {reason})", choice.method)
            }
            (Some(choice), None) => format!("polls the sockets ({})", choice.method),
            (None, _) => "follows the sockets by the kernel's events".to_owned(),
        },
        Err(error) => {
            return Finding::new("map", "snapshot", Status::Refused, error.to_string())
                .advise("see sockets above");
        }
    };
    let gap = "a connection that comes and goes between two readings shows only while it is in \
               TIME-WAIT";
    Finding::new("map", "snapshot", Status::Ok, format!("{how}; {gap}"))
}
