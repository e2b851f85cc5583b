//! What can go wrong while tracing.

use std::io;

use crate::{Attach, UdpAttach};

/// A trace that cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("cannot {what} ({place}): {source}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// The file or namespace it was about.
        place: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The kernel does not describe its types, which the programs are fitted to.
    #[error(
        "this kernel does not describe its types (no BTF in /sys/kernel/btf/vmlinux, \
         CONFIG_DEBUG_INFO_BTF); --attach cgroup needs none"
    )]
    NoBtf,
    /// UDP cannot be seen there where TCP is seen here.
    #[error("UDP is not traced by {udp} where TCP is by {attach}: leave --udp-attach out")]
    Apart {
        /// Where TCP was to be traced.
        attach: Attach,
        /// Where UDP was.
        udp: UdpAttach,
    },
    /// The privilege is missing.
    #[error(
        "tracing needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, and {missing} is missing: run with \
         sudo, or use --method snapshot, which needs none"
    )]
    Privilege {
        /// Which are missing.
        missing: String,
    },
    /// No way to attach works here.
    #[error("no way to attach to this kernel works: {}", attempts(.0))]
    NoWay(Vec<(Attach, Error)>),
    /// The kernel refused a program or a map.
    #[error("the kernel refuses to {what}: {source}{}", verdict(.log))]
    Bpf {
        /// What was attempted.
        what: String,
        /// The kernel's or the loader's answer.
        source: io::Error,
        /// The end of what the verifier said; empty where it said nothing.
        log: String,
    },
}

impl Error {
    pub(crate) fn system(
        what: &'static str,
        place: impl Into<String>,
    ) -> impl FnOnce(io::Error) -> Self {
        let place = place.into();
        move |source| Self::System { what, place, source }
    }
}

fn attempts(attempts: &[(Attach, Error)]) -> String {
    let each = attempts.iter().map(|(attach, error)| format!("{attach}: {error}"));
    each.collect::<Vec<_>>().join("; ")
}

fn verdict(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("\nthe verifier says:\n{log}") }
}
