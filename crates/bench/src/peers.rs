//! The programs that everybody has, and what of the world each should find.

use std::ops::RangeInclusive;

use crate::{
    CommandLine,
    program::{Executable, Output},
    world,
};

/// `ss` with these arguments, by default compared with `ss -tan`.
pub(crate) fn ss(args: &[&'static str]) -> CommandLine {
    let (program, install) = ("ss", "apt-get install iproute2");
    peer(Executable::Peer { program, needs: &[], install }, program, args, 1)
}

/// `netstat` likewise.
pub(crate) fn netstat(args: &[&'static str]) -> CommandLine {
    let (program, install) = ("netstat", "apt-get install net-tools");
    peer(Executable::Peer { program, needs: &[], install }, program, args, 2)
}

/// `ss` that finds out who holds each socket; its cost is quadratic.
pub(crate) fn ss_owners(size_max: Option<u64>) -> CommandLine {
    CommandLine {
        about: FINDS_OWNERS,
        output: Output::Rows { heading: 1, mark: "users:((" },
        size_max,
        ..ss(&["-tanp"])
    }
}

/// `netstat` that does; the same holds.
pub(crate) fn netstat_owners(size_max: Option<u64>) -> CommandLine {
    CommandLine {
        about: FINDS_OWNERS,
        output: Output::Rows { heading: 2, mark: "/" },
        size_max,
        ..netstat(&["-tanp"])
    }
}

/// The kernel's own text.
pub(crate) fn cat() -> CommandLine {
    let (program, install) = ("cat", "apt-get install coreutils");
    let file = Executable::Peer { program, needs: &[], install };
    CommandLine {
        name: "cat /proc/net/tcp*".to_owned(),
        about: "copies the kernel's text, nothing more",
        // The table of IPv6 is empty but for its heading, which is one more.
        ..peer(file, program, &["/proc/net/tcp", "/proc/net/tcp6"], 2)
    }
}

/// What it takes without `--group-by`.
pub(crate) fn ss_awk() -> CommandLine {
    let needs = &["ss", "awk"];
    let install = "apt-get install iproute2 mawk";
    let file = Executable::Peer { program: "sh", needs, install };
    CommandLine {
        name: "ss -tan | awk".to_owned(),
        about: "lists them, and awk counts the peers' addresses",
        output: Output::Total { mark: "total" },
        ..peer(file, "sh", &["-c", SS_AWK], 0)
    }
}

/// Column 5 is the peer, an address and a port.
const SS_AWK: &str = "ss -tan | awk 'NR > 1 { sub(/:[^:]*$/, \"\", $5); peers[$5]++ } \
END { for (peer in peers) print peers[peer], peer; print NR - 1, \"total\" }'";

/// The kernel's counters, another question.
pub(crate) fn ss_summary() -> CommandLine {
    CommandLine {
        about: "prints counters that the kernel keeps; it reads no table",
        output: Output::Total { mark: "TCP\t" },
        ..ss(&["-s"])
    }
}

fn peer(file: Executable, program: &str, args: &[&'static str], heading: u64) -> CommandLine {
    CommandLine {
        name: format!("{program} {}", args.join(" ")),
        task: "list",
        baseline: LIST_BASELINE,
        about: LISTS,
        file,
        args: args.to_vec(),
        output: Output::Rows { heading, mark: "" },
        rows: every_socket,
        counts_reads: true,
        size_max: None,
    }
}

/// All sockets of the world, and no other.
pub(crate) fn every_socket(size: u64) -> RangeInclusive<u64> {
    let count = world::sockets(size);
    count..=count
}

/// The name of [`ss`] with `-tan`.
pub(crate) const LIST_BASELINE: &str = "ss -tan";

/// The name of [`ss_owners`].
pub(crate) const OWNERS_BASELINE: &str = "ss -tanp";

/// What a listing does.
pub(crate) const LISTS: &str = "lists the TCP sockets of its namespace as text";

/// What one with owners does.
pub(crate) const FINDS_OWNERS: &str = "lists them as text, with the process that holds each";

#[cfg(test)]
mod tests;
