//! Limits of the host that decide what a job can do.

use std::{fs, io, path::Path};

use rustix::process::{Resource, getrlimit, setrlimit};

/// A resource limit; `None` means unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What is in force.
    pub soft: Option<u64>,
    /// How far the soft limit can be raised without privilege.
    pub hard: Option<u64>,
}

/// How many file descriptors this process may hold.
#[must_use]
pub fn descriptors() -> Limit {
    let limit = getrlimit(Resource::Nofile);
    Limit { soft: limit.current, hard: limit.maximum }
}

/// Raises the soft limit of file descriptors to the hard one.
///
/// # Errors
/// The system call's error.
pub fn raise_descriptors() -> io::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// Reads a kernel parameter by its dotted name (`net.ipv4.ip_local_port_range`).
///
/// # Errors
/// `NotFound` where the kernel has no such parameter, or the file system's error.
pub fn sysctl(name: &str) -> io::Result<String> {
    let path = Path::new("/proc/sys").join(name.replace('.', "/"));
    Ok(fs::read_to_string(path)?.trim().to_owned())
}

/// The range of ephemeral ports, first and last, both included.
///
/// # Errors
/// When the parameter cannot be read or has another form than two ports.
pub fn ephemeral_ports() -> io::Result<(u16, u16)> {
    let text = sysctl("net.ipv4.ip_local_port_range")?;
    let mut ports = text.split_whitespace().map(str::parse::<u16>);
    match (ports.next(), ports.next()) {
        (Some(Ok(first)), Some(Ok(last))) => Ok((first, last)),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("net.ipv4.ip_local_port_range is {text:?}, not two ports"),
        )),
    }
}
