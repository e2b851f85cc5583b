//! Loading the BPF programs of this crate (`bpf/`), whose objects are part of the program.

use std::{
    ffi::OsStr,
    io,
    sync::{Mutex, OnceLock, PoisonError},
};

use libbpf_rs::{
    ErrorKind, Map, MapCore, Object, ObjectBuilder, OpenObject, ProgramMut, set_print,
};

use crate::Error;

/// An object that is loaded when it is first asked for, once in a process.
pub(crate) struct Lazy {
    bytes: &'static [u8],
    loaded: OnceLock<Object>,
    loading: Mutex<()>,
}

impl Lazy {
    /// An object that is part of this program.
    pub const fn new(bytes: &'static [u8]) -> Self {
        Self { bytes, loaded: OnceLock::new(), loading: Mutex::new(()) }
    }

    /// The object with its programs in the kernel.
    ///
    /// # Errors
    /// As for [`load`]; what failed is tried again by the next that asks.
    pub fn get(&self) -> Result<&Object, Error> {
        let _alone = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        match self.loaded.get() {
            Some(loaded) => Ok(loaded),
            None => {
                let object = load(self.bytes)?;
                Ok(self.loaded.get_or_init(|| object))
            }
        }
    }
}

/// Loads all programs of an object; libbpf fits them to the running kernel by its BTF.
///
/// # Errors
/// `EPERM` without CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN); and where the kernel has no BTF,
/// lacks what a program needs, or was told to refuse.
pub(crate) fn load(object: &[u8]) -> Result<Object, Error> {
    load_with(object, |_| Ok(()))
}

/// The same, with what `prepare` sets before.
pub(crate) fn load_with(
    object: &[u8],
    prepare: impl FnOnce(&mut OpenObject) -> libbpf_rs::Result<()>,
) -> Result<Object, Error> {
    // It would write its own diagnosis to stderr.
    set_print(None);
    let load = || {
        let mut opened = ObjectBuilder::default().open_memory(object)?;
        prepare(&mut opened)?;
        opened.load()
    };
    load().map_err(refused("load a BPF program"))
}

/// A program of an object by its name in C.
pub(crate) fn program<'a>(object: &'a Object, name: &str) -> ProgramMut<'a> {
    object
        .progs_mut()
        .find(|program| program.name() == OsStr::new(name))
        .expect("the object is part of this program, and has it")
}

/// A map of an object by its name in C.
pub(crate) fn map<'a>(object: &'a Object, name: &str) -> Map<'a> {
    object
        .maps()
        .find(|map| map.name() == OsStr::new(name))
        .expect("the object is part of this program, and has it")
}

/// The error of a call to libbpf.
pub(crate) fn refused(what: &'static str) -> impl Fn(libbpf_rs::Error) -> Error {
    move |error| {
        let kind = match error.kind() {
            ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
            ErrorKind::NotFound => io::ErrorKind::NotFound,
            ErrorKind::InvalidInput => io::ErrorKind::InvalidInput,
            ErrorKind::OutOfMemory => io::ErrorKind::OutOfMemory,
            ErrorKind::WouldBlock => io::ErrorKind::WouldBlock,
            _ => io::ErrorKind::Other,
        };
        Error::Bpf { what, source: io::Error::new(kind, error) }
    }
}

/// A number of four bytes, in host byte order, of what a program told.
pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
