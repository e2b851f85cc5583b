//! Counting the system calls with which a program fetched the kernel's socket table.
//!
//! `/proc/PID/io` counts reads of files, but not what is received from netlink, and both count
//! files that have nothing to do with sockets. strace(1) tells of every call which descriptor it
//! was on. It slows the program down, so that such a run is never timed.

use std::{
    collections::HashSet,
    io::{self, BufRead, BufReader, Seek},
    path::Path,
};

use crate::{
    Program, Stdout, measure,
    program::{RUN_TIME_MAX, succeeded},
};

/// The program that is needed.
pub(crate) const PROGRAM: &str = "strace";

/// How to get it.
pub(crate) const INSTALL: &str = "apt-get install strace";

/// All threads and children; names of descriptors; no data; and only calls that may fetch.
const ARGS: [&str; 9] = [
    "-f",
    "--seccomp-bpf",
    "-y",
    "-s",
    "0",
    "-e",
    "verbose=none",
    "-e",
    "trace=socket,read,readv,pread64,preadv,recvfrom,recvmsg,recvmmsg,bpf",
];

/// Runs `program` under strace, which is at `path`, and counts the calls that fetched a TCP table:
/// reads of `/proc/net/tcp` and `tcp6`, of a BPF iterator and from sock_diag's netlink sockets, and
/// runs of a BPF program. The call that meets the end counts, and one that only looks.
///
/// # Errors
/// When strace may not look into the program, or the program fails.
pub(crate) fn count_reads(path: &Path, program: &Program) -> Result<u64, String> {
    let traced = Program::new(path, ARGS).with([&program.path]).with(&program.args);
    let measured =
        measure(&traced, Stdout::Discard, RUN_TIME_MAX).map_err(|error| error.to_string())?;
    succeeded(&measured).map_err(|_| {
        let code = measured.usage.code.map_or_else(String::new, |code| format!(" ({code})"));
        format!("under strace it fails{code}; may this user trace processes?")
    })?;
    let mut trace = measured.said;
    trace
        .rewind()
        .and_then(|()| fetches(BufReader::new(trace)))
        .map_err(|error| format!("the trace cannot be read: {error}"))
}

/// The calls of a trace that fetched a table.
fn fetches(mut trace: impl BufRead) -> io::Result<u64> {
    let mut netlink = HashSet::new();
    let (mut fetches, mut bytes) = (0, Vec::new());
    // What the program itself said to standard error stands between the calls.
    while trace.read_until(b'\n', &mut bytes)? > 0 {
        let line = String::from_utf8_lossy(&bytes);
        match Call::parse(&line) {
            Some(Call::Opened(socket)) => {
                netlink.insert(socket.to_owned());
            }
            Some(Call::Read(from)) if is_table(from) || netlink.contains(from) => fetches += 1,
            Some(Call::Ran) => fetches += 1,
            Some(Call::Read(_)) | None => {}
        }
        bytes.clear();
    }
    Ok(fetches)
}

/// A line of a trace that matters.
#[derive(Debug, PartialEq, Eq)]
enum Call<'a> {
    /// A socket of sock_diag was opened, by this name.
    Opened(&'a str),
    /// The descriptor of this name was read.
    Read(&'a str),
    /// A BPF program was run.
    Ran,
}

impl<'a> Call<'a> {
    /// `read(3</proc/7/net/tcp>, ""..., 4096) = 4050`, after `[pid 7] ` where there are threads. A
    /// call that another thread interrupts has two lines; all but the name of a new socket is
    /// in the first.
    fn parse(line: &'a str) -> Option<Self> {
        let call = match line.strip_prefix("[pid") {
            Some(rest) => rest.split_once("] ")?.1,
            None => line,
        };
        if call.starts_with("<... socket resumed>") {
            return descriptor(call.rsplit_once(" = ")?.1).map(Call::Opened);
        }
        let (name, args) = call.split_once('(')?;
        match name {
            "socket" if !args.contains("NETLINK_SOCK_DIAG") => None,
            "socket" => descriptor(args.rsplit_once(" = ")?.1).map(Call::Opened),
            "bpf" => ["BPF_PROG_TEST_RUN", "BPF_PROG_RUN"]
                .iter()
                .any(|run| args.starts_with(run))
                .then_some(Call::Ran),
            "read" | "readv" | "pread64" | "preadv" | "recvfrom" | "recvmsg" | "recvmmsg" => {
                descriptor(args).map(Call::Read)
            }
            _ => None,
        }
    }
}

/// The name in `3<name>, ...`.
fn descriptor(text: &str) -> Option<&str> {
    let digits = text.trim_start_matches(|char: char| char.is_ascii_digit());
    Some(digits.strip_prefix('<')?.split_once('>')?.0)
}

fn is_table(name: &str) -> bool {
    let is_file = || name.ends_with("/net/tcp") || name.ends_with("/net/tcp6");
    (name.starts_with("/proc/") && is_file())
        || (name.starts_with("anon_inode:") && name.contains("bpf_iter"))
}

#[cfg(test)]
mod tests;
