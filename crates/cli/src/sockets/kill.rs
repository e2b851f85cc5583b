//! `--kill`: closing sockets, after a question.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::{self, BufRead, IsTerminal, Write},
    process::ExitCode,
};

use portolan_flow::NetnsId;
use portolan_sockets::{Destroyer, Ending, Place, SocketId};
use rustix::io::Errno;

use super::{
    Listed,
    lines::Lines,
    order::{Order, Sorted},
    reader::Reader,
};

/// A socket that is to be closed, and its line.
struct Target {
    netns: NetnsId,
    socket: SocketId,
    line: Box<[u8]>,
}

/// What became of the sockets.
#[derive(Debug, Default)]
struct Report {
    closed: usize,
    /// They ended in the meantime.
    gone: usize,
    /// How many could not be closed, by the reason.
    failed: BTreeMap<String, usize>,
    /// Why the list of them is not whole.
    unwritten: Option<io::Error>,
}

/// Checks that there is somebody to ask.
///
/// # Errors
/// When there is not.
pub fn ensure_somebody() -> anyhow::Result<()> {
    anyhow::ensure!(
        io::stdin().is_terminal() && io::stderr().is_terminal(),
        "--kill asks before it closes sockets, and there is no terminal to ask on: say --yes"
    );
    Ok(())
}

/// Closes the sockets that the reader lists, and writes those that were closed to `out`.
///
/// What was agreed to is closed whether or not anybody reads the list of it.
///
/// # Errors
/// When they cannot be listed.
pub fn run(
    reader: &mut Reader<'_>,
    (order, limit): (Option<Order>, Option<usize>),
    ask: bool,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let lines = Lines::new(&reader.config.layout);
    let mut places: HashMap<NetnsId, Place> = HashMap::new();
    let mut targets = Sorted::new(order, limit);
    reader.each(&mut |listed| {
        // Without a cookie it may be another socket in a moment.
        let Some(socket) = SocketId::of(listed.row) else { return Ok(()) };
        places.entry(listed.place.netns).or_insert_with(|| listed.place.clone());
        targets.add(listed, || target(socket, listed, &lines))
    })?;
    let targets = targets.into_vec();
    if targets.is_empty() {
        tell!("portolan: no socket matches, so there is nothing to close");
        return Ok(ExitCode::SUCCESS);
    }
    if ask && !is_agreed(&targets, &lines)? {
        tell!("portolan: nothing was closed");
        return Ok(ExitCode::from(1));
    }
    let mut report = Report::default();
    let mut heading = Vec::new();
    lines.heading(&mut heading);
    report.write(&heading, out);
    let done = close_all(reader, &places, targets, &mut report, out);
    report.flush(out);
    // Not by the macro, which panics where standard error is a pipe that nobody reads either.
    let _ = writeln!(anstream::stderr(), "portolan: {}", report.sentence());
    done.map(|()| ExitCode::from(report.code()))
}

fn target(socket: SocketId, listed: &Listed<'_>, lines: &Lines) -> Target {
    let mut line = Vec::new();
    lines.row(listed, &mut line);
    Target { netns: listed.place.netns, socket, line: line.into_boxed_slice() }
}

/// Shows the sockets and asks; only a yes is a yes.
fn is_agreed(targets: &[Target], lines: &Lines) -> io::Result<bool> {
    let mut text = Vec::new();
    lines.heading(&mut text);
    targets.iter().for_each(|target| text.extend_from_slice(&target.line));
    let what = match targets.len() {
        1 => "this socket".to_owned(),
        count => format!("these {count} sockets"),
    };
    write!(text, "Close {what}? [y/N] ")?;
    let mut terminal = io::stderr().lock();
    terminal.write_all(&text)?;
    terminal.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].iter().any(|yes| answer.trim().eq_ignore_ascii_case(yes))
}

