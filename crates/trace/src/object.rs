//! Loading the programs of `bpf/`, whose objects are part of the program, and attaching them.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::fd::AsRawFd,
    sync::{Mutex, MutexGuard, PoisonError},
};

use libbpf_rs::{
    ErrorKind, Link, Map, MapCore, Object, ObjectBuilder, OpenObject, PrintLevel, ProgramMut,
    set_print,
};

use crate::{Attach, Error, TraceOptions, cgroups};

static BTF_OBJECT: &[u8] = include_bytes!("../bpf/btf.bpf.o");
static KPROBE_OBJECT: &[u8] = include_bytes!("../bpf/kprobe.bpf.o");

/// How much of the verifier's log is kept, from its end.
const LOG_LINES: usize = 24;

/// What libbpf said of the object that is being loaded, its verifier's log among it.
static SAID: Mutex<String> = Mutex::new(String::new());

/// One object is loaded at a time.
static LOADING: Mutex<()> = Mutex::new(());

/// Loaded programs and maps, and what keeps them attached.
pub struct Loaded {
    pub object: Object,
    pub attach: Attach,
    /// Why UDP is not traced, where it was asked for.
    pub without_udp: Option<Error>,
    /// Places for connections.
    pub places: u32,
    links: Vec<Link>,
    /// The second program is attached: it is run for events that interrupt the first.
    is_doubled: bool,
}

/// The programs that tell of states, by where they attach.
fn attached(attach: Attach) -> &'static [&'static str] {
    match attach {
        Attach::TpBtf => &["by_tracepoint"],
        Attach::Fentry => &["by_entry", "by_exit_of_listen"],
        Attach::Kprobe => &["by_probe", "by_probe_of_listen"],
    }
}

/// What is run for events that interrupt the first program, where there is such a one.
fn second(attach: Attach) -> Option<&'static str> {
    (attach == Attach::TpBtf).then_some("by_tracepoint_again")
}

/// Those that user space runs.
const ON_DEMAND: [&str; 5] = ["existing", "owners", "walk", "finish", "get_ready"];

/// Those that see datagrams, in the order of leaving and coming.
const DATAGRAMS: [&str; 2] = ["datagram_leaves", "datagram_comes"];

/// Loads the programs for one way to attach, and attaches them. From then on the kernel counts.
pub fn load(attach: Attach, options: &TraceOptions) -> Result<Loaded, Error> {
    let (object, refused_udp) = load_most(attach, options)?;
    let links = attached(attach).iter().map(|name| attach_program(&object, name));
    let mut links: Vec<Link> = links.collect::<Result<_, _>>()?;
    let datagrams = match refused_udp {
        Some(error) => Err(error),
        None if options.udp => attach_datagrams(&object),
        None => Ok(Vec::new()),
    };
    let without_udp = datagrams.map(|more| links.extend(more)).err();
    let places = 1 << places_bits(options);
    Ok(Loaded { object, attach, without_udp, places, links, is_doubled: false })
}

impl Loaded {
    /// The programs that tell of states.
    pub fn attached(&self) -> impl Iterator<Item = &'static str> {
        let second = second(self.attach).filter(|_| self.is_doubled);
        attached(self.attach).iter().copied().chain(second)
    }

    /// Attaches the second program, if that is not done yet. Each event costs more from then on.
    pub fn double(&mut self) -> Result<(), Error> {
        if let Some(name) = second(self.attach).filter(|_| !self.is_doubled) {
            self.links.push(attach_program(&self.object, name)?);
            self.is_doubled = true;
        }
        Ok(())
    }

    /// Whether the second program is attached.
    pub fn is_doubled(&self) -> bool {
        self.is_doubled
    }
}

/// Attaches a program where its section says.
fn attach_program(object: &Object, name: &str) -> Result<Link, Error> {
    let link = program(object, name).attach();
    link.map_err(|error| refused(format!("attach {name}"), error))
}

/// Attaches to the root of the control groups, which all sockets are below.
fn attach_datagrams(object: &Object) -> Result<Vec<Link>, Error> {
    let what = "find the unified hierarchy of control groups";
    let place = "/proc/mounts";
    let not_found = || io::Error::new(io::ErrorKind::NotFound, "no cgroup2 is mounted");
    let root = cgroups::root().ok_or_else(|| Error::system(what, place)(not_found()))?;
    // The root of a control group's namespace looks like one, and is not above all sockets.
    if !cgroups::is_whole(&root) {
        let hidden = "only a part of it is visible: this runs in a container";
        let refused = io::Error::new(io::ErrorKind::NotFound, hidden);
        return Err(Error::system(what, root.display().to_string())(refused));
    }
    let file = File::open(&root).map_err(Error::system(what, root.display().to_string()))?;
    let attach = |name: &&str| {
        let link = program(object, name).attach_cgroup(file.as_raw_fd());
        link.map_err(|error| refused(format!("attach {name}"), error))
    };
    DATAGRAMS.iter().map(attach).collect()
}

