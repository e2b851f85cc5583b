//! Taking what the programs have counted out of their maps.

use std::{
    collections::HashMap,
    fmt, fs,
    os::fd::{AsFd, AsRawFd},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use libbpf_rs::{MapCore, MapFlags, Object, ProgramInput, RingBuffer, RingBufferBuilder};
use portolan_flow::Totals;
use portolan_sys::bpf::{self, Batches};

use crate::{
    Error, Losses, MethodName,
    edge::{Counted, EDGE_BYTES, Edge, TOTALS_BYTES},
    object::{self, Loaded, map, program, refused},
};

/// Programs run for microseconds; where the kernel will not say when all have ended, this is
/// enough.
const GRACE: Duration = Duration::from_millis(50);

/// What was counted under each key.
pub type Sums = HashMap<Edge, Counted>;

/// The maps of a loaded object, from user space.
pub struct Maps {
    batches: Batches,
    queue: Option<Queue>,
}

/// The queue of the method `stream`.
struct Queue {
    ring: RingBuffer<'static>,
    sums: Arc<Mutex<Sums>>,
}

impl fmt::Debug for Maps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Maps")
    }
}

impl Maps {
    /// The maps of `object`, nothing of which has been read yet.
    pub fn new(object: &Object, method: MethodName) -> Result<Self, Error> {
        let queue = match method {
            MethodName::Stream => Some(Queue::open(object)?),
            MethodName::Bundle | MethodName::Aggregate => None,
        };
        Ok(Self { batches: Batches::new(EDGE_BYTES, TOTALS_BYTES), queue })
    }

    /// What was counted since the last time, with what moved meanwhile on the connections that are
    /// up.
    pub fn take(&mut self, object: &Object) -> Result<(Sums, Totals), Error> {
        let idle = walk(object, Purpose::Count)?;
        let sums = match &self.queue {
            Some(queue) => queue.take()?,
            None => self.take_map(object, idle)?,
        };
        Ok((sums, take_overflow(object, idle)?))
    }

    /// Takes from the queue what is there, so that there is room; it is told by the next
    /// [`Maps::take`].
    pub fn relieve(&self) -> Result<(), Error> {
        self.queue.as_ref().map_or(Ok(()), Queue::relieve)
    }

    fn take_map(&mut self, object: &Object, idle: u32) -> Result<Sums, Error> {
        if bpf::wait_for_programs().is_err() {
            thread::sleep(GRACE);
        }
        let name = if idle == 0 { "edges_0" } else { "edges_1" };
        let mut sums = Sums::new();
        let taken = self.batches.take(map(object, name).as_fd(), &mut |key, value| {
            add(&mut sums, key, value);
        });
        taken.map_err(Error::system("read the sums of the kernel", name))?;
        Ok(sums)
    }
}

/// Takes the row that nobody writes since the maps were exchanged.
fn take_overflow(object: &Object, idle: u32) -> Result<Totals, Error> {
    let key = idle.to_ne_bytes();
    let overflow = map(object, "overflow");
    let failed = |error| refused("read the map overflow".to_owned(), error);
    let bytes = overflow.lookup(&key, MapFlags::ANY).map_err(failed)?.unwrap_or_default();
    let totals = Counted::read(&bytes).unwrap_or_default().totals;
    if !totals.is_zero() {
        overflow.update(&key, &[0; TOTALS_BYTES], MapFlags::ANY).map_err(failed)?;
    }
    Ok(totals)
}

fn add(sums: &mut Sums, key: &[u8], value: &[u8]) {
    if let (Some(edge), Some(counted)) = (Edge::read(key), Counted::read(value)) {
        sums.entry(edge).or_default().add(&counted);
    }
}

impl Queue {
    fn open(object: &Object) -> Result<Self, Error> {
        let sums = Arc::new(Mutex::new(Sums::new()));
        let filled = Arc::clone(&sums);
        let build = || {
            let mut builder = RingBufferBuilder::new();
            let events = map(object, "events");
            builder.add(&events, move |bytes: &[u8]| {
                if let Some((key, value)) = bytes.split_at_checked(EDGE_BYTES) {
                    add(&mut filled.lock().unwrap_or_else(PoisonError::into_inner), key, value);
                }
                0
            })?;
            builder.build()
        };
        let ring = build().map_err(|error| refused("map the queue of events".to_owned(), error))?;
        Ok(Self { ring, sums })
    }

    fn relieve(&self) -> Result<(), Error> {
        self.ring.consume().map_err(|error| refused("read the queue of events".to_owned(), error))
    }

    fn take(&self) -> Result<Sums, Error> {
        self.relieve()?;
        Ok(std::mem::take(&mut *self.sums.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// What the program `walk` is run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To count what moved on the connections that are up, and to exchange the maps.
    Count,
    /// To be told that what was there before is known.
    SetReady,
}

/// Tells the programs that the connections that were there before are known.
pub fn set_ready(object: &Object) -> Result<(), Error> {
    walk(object, Purpose::SetReady).map(|_| ())
}

/// Returns which of the two maps is idle.
fn walk(object: &Object, purpose: Purpose) -> Result<u32, Error> {
    let mut context = u64::from(purpose == Purpose::SetReady).to_ne_bytes();
    let input = ProgramInput { context_in: Some(&mut context), ..ProgramInput::default() };
    let walked = program(object, "walk").test_run(input);
    let walked = walked.map_err(|error| refused("run the program walk".to_owned(), error))?;
    Ok(walked.return_value)
}

/// All losses since the programs were loaded.
pub fn losses(loaded: &Loaded) -> Result<Losses, Error> {
    let failed = |error| refused("read the map losses".to_owned(), error);
    let bytes = map(&loaded.object, "losses").lookup(&[0; 4], MapFlags::ANY).map_err(failed)?;
    let mut losses = Losses::read(&bytes.unwrap_or_default());
    losses.missed = object::attached(loaded.attach)
        .iter()
        .map(|name| missed(&loaded.object, name))
        .sum::<Result<u64, Error>>()?;
    Ok(losses)
}

/// `recursion_misses` (`bpf_prog_show_fdinfo` of kernel/bpf/syscall.c).
fn missed(object: &Object, name: &str) -> Result<u64, Error> {
    let path = format!("/proc/self/fdinfo/{}", program(object, name).as_fd().as_raw_fd());
    let text = fs::read_to_string(&path).map_err(Error::system("count missed events", path))?;
    let line = text.lines().find_map(|line| line.strip_prefix("recursion_misses:"));
    Ok(line.and_then(|number| number.trim().parse().ok()).unwrap_or(0))
}
