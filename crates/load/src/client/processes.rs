//! Further processes of the same program, where one may not have all the descriptors.
//!
//! The parent writes the options to each child's standard input, one line of JSON, then orders; the
//! child writes what its workers say to its standard output, a line each. The parent puts it
//! together as if they were workers of its own. When it dies, the pipe ends, and so does the child.

use std::{
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc::{self, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use portolan_sys::limits;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::{RESERVE, threads::Threads};
use crate::{ClientOptions, Error, Share, Stop, gather::Message};

/// How many sockets one process can have, as far as the limit of descriptors goes.
#[must_use]
pub fn sockets_per_process() -> u64 {
    limits::descriptors().soft.unwrap_or(u64::MAX).saturating_sub(RESERVE).max(1)
}

/// What the parent tells its children. Moments are those of `CLOCK_MONOTONIC`, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Order {
    Begin(u64),
    Verify(u64),
    Stop,
}

#[derive(Debug)]
pub(super) struct Processes {
    pub(super) stop: Stop,
    children: Vec<Process>,
    readers: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    orders: Option<ChildStdin>,
}

impl Processes {
    /// Starts them; what their workers say goes to `out`.
    pub(super) fn start(
        options: &ClientOptions,
        mut program: impl FnMut() -> Command,
        count: usize,
        out: &Sender<Message>,
    ) -> Result<Self, Error> {
        let stop = Stop::new().map_err(Error::system("make an eventfd"))?;
        let mut all = Self { stop, children: Vec::new(), readers: Vec::new() };
        for nth in 0..count {
            let mut command = program();
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().map_err(Error::system("start a process"))?;
            let (orders, said) = (child.stdin.take(), child.stdout.take());
            all.children.push(Process { child, orders });
            let own = ClientOptions { share: Share { nth, of: count }, ..options.clone() };
            let process = all.children.last_mut();
            let sent = process.map_or(Ok(()), |process| process.send(&own));
            sent.map_err(Error::system("speak to a process"))?;
            let (Some(said), out, workers) = (said, out.clone(), options.threads) else { continue };
            let named = thread::Builder::new().name("load process".to_owned());
            let reader = named.spawn(move || read(said, &out, workers));
            all.readers.push(reader.map_err(Error::system("start a thread"))?);
        }
        Ok(all)
    }

    pub(super) fn begin(&mut self, at: Instant) {
        self.order(Order::Begin(ns(at)));
    }

    pub(super) fn verify(&mut self, at: Instant) {
        self.order(Order::Verify(ns(at)));
    }

    pub(super) fn stop(&mut self) {
        self.order(Order::Stop);
    }

    fn order(&mut self, order: Order) {
        for process in &mut self.children {
            // One that has ended needs no orders.
            let _ = process.send(&order);
        }
    }

    /// Waits until all have ended.
    pub(super) fn join(&mut self) {
        for process in &mut self.children {
            process.orders = None;
            // What it had to say it has said.
            let _ = process.child.wait();
        }
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.join();
    }
}

impl Process {
    fn send(&mut self, what: &impl Serialize) -> io::Result<()> {
        let Some(orders) = &mut self.orders else { return Ok(()) };
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        orders.write_all(&line)?;
        orders.flush()
    }
}

/// Passes on what a child's workers say, until they have all ended.
fn read(said: ChildStdout, out: &Sender<Message>, workers: usize) {
    let mut ended = 0;
    for line in BufReader::new(said).lines() {
        let message = line.map_err(|error| error.to_string()).and_then(|line| {
            serde_json::from_str(&line).map_err(|error| format!("a process says {error}"))
        });
        let message = message.unwrap_or_else(Message::Failed);
        ended += usize::from(matches!(message, Message::Ended(_)));
        if out.send(message).is_err() {
            return;
        }
    }
    if ended < workers {
        // Nobody listens any more where another has failed before.
        let _ = out.send(Message::Failed("a process of the load has ended early".to_owned()));
    }
}

/// What a process does that [`crate::Client::start_processes`] has started: generates its share of
/// the load, and speaks to its parent over `input` and `output`. It ends when the parent does.
///
/// # Errors
/// Where the options cannot be read, or nothing can be begun.
pub fn serve_parent(input: impl Read + Send + 'static, output: impl Write) -> Result<(), Error> {
    let speak = Error::system("speak to the parent process");
    let mut input = BufReader::new(input);
    let mut line = String::new();
    input.read_line(&mut line).map_err(&speak)?;
    let options: ClientOptions =
        serde_json::from_str(&line).map_err(|error| Error::Options(error.to_string()))?;
    options.check()?;
    let (out, messages) = mpsc::channel();
    let mut threads = Threads::start(&options, out)?;
    let (stop, gates) = (threads.stop.clone(), threads.gates.clone());
    let named = thread::Builder::new().name("orders".to_owned());
    let orders = named.spawn(move || {
        for line in input.lines() {
            match line.map(|line| serde_json::from_str(&line)) {
                Ok(Ok(Order::Begin(at))) => gates.begin.open(instant(at)),
                Ok(Ok(Order::Verify(at))) => gates.verify.open(instant(at)),
                Ok(Ok(Order::Stop) | Err(_)) | Err(_) => stop.ask(),
            }
        }
        // The parent is gone, or wants no more.
        stop.ask();
    });
    orders.map_err(Error::system("start a thread"))?;
    let mut output = BufWriter::new(output);
    let mut said = Ok(());
    for message in messages {
        said = serde_json::to_writer(&mut output, &message).map_err(io::Error::from);
        said = said.and_then(|()| output.write_all(b"\n")).and_then(|()| output.flush());
        if said.is_err() {
            threads.stop.ask();
            break;
        }
    }
    threads.join();
    said.map_err(speak)
}

/// The moment as `CLOCK_MONOTONIC` has it, which is the same for all processes.
fn ns(at: Instant) -> u64 {
    let ahead = at.saturating_duration_since(Instant::now());
    u64::try_from((monotonic() + ahead).as_nanos()).unwrap_or(u64::MAX)
}

fn instant(ns: u64) -> Instant {
    Instant::now() + Duration::from_nanos(ns).saturating_sub(monotonic())
}

fn monotonic() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