/// Loads the programs; those for UDP only if the kernel takes them, else with the reason. A kernel
/// may have been built without programs for control groups.
fn load_most(attach: Attach, options: &TraceOptions) -> Result<(Object, Option<Error>), Error> {
    match load_object(attach, options) {
        Err(error) if options.udp => {
            let without = TraceOptions { udp: false, ..*options };
            // Where that fails too, UDP was not the reason.
            Ok((load_object(attach, &without)?, Some(error)))
        }
        loaded => Ok((loaded?, None)),
    }
}

fn load_object(attach: Attach, options: &TraceOptions) -> Result<Object, Error> {
    let _alone = lock(&LOADING);
    lock(&SAID).clear();
    // It would write its diagnosis to stderr.
    set_print(Some((PrintLevel::Warn, |_, text| lock(&SAID).push_str(&text))));
    let bytes = if attach == Attach::Kprobe { KPROBE_OBJECT } else { BTF_OBJECT };
    let load = || {
        let mut opened = ObjectBuilder::default().open_memory(bytes)?;
        prepare(&mut opened, attach, options)?;
        opened.load()
    };
    let loaded = load();
    set_print(None);
    loaded.map_err(|error| match refused("load the programs".to_owned(), error) {
        Error::Bpf { what, source, .. } => Error::Bpf { what, source, log: verifiers_log() },
        other => other,
    })
}

fn prepare(
    opened: &mut OpenObject,
    attach: Attach,
    options: &TraceOptions,
) -> libbpf_rs::Result<()> {
    for mut program in opened.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let wanted = attached(attach).contains(&&*name)
            || second(attach) == Some(&*name)
            || ON_DEMAND.contains(&&*name)
            || options.udp && DATAGRAMS.contains(&&*name);
        program.set_autoload(wanted);
    }
    let places_bits = places_bits(options);
    for mut map in opened.maps_mut() {
        match &*map.name().to_string_lossy() {
            "edges_0" | "edges_1" => map.set_max_entries(options.edges_max.max(1))?,
            "places" => map.set_max_entries(1 << places_bits)?,
            "parked" => map.set_max_entries(4 << places_bits)?,
            "events" if options.method == crate::MethodName::Stream => {
                let bytes = options.queue_bytes.clamp(4096, 1 << 30).next_power_of_two();
                map.set_max_entries(bytes)?;
            }
            name if name.ends_with(".bss") => {
                let state = map.initial_value_mut().expect("it holds the state");
                write_settings(state, places_bits, options);
            }
            _ => {}
        }
    }
    Ok(())
}

/// log2 of the number of places.
fn places_bits(options: &TraceOptions) -> u32 {
    options.connections.clamp(1024, 1 << 24).next_power_of_two().ilog2()
}

/// `struct state` of bpf/edge.h, as far as it is user space's.
fn write_settings(settings: &mut [u8], places_bits: u32, options: &TraceOptions) {
    let (first, last) = options.ephemeral;
    settings[0..4].copy_from_slice(&options.method.number().to_ne_bytes());
    settings[4..8].copy_from_slice(&places_bits.to_ne_bytes());
    settings[8..10].copy_from_slice(&first.to_ne_bytes());
    settings[10..12].copy_from_slice(&last.to_ne_bytes());
}

/// The last lines of what the kernel's verifier said, if it said anything.
fn verifiers_log() -> String {
    let said = lock(&SAID);
    let Some((_, log)) = said.split_once("BEGIN PROG LOAD LOG --") else {
        return String::new();
    };
    let log = log.split("-- END PROG LOAD LOG").next().unwrap_or_default();
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}

/// A program of an object by its name in C.
pub fn program<'a>(object: &'a Object, name: &str) -> ProgramMut<'a> {
    object
        .progs_mut()
        .find(|program| program.name() == OsStr::new(name))
        .expect("the object is part of this program, and has it")
}

/// A map of an object by its name in C.
pub fn map<'a>(object: &'a Object, name: &str) -> Map<'a> {
    object
        .maps()
        .find(|map| map.name() == OsStr::new(name))
        .expect("the object is part of this program, and has it")
}

/// The error of a call to libbpf.
pub fn refused(what: String, error: libbpf_rs::Error) -> Error {
    let kind = match error.kind() {
        ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
        ErrorKind::NotFound => io::ErrorKind::NotFound,
        ErrorKind::InvalidInput => io::ErrorKind::InvalidInput,
        ErrorKind::OutOfMemory => io::ErrorKind::OutOfMemory,
        _ => io::ErrorKind::Other,
    };
    Error::Bpf { what, source: io::Error::new(kind, error), log: String::new() }
}

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
