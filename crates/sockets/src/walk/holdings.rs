//! The program of `bpf/holders.bpf.c`: who holds which socket.

use std::sync::{Mutex, PoisonError};

use libbpf_rs::Object;

use super::run::{copy, run};
use crate::{
    Error,
    bpf::{self, word},
};

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

/// What [`holdings`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// All that was told before is to be forgotten: it is told again.
    Again,
    /// A process has a descriptor of the socket with this inode number.
    By {
        /// The inode number.
        inode: u32,
        /// The process's id, in the observer's PID namespace.
        pid: u32,
    },
}

/// Tells of every descriptor of a socket whose it is.
///
/// # Errors
/// When BPF is not possible here.
pub fn holdings(tell: &mut dyn FnMut(Held)) -> Result<(), Error> {
    let object = OBJECT.get()?;
    let mut bytes = BUFFER.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..ATTEMPTS {
        if read(object, &mut bytes, tell)? {
            return Ok(());
        }
        tell(Held::Again);
    }
    Err(Error::Restless)
}

/// False when the process to go on with ended in between.
fn read(object: &Object, bytes: &mut Vec<u8>, tell: &mut dyn FnMut(Held)) -> Result<bool, Error> {
    let mut goes_on = 0;
    loop {
        let more = run(object, "holders", &[goes_on])?;
        copy(object, "holdings", 0, bytes)?;
        if word(bytes, 20) != 0 {
            return Ok(false);
        }
        let count = usize::try_from(word(bytes, 0)).expect("it fits into memory");
        for pair in bytes[HEAD_BYTES..].chunks_exact(8).take(count) {
            tell(Held::By { inode: word(pair, 0), pid: word(pair, 4) });
        }
        if !more {
            return Ok(true);
        }
        goes_on = 1;
    }
}
