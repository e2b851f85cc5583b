//! What the host is and allows.

use portolan_sys::{capabilities, kernel, limits, user};

use super::{Finding, Status};
use crate::{map::CAPABILITIES, trace::watch::LOADING};

/// Fewer descriptors than this limit what `bench` and later jobs can do.
const DESCRIPTORS_WANTED: u64 = 20_000;

/// Fewer ephemeral ports than this limit connections to one address.
const PORTS_WANTED: u32 = 20_000;

/// The kernel's own default since 5.4.
const BACKLOG_WANTED: u32 = 4096;

/// All facts.
pub fn find() -> Vec<Finding> {
    vec![
        kernel_release(),
        privileges(),
        lockdown(),
        btf(),
        descriptors(),
        ephemeral_ports(),
        backlog(),
    ]
}

fn fact(name: &'static str, status: Status, detail: impl Into<String>) -> Finding {
    Finding::new("host", name, status, detail)
}

fn kernel_release() -> Finding {
    fact("kernel", Status::Ok, format!("{}, {}", kernel::release(), kernel::machine()))
}

fn privileges() -> Finding {
    let who = if user::is_root() { "root" } else { "not root" };
    let missing = match capabilities::effective() {
        Ok(effective) => capabilities::names(CAPABILITIES.union(LOADING).difference(effective)),
        Err(error) => return fact("privileges", Status::Limited, format!("{who}, {error}")),
    };
    if missing.is_empty() {
        return fact("privileges", Status::Ok, format!("{who}, with all that any job needs"));
    }
    fact("privileges", Status::Limited, format!("{who}, without {}", missing.join(", "))).advise(
        "run with sudo, or grant them: setcap cap_sys_ptrace,cap_dac_read_search,cap_sys_admin,\
         cap_bpf,cap_perfmon,cap_net_admin+ep /path/to/portolan",
    )
}

fn lockdown() -> Finding {
    match kernel::lockdown().as_deref() {
        Some("none") => fact("lockdown", Status::Ok, "none"),
        Some(mode) => fact(
            "lockdown",
            Status::Limited,
            format!(
                "{mode}: the kernel may refuse kprobes and fentry; trace attaches to tracepoints, \
                 or to the root control group"
            ),
        ),
        None => fact("lockdown", Status::Ok, "the kernel does not say, or has none"),
    }
}

fn btf() -> Finding {
    if kernel::has_btf() {
        fact("BTF", Status::Ok, "/sys/kernel/btf/vmlinux")
    } else {
        fact("BTF", Status::Limited, "the kernel does not describe its types").advise(
            "takes a kernel that was built with CONFIG_DEBUG_INFO_BTF; trace attaches to the root \
             control group instead",
        )
    }
}

fn descriptors() -> Finding {
    let limit = limits::descriptors();
    let show = |limit: Option<u64>| limit.map_or("unlimited".to_owned(), |n| n.to_string());
    let detail = format!("{}, can be raised to {}", show(limit.soft), show(limit.hard));
    if limit.hard.is_none_or(|hard| hard >= DESCRIPTORS_WANTED) {
        fact("descriptors", Status::Ok, detail)
    } else {
        fact("descriptors", Status::Limited, detail)
            .advise(format!("ulimit -Hn {DESCRIPTORS_WANTED} as root, or LimitNOFILE= in the unit"))
    }
}

fn ephemeral_ports() -> Finding {
    match limits::ephemeral_ports() {
        Ok((first, last)) => {
            let count = u32::from(last).saturating_sub(u32::from(first)) + 1;
            let detail = format!("{first} to {last}, {count} ports");
            if count >= PORTS_WANTED {
                fact("port range", Status::Ok, detail)
            } else {
                fact("port range", Status::Limited, detail)
                    .advise("sysctl net.ipv4.ip_local_port_range='15000 60999'")
            }
        }
        Err(error) => fact("port range", Status::Limited, error.to_string())
            .advise("the kernel's default, 32768 to 60999, is assumed"),
    }
}

fn backlog() -> Finding {
    let name = "net.core.somaxconn";
    match limits::sysctl(name).map(|text| text.parse::<u32>()) {
        Ok(Ok(count)) if count >= BACKLOG_WANTED => {
            fact("backlog", Status::Ok, format!("{count} connections per listener ({name})"))
        }
        Ok(Ok(count)) => {
            fact("backlog", Status::Limited, format!("{count} connections per listener ({name})"))
                .advise(format!("sysctl {name}={BACKLOG_WANTED}"))
        }
        Ok(Err(error)) => fact("backlog", Status::Limited, format!("{name}: {error}")),
        Err(error) => fact("backlog", Status::Limited, format!("{name}: {error}")),
    }
}
