//! The programs of `bpf/follow.bpf.c` in the kernel, and the queue that they fill.

use std::{
    fmt, fs,
    io::{
        ErrorKind::{Interrupted, WouldBlock},
        Read,
    },
    mem,
    os::fd::{AsFd, AsRawFd},
    sync::{Arc, Mutex, PoisonError},
};

use libbpf_rs::{
    Iter, Link, MapCore, MapFlags, Object, OpenObject, ProgramInput, RingBuffer, RingBufferBuilder,
};
use portolan_flow::NetnsId;

use super::{
    event::{self, Event, Where},
    question::{self, Answer},
};
use crate::{Error, Place, bpf};

static OBJECT: &[u8] = include_bytes!("../../bpf/follow.bpf.o");

/// Events that are copied from the queue at a time.
const BATCH: usize = 4096;

/// The kernel fills no read from an iterator beyond this.
const READ_BYTES: usize = 32 * 1024;

/// The loaded and attached programs. Dropped, they are detached.
pub struct Tracer {
    object: Object,
    queue: RingBuffer<'static>,
    /// What was copied from the queue.
    copied: Arc<Mutex<Vec<u8>>>,
    /// Larger than the queue: with so many events there is an end, whatever comes in meanwhile.
    events_max: usize,
    _state_changes: Link,
    existing: Link,
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tracer")
    }
}

impl Tracer {
    /// Loads the programs and attaches them, with a queue of about so many bytes. From now on
    /// changes in namespaces that are added queue up.
    pub fn open(queue_bytes: u32) -> Result<Self, Error> {
        let queue_bytes = queue_bytes.clamp(4096, 1 << 30).next_power_of_two();
        let object = bpf::load_with(OBJECT, |object| set_size(object, "events", queue_bytes))?;
        let attach = |name| bpf::program(&object, name).attach();
        let attached = (attach("existing"), attach("state_changes"));
        let refused = bpf::refused("attach a BPF program");
        let (existing, state_changes) =
            (attached.0.map_err(&refused)?, attached.1.map_err(&refused)?);
        let copied = Arc::new(Mutex::new(Vec::new()));
        let queue = queue(&object, copied.clone()).map_err(bpf::refused("map a BPF queue"))?;
        let bytes = usize::try_from(queue_bytes).expect("it fits into memory");
        Ok(Self {
            object,
            queue,
            copied,
            events_max: (2 * bytes / event::V4_BYTES).max(BATCH),
            _state_changes: state_changes,
            existing,
        })
    }

    /// Changes in this namespace are told from now on.
    pub fn add(&self, netns: NetnsId) -> Result<(), Error> {
        let refused = bpf::refused("follow another network namespace");
        let map = bpf::map(&self.object, "namespaces");
        map.update(&key_of(netns), &[1], MapFlags::ANY).map_err(refused)
    }

    /// Changes in this namespace are told no more.
    pub fn remove(&self, netns: NetnsId) {
        // What goes wrong here costs a little time, no more.
        let _ = bpf::map(&self.object, "namespaces").delete(&key_of(netns));
    }

    /// Hands the connections in the namespace at `place` that exist to `each`; returns how many
    /// bytes could not be understood.
    pub fn walk(&self, place: &Place, each: &mut dyn FnMut(Event)) -> Result<usize, Error> {
        let refused = bpf::refused("walk over the sockets by a BPF iterator");
        let existing = &self.existing;
        let mut iter = place.run(|| Iter::new(existing))?.map_err(&refused)?;
        let mut buffer = vec![0; READ_BYTES];
        let mut left = 0;
        loop {
            let length = match iter.read(&mut buffer) {
                Ok(0) => return Ok(left),
                Ok(length) => length,
                // A signal, or a million sockets passed over at once: it goes on where it was.
                Err(error) if matches!(error.kind(), Interrupted | WouldBlock) => continue,
                Err(error) => {
                    return Err(Error::system("walk over the sockets", place.to_string())(error));
                }
            };
            left += event::decode(&buffer[..length], each);
        }
    }

