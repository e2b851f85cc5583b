//! What bpf(2) can do and libraries do not: to read a hash map whole, and empty it; to count what
//! programs cost.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

use rustix::thread::{MembarrierCommand, membarrier};

/// `BPF_MAP_LOOKUP_BATCH` and `BPF_MAP_LOOKUP_AND_DELETE_BATCH` of include/uapi/linux/bpf.h.
const LOOKUP_BATCH: libc::c_long = 24;
const LOOKUP_AND_DELETE_BATCH: libc::c_long = 25;

/// `BPF_ENABLE_STATS`, and `BPF_STATS_RUN_TIME`.
const ENABLE_STATS: libc::c_long = 32;
const STATS_RUN_TIME: u32 = 0;

/// What the kernel finds wrong before it says how many entries it has copied
/// (`__htab_map_lookup_and_delete_batch` of kernel/bpf/hashtab.c).
const NOT_BEGUN: [i32; 4] = [libc::EINVAL, libc::EBADF, libc::EPERM, libc::EFAULT];

/// A hash map whose bucket holds more entries than this at once is none that works.
const BATCH_MAX: usize = 1 << 22;

/// The part of `union bpf_attr` that is for batches.
#[repr(C)]
#[derive(Default)]
struct Batch {
    in_batch: u64,
    out_batch: u64,
    keys: u64,
    values: u64,
    count: u32,
    map_fd: u32,
    elem_flags: u64,
    flags: u64,
}

/// Reads hash maps whole, with buffers that are kept.
#[derive(Debug)]
pub struct Batches {
    key_bytes: usize,
    value_bytes: usize,
    /// How many entries the buffers hold.
    room: usize,
    keys: Vec<u8>,
    values: Vec<u8>,
}

impl Batches {
    /// For maps with keys and values of these sizes in bytes, both multiples of eight as the kernel
    /// lays values out.
    #[must_use]
    pub fn new(key_bytes: usize, value_bytes: usize) -> Self {
        assert!(key_bytes > 0 && value_bytes.is_multiple_of(8), "as the kernel lays them out");
        Self { key_bytes, value_bytes, room: 4096, keys: Vec::new(), values: Vec::new() }
    }

    /// Hands each key with its value to `each`, as [`Batches::take`], and leaves them. Of entries
    /// that come or go meanwhile, some are told; others may be told twice.
    ///
    /// # Errors
    /// As for [`Batches::take`].
    pub fn read(
        &mut self,
        map: BorrowedFd<'_>,
        each: &mut dyn FnMut(&[u8], &[u8]),
    ) -> io::Result<()> {
        self.all(map, LOOKUP_BATCH, each)
    }

    /// Takes the entries of `map`, which must be a hash map with entries of the sizes that this was
    /// made for, and hands each key with its value to `each`. Nobody may write to it meanwhile:
    /// what is written while its entry is taken may be lost.
    ///
    /// # Errors
    /// `EINVAL` where the kernel has no batches for this kind of map (before 5.6); others as
    /// bpf(2) has them. What was handed out before is gone from the map.
    pub fn take(
        &mut self,
        map: BorrowedFd<'_>,
        each: &mut dyn FnMut(&[u8], &[u8]),
    ) -> io::Result<()> {
        self.all(map, LOOKUP_AND_DELETE_BATCH, each)
    }

    fn all(
        &mut self,
        map: BorrowedFd<'_>,
        command: libc::c_long,
        each: &mut dyn FnMut(&[u8], &[u8]),
    ) -> io::Result<()> {
        let mut token = 0_u32;
        let mut begun = false;
        loop {
            self.keys.resize(self.room * self.key_bytes, 0);
            self.values.resize(self.room * self.value_bytes, 0);
            let mut next = 0_u32;
            let mut batch = Batch {
                in_batch: if begun { address(&mut token) } else { 0 },
                out_batch: address(&mut next),
                keys: self.keys.as_mut_ptr() as u64,
                values: self.values.as_mut_ptr() as u64,
                count: u32::try_from(self.room).unwrap_or(u32::MAX),
                map_fd: u32::try_from(map.as_raw_fd()).expect("a descriptor is not negative"),
                ..Batch::default()
            };
            let done = call(command, &mut batch);
            let code = done.as_ref().err().and_then(io::Error::raw_os_error);
            // A chain of the hash map is longer than the buffer (kernel/bpf/hashtab.c); nothing of
            // it was taken.
            if code == Some(libc::ENOSPC) && self.room < BATCH_MAX {
                self.room *= 2;
                continue;
            }
            // The kernel says how many it has copied, also where it could not go on; where it did
            // not even begin, the number is still ours.
            if code.is_none_or(|code| !NOT_BEGUN.contains(&code)) {
                let taken = usize::try_from(batch.count).unwrap_or(0).min(self.room);
                let keys = self.keys.chunks_exact(self.key_bytes);
                let values = self.values.chunks_exact(self.value_bytes);
                keys.zip(values).take(taken).for_each(|(key, value)| each(key, value));
            }
            match done {
                Ok(()) => {}
                Err(_) if code == Some(libc::ENOENT) => return Ok(()),
                Err(error) => return Err(error),
            }
            token = next;
            begun = true;
        }
    }
}

fn address(number: &mut u32) -> u64 {
    std::ptr::from_mut(number) as u64
}

fn call(command: libc::c_long, batch: &mut Batch) -> io::Result<()> {
    // SAFETY: the kernel reads and writes `batch`, and through it only what `all` made: two
    // numbers that outlive the call, and buffers with room for `count` entries of the map's sizes.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(batch), size_of::<Batch>())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Has the kernel count the runs of every BPF program and their time (`run_cnt` and `run_time_ns`
/// of `/proc/PID/fdinfo`) until what is returned is closed, which the end of the process does too,
/// however it ends. `kernel.bpf_stats_enabled` does the same, and outlives whoever sets it.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN`, `EINVAL` before Linux 5.8.
pub fn count_run_time() -> io::Result<OwnedFd> {
    let kind = std::ptr::from_ref(&STATS_RUN_TIME);
    // SAFETY: the kernel reads four bytes, `union bpf_attr` for this command.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, ENABLE_STATS, kind, size_of_val(&STATS_RUN_TIME)) };
    let descriptor = i32::try_from(result).unwrap_or(-1);
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it for us, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Waits until every BPF program that runs now, on any processor, has ended: they run under RCU,
/// and this waits for a grace period (kernel/sched/membarrier.c). Takes some milliseconds, and no
/// processor time.
///
/// # Errors
/// `EINVAL` where some processors have no tick (`nohz_full`), `ENOSYS` where the kernel was built
/// without it.
pub fn wait_for_programs() -> io::Result<()> {
    Ok(membarrier(MembarrierCommand::Global)?)
}
