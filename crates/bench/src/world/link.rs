//! Devices of a world: made and changed with the commands `ip` and `tc`, and counted.

use std::{
    fs::{self, File},
    io::{Read, Seek, Write},
    process::{Command, Stdio},
};

use crate::{Error, program::find};

/// Programs that make devices.
pub(crate) const INSTALL: &str = "apt-get install iproute2";

/// Runs `lines`, a command each, in one `program` (`ip`, `tc`), in the network namespace of the
/// calling thread; the first that fails ends it.
pub(crate) fn batch(program: &str, lines: &[String]) -> Result<(), Error> {
    let what = || format!("run {program} ({INSTALL})");
    let file = find(program).ok_or_else(|| std::io::ErrorKind::NotFound.into());
    let file = file.map_err(Error::system(what()))?;
    let script = in_memory(&lines.join("\n")).map_err(Error::system(what()))?;
    let output = Command::new(file)
        .args(["-batch", "-"])
        .stdin(script)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(Error::system(what()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    Err(Error::Link { program: program.to_owned(), said })
}

fn in_memory(text: &str) -> std::io::Result<File> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::memfd_create("commands", flags)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// How many packets `device` of the calling thread's namespace has sent; each packet of loopback
/// is sent once, whichever socket it comes from.
pub(crate) fn packets_sent(device: &str) -> Result<u64, Error> {
    let mut text = String::new();
    let file = "/proc/thread-self/net/dev";
    File::open(file)
        .and_then(|mut file| file.read_to_string(&mut text))
        .map_err(Error::system(format!("read {file}")))?;
    let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
    sent(&text, device)
        .ok_or_else(missing)
        .map_err(Error::system(format!("find the counters of {device}")))
}

/// After the name come eight numbers of what was received, then bytes and packets sent.
fn sent(text: &str, device: &str) -> Option<u64> {
    let counters = text.lines().find_map(|line| {
        let (name, counters) = line.split_once(':')?;
        (name.trim() == device).then_some(counters)
    })?;
    counters.split_whitespace().nth(9)?.parse().ok()
}

/// Lets queues of connections in the calling thread's namespace be as long as they may.
pub(crate) fn widen_backlog() {
    // Where /proc/sys may not be written, the usual limit of 4,096 does for all but bursts.
    let _ = fs::write("/proc/sys/net/core/somaxconn", "65535");
}

/// Keeps the kernel from sending packets of its own accord through devices that the calling
/// thread's namespace gets from now on: nothing here is IPv6, and all that is sent is counted.
pub(crate) fn without_ipv6() {
    // Where there is no IPv6, there is nothing to write to, and nothing is sent.
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
}

#[cfg(test)]
mod tests;
