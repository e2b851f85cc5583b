//! Where tracing attaches here, and by which methods.

use portolan_sockets::{Snapshot, SnapshotOptions};
use portolan_trace::{Attach, Error, MethodName, TraceOptions, Tracer, UdpAttach};

use crate::doctor::{Finding, Status};

const NOT_TRACED: &str = "sockets are polled instead";

/// The attach points, and the methods, the best first.
pub fn find() -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut chosen = None;
    for attach in Attach::ALL {
        findings.push(match Tracer::open(without_udp(MethodName::Bundle, attach)) {
            Ok(_) => {
                let status = if chosen.is_none() { Status::Ok } else { Status::Available };
                chosen = chosen.or(Some(attach));
                Finding::new("attach", attach.name(), status, describe(attach))
            }
            Err(error) => Finding::new("attach", attach.name(), Status::Refused, one_line(&error))
                .advise(advice(&error, attach)),
        });
    }
    findings.extend(datagrams(chosen));
    findings.extend(MethodName::ALL.map(|method| by_program(method, chosen)));
    findings.push(snapshot(chosen));
    findings
}

/// Small: it is dropped at once.
fn without_udp(method: MethodName, attach: Attach) -> TraceOptions {
    TraceOptions {
        method,
        attach: Some(attach),
        edges_max: 64,
        connections: 1024,
        queue_bytes: 4096,
        udp: false,
        ..TraceOptions::default()
    }
}

/// Where UDP is seen, wherever TCP is.
fn datagrams(attach: Option<Attach>) -> Vec<Finding> {
    let Some(attach) = attach else { return Vec::new() };
    let mut is_chosen = false;
    let mut findings = Vec::new();
    for &way in attach.udp() {
        let options = TraceOptions {
            udp: true,
            udp_attach: Some(way),
            ..without_udp(MethodName::Bundle, attach)
        };
        findings.push(match Tracer::open(options) {
            Ok(_) => {
                let status = if is_chosen { Status::Available } else { Status::Ok };
                is_chosen = true;
                Finding::new("attach udp", way.name(), status, describe_udp(way))
            }
            Err(error) => Finding::new("attach udp", way.name(), Status::Refused, one_line(&error))
                .advise(advice_for_udp(way)),
        });
    }
    findings
}

fn describe_udp(way: UdpAttach) -> &'static str {
    match way {
        UdpAttach::Fentry => "the entry of functions that only UDP passes, by trampolines",
        UdpAttach::CgroupSkb => "the root control group: a program runs for each TCP segment, too",
    }
}

fn advice_for_udp(way: UdpAttach) -> &'static str {
    match way {
        UdpAttach::Fentry => {
            "takes a kernel with CONFIG_FUNCTION_TRACER, direct calls and IPv6 that is not locked \
             down; the next one is used instead"
        }
        UdpAttach::CgroupSkb => {
            "takes CONFIG_CGROUP_BPF, and cgroup2 mounted, outside of a container; nothing to do \
             where the other one is ok"
        }
    }
}

fn describe(attach: Attach) -> &'static str {
    match attach {
        Attach::TpBtf => "the tracepoint of TCP's states",
        Attach::Fentry => "the entry of functions, by trampolines",
        Attach::Kprobe => "the entry of functions, by breakpoints",
        Attach::Cgroup => "the turns of sockets in the root control group; needs no BTF",
    }
}

/// What the verifier says takes many lines.
fn one_line(error: &Error) -> String {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("refused").to_owned();
    match lines.next_back() {
        Some(last) => format!("{first} ... {last}"),
        None => first,
    }
}

fn advice(error: &Error, attach: Attach) -> String {
    match (error, attach) {
        (Error::Privilege { .. }, _) => {
            "run as root, or grant CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN".to_owned()
        }
        (Error::NoBtf, _) => {
            "takes a kernel that was built with CONFIG_DEBUG_INFO_BTF; nothing to do where another \
             one is ok"
                .to_owned()
        }
        (_, Attach::TpBtf) => "takes Linux 5.17 or newer; the next one is used instead".to_owned(),
        (_, Attach::Fentry) => {
            "takes a kernel with CONFIG_FUNCTION_TRACER and direct calls that is not locked down; \
             nothing to do where another one is ok"
                .to_owned()
        }
        (_, Attach::Kprobe) => {
            "takes a kernel with CONFIG_KPROBES that is not locked down; nothing to do where \
             another one is ok"
                .to_owned()
        }
        (_, Attach::Cgroup) => {
            "takes Linux 5.17 or newer with CONFIG_CGROUP_BPF, and cgroup2 mounted, outside of a \
             container; nothing to do where another one is ok"
                .to_owned()
        }
    }
}

fn by_program(method: MethodName, attach: Option<Attach>) -> Finding {
    let refused = |reason: String| {
        let advice = match method {
            MethodName::Bundle => format!("see attach above; {NOT_TRACED}"),
            MethodName::Aggregate | MethodName::Stream => "see attach above".to_owned(),
        };
        Finding::new("trace", method.name(), Status::Refused, reason).advise(advice)
    };
    let Some(attach) = attach else { return refused("there is nowhere to attach".to_owned()) };
    let status = match method {
        MethodName::Bundle => Status::Ok,
        MethodName::Aggregate | MethodName::Stream => Status::Available,
    };
    match Tracer::open(without_udp(method, attach)) {
        Ok(_) => Finding::new(
            "trace",
            method.name(),
            status,
            format!("{}, by {attach}", method.describe()),
        ),
        Err(error) => refused(one_line(&error)),
    }
}

/// Takes the place of the others, where none of them is allowed.
fn snapshot(attach: Option<Attach>) -> Finding {
    let what = "reads the sockets again and again: shows what is up, not what goes over it";
    let options = SnapshotOptions { method: None, own_namespace_only: true, again: true };
    match Snapshot::open(options) {
        Ok(_) => {
            let status = if attach.is_none() { Status::Ok } else { Status::Available };
            Finding::new("trace", "snapshot", status, what)
        }
        Err(error) => Finding::new("trace", "snapshot", Status::Refused, error.to_string())
            .advise("see sockets above"),
    }
}
