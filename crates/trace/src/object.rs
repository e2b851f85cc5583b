//! Loading the programs of `bpf/`, whose objects are part of the program, and attaching them.

use std::{
    ffi::OsStr,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use libbpf_rs::{
    ErrorKind, Link, Map, MapCore, Object, ObjectBuilder, OpenObject, PrintLevel, ProgramMut,
    set_print,
};

use crate::{Attach, Error, TraceOptions, UdpAttach, cgroups, datagrams};

static BTF_OBJECT: &[u8] = include_bytes!("../bpf/btf.bpf.o");
static KPROBE_OBJECT: &[u8] = include_bytes!("../bpf/kprobe.bpf.o");
static CGROUP_OBJECT: &[u8] = include_bytes!("../bpf/cgroup.bpf.o");

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
    /// Where UDP is seen, if it is.
    pub udp: Option<UdpAttach>,
    /// Why better ways to see UDP were passed over; all, where none works.
    pub udp_passed_over: Vec<(UdpAttach, Error)>,
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
        Attach::Cgroup => {
            &["connects_v4", "connects_v6", "binds_v4", "binds_v6", "releases", "by_sockops"]
        }
    }
}

/// What is run for events that interrupt the first program, where there is such a one.
fn second(attach: Attach) -> Option<&'static str> {
    (attach == Attach::TpBtf).then_some("by_tracepoint_again")
}

/// Those that user space runs; no object has all of them.
const ON_DEMAND: [&str; 6] = ["existing", "owners", "list", "walk", "finish", "get_ready"];

/// Loads the programs for one way to attach, and attaches them. From then on the kernel counts.
pub fn load(attach: Attach, options: &TraceOptions) -> Result<Loaded, Error> {
    let (object, udp) = load_with_datagrams(attach, options)?;
    let states = attached(attach);
    let mut links = match attach {
        Attach::Cgroup => cgroups::attach(&object, states)?,
        _ => states.iter().map(|name| attach_program(&object, name)).collect::<Result<_, _>>()?,
    };
    links.extend(udp.links);
    let places = 1 << places_bits(options);
    let (udp, udp_passed_over) = (udp.attach, udp.passed_over);
    Ok(Loaded { object, attach, udp, udp_passed_over, places, links, is_doubled: false })
}

/// How UDP is seen.
#[derive(Default)]
struct Udp {
    attach: Option<UdpAttach>,
    links: Vec<Link>,
    passed_over: Vec<(UdpAttach, Error)>,
}

/// Loads the programs, with those for UDP in the first way that the kernel takes, attached already.
/// A kernel may be locked down, and may have been built without programs for control groups.
fn load_with_datagrams(attach: Attach, options: &TraceOptions) -> Result<(Object, Udp), Error> {
    let load = |way| {
        let object = load_object(attach, options, Some(way))?;
        let links = datagrams::attach(&object, attach, way)?;
        Ok((object, Udp { attach: Some(way), links, passed_over: Vec::new() }))
    };
    if let Some(way) = options.udp_attach.filter(|_| options.udp) {
        return if attach.udp().contains(&way) {
            load(way)
        } else {
            Err(Error::Apart { attach, udp: way })
        };
    }
    let mut passed_over = Vec::new();
    for &way in attach.udp().iter().filter(|_| options.udp) {
        match load(way) {
            Ok((object, udp)) => return Ok((object, Udp { passed_over, ..udp })),
            Err(error) => passed_over.push((way, error)),
        }
    }
    // Where that fails too, UDP was not the reason.
    Ok((load_object(attach, options, None)?, Udp { passed_over, ..Udp::default() }))
}

impl Loaded {
    /// The programs that tell of states.
    pub fn attached(&self) -> impl Iterator<Item = &'static str> {
        let second = second(self.attach).filter(|_| self.is_doubled);
        attached(self.attach).iter().copied().chain(second)
    }

    /// The programs that see datagrams.
    pub fn datagrams(&self) -> impl Iterator<Item = &'static str> {
        self.udp.into_iter().flat_map(|way| datagrams::programs(self.attach, way)).copied()
    }

    /// Why UDP is not traced, where it was asked for.
    pub fn without_udp(&self) -> Option<&Error> {
        self.udp_passed_over.last().map(|(_, error)| error).filter(|_| self.udp.is_none())
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
pub fn attach_program(object: &Object, name: &str) -> Result<Link, Error> {
    let link = program(object, name).attach();
    link.map_err(|error| refused(format!("attach {name}"), error))
}

fn load_object(
    attach: Attach,
    options: &TraceOptions,
    udp: Option<UdpAttach>,
) -> Result<Object, Error> {
    let _alone = lock(&LOADING);
    lock(&SAID).clear();
    // It would write its diagnosis to stderr.
    set_print(Some((PrintLevel::Warn, |_, text| lock(&SAID).push_str(&text))));
    let bytes = match attach {
        Attach::TpBtf | Attach::Fentry => BTF_OBJECT,
        Attach::Kprobe => KPROBE_OBJECT,
        Attach::Cgroup => CGROUP_OBJECT,
    };
    let load = || {
        let mut opened = ObjectBuilder::default().open_memory(bytes)?;
        prepare(&mut opened, attach, options, udp)?;
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
    udp: Option<UdpAttach>,
) -> libbpf_rs::Result<()> {
    for mut program in opened.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let wanted = attached(attach).contains(&&*name)
            || second(attach) == Some(&*name)
            || ON_DEMAND.contains(&&*name)
            || udp.is_some_and(|way| datagrams::programs(attach, way).contains(&&*name));
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

#[cfg(test)]
mod tests;
