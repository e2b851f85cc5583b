//! Which method each job will use here.

use portolan_flow::Transport;
use portolan_sockets::{Method, MethodName, Owners, Place, Query, open, places};
use portolan_sys::{
    capabilities::{self, CapabilitySet},
    user,
};

use super::{Finding, Status};

/// The jobs and their methods, the best first.
pub fn find() -> Vec<Finding> {
    let mut findings = sockets();
    findings.push(owners());
    findings.push(namespaces());
    findings.push(map(&findings));
    findings
}

/// Whether every job that needs a method has one.
pub fn all_can_be_done(findings: &[Finding]) -> bool {
    ["sockets", "map"].iter().all(|job| {
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
        MethodName::Diag => {
            "load the modules (modprobe tcp_diag udp_diag), or allow AF_NETLINK in the sandbox; \
             procfs is used instead"
        }
        MethodName::Procfs => "mount /proc",
    }
}

fn owners() -> Finding {
    let topic = "owners";
    let mut owners = Owners::new();
    if let Err(error) = owners.walk() {
        return Finding::new(topic, "procfs", Status::Refused, error.to_string())
            .advise("mount /proc; sockets are shown by user until then");
    }
    let found = format!("/proc/PID/fd: {} sockets have a visible process", owners.len());
    match owners.hidden_processes() {
        0 => Finding::new(topic, "procfs", Status::Ok, found),
        hidden => Finding::new(
            topic,
            "procfs",
            Status::Limited,
            format!("{found}; processes that may not be looked into: {hidden}"),
        )
        .advise(to_see_more("CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH")),
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
        .advise(to_see_more("CAP_SYS_ADMIN and CAP_SYS_PTRACE"))
}

/// What to do about processes that may not be looked into.
fn to_see_more(capabilities: &str) -> String {
    if user::is_root() {
        "not even root may: they are protected, or belong to an outer container".to_owned()
    } else {
        format!("run as root, or grant {capabilities}")
    }
}

fn map(findings: &[Finding]) -> Finding {
    let used =
        findings.iter().find(|finding| finding.topic == "sockets" && finding.status == Status::Ok);
    match used {
        Some(used) => Finding::new(
            "map",
            "snapshot",
            Status::Ok,
            format!(
                "polls the sockets ({}); a connection that comes and goes between two readings \
                 shows only while it is in TIME-WAIT",
                used.name
            ),
        ),
        None => Finding::new("map", "snapshot", Status::Refused, "sockets cannot be listed")
            .advise("see sockets above"),
    }
}
