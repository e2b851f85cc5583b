//! Packets on a device, counted by a program that has nothing to do with ours.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::program::find;

/// The program that looks at packets.
const PROGRAM: &str = "tcpdump";

/// How to get it.
const INSTALL: &str = "apt-get install tcpdump";

/// The last packets need that long from the kernel to the program.
const SETTLING: Duration = Duration::from_millis(200);

/// A program that was told to end is given this long before it is ended.
const PATIENCE: Duration = Duration::from_secs(5);

/// Does `work` and counts the TCP packets on `device` of the calling thread's namespace meanwhile.
pub(super) fn count<T>(device: &str, work: impl FnOnce() -> T) -> Result<(T, u64), String> {
    let missing = |program, install| move || format!("needs {program}: {install}");
    let file = find(PROGRAM).ok_or_else(missing(PROGRAM, INSTALL))?;
    // It would go on for ever if somebody killed this process.
    let bond = find("setpriv").ok_or_else(missing("setpriv", "apt-get install util-linux"))?;
    // A buffer of 64 MiB, and nothing is read or written but headers: nothing gets lost.
    let args = ["--immediate-mode", "-n", "-s", "96", "-B", "65536", "-Z", "root"];
    let child = Command::new(bond)
        .args(["--pdeathsig", "KILL"])
        .arg(file)
        .args(["-i", device])
        .args(args)
        .args(["-w", "/dev/null", "tcp"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run {PROGRAM}: {error}"))?;
    let mut running = Running(child);
    let said = running.0.stderr.take().ok_or_else(|| format!("{PROGRAM} says nothing"))?;
    let mut said = BufReader::new(said);
    wait_until_listening(&mut said)?;
    let done = work();
    thread::sleep(SETTLING);
    running.end();
    let mut text = String::new();
    // A few lines, and nobody writes any more.
    said.read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok((done, captured(&text)?))
}

fn wait_until_listening(said: &mut impl BufRead) -> Result<(), String> {
    let (mut line, mut last) = (String::new(), String::new());
    while said.read_line(&mut line).map_err(|error| error.to_string())? > 0 {
        if line.contains("listening on") {
            return Ok(());
        }
        last = std::mem::take(&mut line);
    }
    Err(format!("{PROGRAM} says: {}", last.trim()))
}

/// What it says at its end: `12 packets captured`, and what was lost.
fn captured(text: &str) -> Result<u64, String> {
    let number = |what: &str| {
        let line = text.lines().find(|line| line.trim_end().ends_with(what))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    if let Some(dropped) = number("dropped by kernel").filter(|&dropped| dropped > 0) {
        return Err(format!("{PROGRAM} lost {dropped} packets; try again on an idle host"));
    }
    number("captured").ok_or_else(|| format!("{PROGRAM} says: {}", text.trim()))
}

/// The program; it ends with this value.
struct Running(Child);

impl Running {
    fn end(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::INT);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            match self.0.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both do nothing to one that has ended and was waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests;
