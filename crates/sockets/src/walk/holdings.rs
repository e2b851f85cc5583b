//! The program of `bpf/holders.bpf.c`: who holds which socket.

use std::sync::{Mutex, PoisonError};

use libbpf_rs::Object;

use super::run::{copy, run, word};
use crate::{Error, bpf};

static OBJECT: bpf::Lazy = bpf::Lazy::new(include_bytes!("../../bpf/holders.bpf.o"));

/// What the program filled; empty until it is needed. One for all: so is the program's.
static BUFFER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// `struct holdings` without its pairs.
const HEAD_BYTES: usize = 24;

/// So often the processes are read again when the one to go on with has ended.
const ATTEMPTS: u32 = 8;

/// Whether the program can be loaded here.
pub fn can_find_holders() -> bool {
    OBJECT.get().is_ok()
}

/// Every socket that a process holds, as its inode number and the process's id, in the observer's
/// PID namespace: one for each descriptor.
///
/// # Errors
/// When BPF is not possible here.
pub fn holdings() -> Result<Vec<(u32, u32)>, Error> {
    let object = OBJECT.get()?;
    let mut bytes = BUFFER.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found = Vec::new();
    for _ in 0..ATTEMPTS {
        found.clear();
        if read(object, &mut bytes, &mut found)? {
            return Ok(found);
        }
    }
    Err(Error::Restless)
}

/// False when the process to go on with ended in between.
fn read(object: &Object, bytes: &mut Vec<u8>, found: &mut Vec<(u32, u32)>) -> Result<bool, Error> {
    let mut goes_on = 0;
    loop {
        let more = run(object, "holders", &[goes_on])?;
        copy(object, "holdings", 0, bytes)?;
        if word(bytes, 20) != 0 {
            return Ok(false);
        }
        let count = usize::try_from(word(bytes, 0)).expect("it fits into memory");
        let pairs = bytes[HEAD_BYTES..].chunks_exact(8).take(count);
        found.extend(pairs.map(|pair| (word(pair, 0), word(pair, 4))));
        if !more {
            return Ok(true);
        }
        goes_on = 1;
    }
}
