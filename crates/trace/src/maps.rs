//! Taking what the programs have counted out of their maps.

use std::{
    collections::HashMap,
    fmt, fs, mem,
    os::fd::{AsFd, AsRawFd},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use libbpf_rs::{
    MapCore, MapFlags, Object, ProgramInput, ProgramType, RingBuffer, RingBufferBuilder,
};
use portolan_flow::Totals;
use portolan_sys::bpf::{self, Batches};

use crate::{
    Error, Losses, MethodName,
    edge::{Counted, EDGE_BYTES, Edge, TOTALS_BYTES},
    object::{Loaded, map, program, refused},
};

/// Programs run for microseconds; where the kernel will not say when all have ended, this is
/// enough.
const GRACE: Duration = Duration::from_millis(50);

/// The walk holds its processor: so many places are gone through before others get it.
const AT_A_TIME: u32 = 2048;

/// A program that is run for packets gets its arguments as one; shorter ones are refused
/// (`bpf_prog_test_run_skb` of net/bpf/test_run.c).
const PACKET_BYTES: usize = 64;

/// What was counted under each key.
pub type Sums = HashMap<Edge, Counted>;

/// The maps of a loaded object, from user space.
pub struct Maps {
    batches: Batches,
    queue: Option<Queue>,
    taken: Sums,
    overflow: Totals,
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
        Ok(Self {
            batches: Batches::new(EDGE_BYTES, TOTALS_BYTES),
            queue,
            taken: Sums::new(),
            overflow: Totals::default(),
        })
    }

    /// Counts what moved on the connections that are up, and takes what was counted since the last
    /// time from the kernel. It is here until [`Maps::told`] says that it got where it belongs.
    pub fn take(&mut self, loaded: &Loaded) -> Result<(), Error> {
        for first in (0..loaded.places).step_by(AT_A_TIME as usize) {
            run(&loaded.object, "walk", [first, AT_A_TIME])?;
        }
        let idle = run(&loaded.object, "finish", [0; 2])?;
        match &self.queue {
            Some(queue) => queue.take(&mut self.taken)?,
            None => self.take_map(&loaded.object, idle)?,
        }
        self.overflow.add(&take_overflow(&loaded.object, idle)?);
        Ok(())
    }

    /// What was taken: sums by edge, and the sum of what found no room among them.
    pub fn told(&mut self) -> (Sums, Totals) {
        (mem::take(&mut self.taken), mem::take(&mut self.overflow))
    }

    /// Takes from the queue what is there, so that there is room; it is told by the next
    /// [`Maps::take`].
    pub fn relieve(&self) -> Result<(), Error> {
        self.queue.as_ref().map_or(Ok(()), Queue::relieve)
    }

    fn take_map(&mut self, object: &Object, idle: u32) -> Result<(), Error> {
        // Where a processor has no other to tell it, it is not asked either.
        let is_alone =
            thread::available_parallelism().is_ok_and(|processors| processors.get() == 1);
        if is_alone || bpf::wait_for_programs().is_err() {
            thread::sleep(GRACE);
        }
        let name = if idle == 0 { "edges_0" } else { "edges_1" };
        let sums = &mut self.taken;
        let taken =
            self.batches.take(map(object, name).as_fd(), &mut |key, value| add(sums, key, value));
        taken.map_err(Error::system("read the sums of the kernel", name))
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

    fn take(&self, into: &mut Sums) -> Result<(), Error> {
        self.relieve()?;
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        for (edge, counted) in sums.drain() {
            into.entry(edge).or_default().add(&counted);
        }
        Ok(())
    }
}

/// Tells the programs that the connections that were there before are known.
pub fn set_ready(object: &Object) -> Result<(), Error> {
    run(object, "get_ready", [0; 2]).map(|_| ())
}

/// Runs one of the programs of bpf/walk.h or bpf/listed.h; returns what it returns.
pub fn run(object: &Object, name: &str, arguments: [u32; 2]) -> Result<u32, Error> {
    let mut bytes: Vec<u8> =
        arguments.into_iter().flat_map(|it| u64::from(it).to_ne_bytes()).collect();
    let program = program(object, name);
    let input = if program.prog_type() == ProgramType::SchedCls {
        bytes.resize(PACKET_BYTES, 0);
        ProgramInput { data_in: Some(&bytes), ..ProgramInput::default() }
    } else {
        ProgramInput { context_in: Some(&mut bytes), ..ProgramInput::default() }
    };
    let ran = program.test_run(input);
    Ok(ran.map_err(|error| refused(format!("run the program {name}"), error))?.return_value)
}

/// All losses since the programs were loaded.
pub fn losses(loaded: &Loaded) -> Result<Losses, Error> {
    let failed = |error| refused("read the map losses".to_owned(), error);
    let bytes = map(&loaded.object, "losses").lookup(&[0; 4], MapFlags::ANY).map_err(failed)?;
    let mut losses = Losses::read(&bytes.unwrap_or_default());
    let datagrams = loaded.datagrams().map(|name| missed(&loaded.object, name));
    losses.missed = missed_states(loaded)? + datagrams.sum::<Result<u64, Error>>()?;
    Ok(losses)
}

/// Changes of a connection's state that no program was run for.
pub fn missed_states(loaded: &Loaded) -> Result<u64, Error> {
    // What interrupts the first program is the second one's; what neither is run for is lost.
    let missed = loaded.attached().map(|name| missed(&loaded.object, name));
    if loaded.is_doubled() {
        missed.reduce(|one, other| Ok(one?.min(other?))).unwrap_or(Ok(0))
    } else {
        missed.sum()
    }
}

/// `recursion_misses` (`bpf_prog_show_fdinfo` of kernel/bpf/syscall.c).
fn missed(object: &Object, name: &str) -> Result<u64, Error> {
    let path = format!("/proc/self/fdinfo/{}", program(object, name).as_fd().as_raw_fd());
    let text = fs::read_to_string(&path).map_err(Error::system("count missed events", path))?;
    let line = text.lines().find_map(|line| line.strip_prefix("recursion_misses:"));
    Ok(line.and_then(|number| number.trim().parse().ok()).unwrap_or(0))
}