    /// Takes all events from the queue, in their order; false when there seems to be no end.
    pub fn drain(&self, each: &mut dyn FnMut(Event)) -> Result<bool, Error> {
        let mut taken = 0;
        while taken < self.events_max {
            let count = self.queue.consume_raw_n(BATCH);
            let bytes = mem::take(&mut *self.copied());
            event::decode(&bytes, each);
            match usize::try_from(count) {
                Ok(count) if count < BATCH => return Ok(true),
                Ok(count) => taken += count,
                Err(_) => {
                    let error = libbpf_rs::Error::from_raw_os_error(-count);
                    return Err(bpf::refused("read a BPF queue")(error));
                }
            }
        }
        Ok(false)
    }

    fn copied(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.copied.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many events were lost since the start: there was no room, or they came while the program
    /// ran on the same processor, where the kernel does not start it again.
    pub fn lost(&self) -> Result<u64, Error> {
        let refused = bpf::refused("read a BPF map");
        let count =
            bpf::map(&self.object, "lost").lookup(&[0; 4], MapFlags::ANY).map_err(refused)?;
        let count = count.and_then(|bytes| Some(u64::from_ne_bytes(*bytes.first_chunk()?)));
        Ok(count.unwrap_or(0) + self.missed()?)
    }

    /// `recursion_misses` (`bpf_prog_show_fdinfo` of kernel/bpf/syscall.c).
    fn missed(&self) -> Result<u64, Error> {
        let fd = bpf::program(&self.object, "state_changes").as_fd().as_raw_fd();
        let path = format!("/proc/self/fdinfo/{fd}");
        let text = fs::read_to_string(&path)
            .map_err(Error::system("learn whether events were lost", path))?;
        let line = text.lines().find_map(|line| line.strip_prefix("recursion_misses:"));
        Ok(line.and_then(|number| number.trim().parse().ok()).unwrap_or(0))
    }

    /// Asks about sockets, each by its cookie, and hands what the kernel says to `each`.
    pub fn ask(
        &self,
        all: &[(u64, Where)],
        each: &mut dyn FnMut(u64, Answer),
    ) -> Result<(), Error> {
        let refused = bpf::refused("ask the kernel about sockets");
        let map = bpf::map(&self.object, "asked");
        let mut bytes = vec![0; question::BYTES * question::MOST];
        for some in all.chunks(question::MOST) {
            question::encode(some, &mut bytes);
            map.update(&[0; 4], &bytes, MapFlags::ANY).map_err(&refused)?;
            let mut context = some.len().to_ne_bytes();
            let input = ProgramInput { context_in: Some(&mut context), ..Default::default() };
            bpf::program(&self.object, "answers").test_run(input).map_err(&refused)?;
            map.lookup_into(&[0; 4], &mut bytes, MapFlags::ANY).map_err(&refused)?;
            question::decode(some, &bytes, each);
        }
        Ok(())
    }
}

fn key_of(netns: NetnsId) -> [u8; 4] {
    // Inode numbers of namespaces have 32 bits.
    u32::try_from(netns).unwrap_or(0).to_ne_bytes()
}

fn set_size(object: &mut OpenObject, name: &str, entries: u32) -> libbpf_rs::Result<()> {
    let mut maps = object.maps_mut();
    let map = maps.find(|map| map.name().to_str() == Some(name));
    map.expect("the object is part of this program, and has it").set_max_entries(entries)
}

fn queue(object: &Object, copied: Arc<Mutex<Vec<u8>>>) -> libbpf_rs::Result<RingBuffer<'static>> {
    let events = bpf::map(object, "events");
    let mut builder = RingBufferBuilder::new();
    builder.add(&events, move |bytes: &[u8]| {
        copied.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        0
    })?;
    builder.build()
}