/// Closes them in rounds: of sockets that share their addresses (`SO_REUSEPORT`) the kernel finds
/// only the first, and the next one once that is closed.
fn close_all(
    reader: &mut Reader<'_>,
    places: &HashMap<NetnsId, Place>,
    targets: Vec<Target>,
    report: &mut Report,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let mut destroyers = HashMap::new();
    let mut pending = targets;
    loop {
        let closed_before = report.closed;
        let not_found = close_each(places, &mut destroyers, pending, report, out);
        if not_found.is_empty() {
            return Ok(());
        }
        let alive = still_listed(reader)?;
        let (rest, gone): (Vec<Target>, Vec<Target>) = not_found
            .into_iter()
            .partition(|target| alive.contains(&(target.netns, target.socket.cookie)));
        report.gone += gone.len();
        if report.closed == closed_before {
            let reason = "the kernel finds another socket by their addresses (SO_REUSEPORT)";
            if !rest.is_empty() {
                report.failed.insert(reason.to_owned(), rest.len());
            }
            return Ok(());
        }
        pending = rest;
    }
}

/// Closes each once; returns those that the kernel did not find.
fn close_each(
    places: &HashMap<NetnsId, Place>,
    destroyers: &mut HashMap<NetnsId, Result<Destroyer, String>>,
    targets: Vec<Target>,
    report: &mut Report,
    out: &mut impl Write,
) -> Vec<Target> {
    let mut not_found = Vec::new();
    for target in targets {
        let destroyer = destroyers.entry(target.netns).or_insert_with(|| {
            Destroyer::open(&places[&target.netns]).map_err(|error| error.to_string())
        });
        let ended = match destroyer {
            Ok(destroyer) => destroyer.destroy(&target.socket).map_err(|error| error.to_string()),
            Err(reason) => Err(reason.clone()),
        };
        let reason = match ended {
            Ok(Ending::Closed) => {
                report.closed += 1;
                report.write(&target.line, out);
                continue;
            }
            Ok(Ending::NotFound) => {
                not_found.push(target);
                continue;
            }
            Ok(Ending::Refused(error)) => advise(&error),
            Err(reason) => reason,
        };
        *report.failed.entry(reason).or_default() += 1;
    }
    not_found
}

/// The cookies of what is listed now.
fn still_listed(reader: &mut Reader<'_>) -> anyhow::Result<HashSet<(NetnsId, u64)>> {
    let mut cookies = HashSet::new();
    reader.each(&mut |listed| {
        cookies.insert((listed.place.netns, listed.row.cookie));
        Ok(())
    })?;
    Ok(cookies)
}

fn advise(error: &io::Error) -> String {
    let advice = match Errno::from_io_error(error) {
        Some(Errno::PERM | Errno::ACCESS) => "run as root, or grant CAP_NET_ADMIN",
        Some(Errno::OPNOTSUPP) => {
            "this kernel cannot close sockets of this state, or was built without \
             CONFIG_INET_DIAG_DESTROY and can close none"
        }
        _ => return error.to_string(),
    };
    format!("{error}: {advice}")
}

impl Report {
    /// Writes a part of the list, unless an earlier one could not be written.
    fn write(&mut self, part: &[u8], out: &mut impl Write) {
        if self.unwritten.is_none() {
            self.unwritten = out.write_all(part).err();
        }
    }

    fn flush(&mut self, out: &mut impl Write) {
        if self.unwritten.is_none() {
            self.unwritten = out.flush().err();
        }
    }

    /// What kept the list from being written, other than a reader who had seen enough.
    fn write_error(&self) -> Option<&io::Error> {
        self.unwritten.as_ref().filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
    }

    fn code(&self) -> u8 {
        match self.write_error() {
            Some(_) => 2,
            None => u8::from(!self.failed.is_empty()),
        }
    }

    fn sentence(&self) -> String {
        let mut parts = vec![format!("{} closed", self.closed)];
        if self.gone > 0 {
            parts.push(format!("{} had ended already", self.gone));
        }
        let failed = self.failed.iter();
        parts.extend(failed.map(|(reason, count)| format!("{count} not closed ({reason})")));
        let unwritten = self.write_error();
        parts.extend(unwritten.map(|error| format!("which ones could not be written ({error})")));
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests;
