//! Which method is used, and why not another.

use std::io;

use anyhow::Context;
use portolan_probe::{Method, MethodName, SynSettings, open};
use portolan_sys::{
    capabilities::{self, CapabilitySet},
    limits,
};

use super::ProbeArgs;

/// From so many addresses on, going past the kernel's IP is worth what it takes: to open and close
/// packet sockets takes a sixth of a second, and the kernel has room for a thousand neighbours.
const ADDRESSES_MIN: u128 = 512;
/// From so many checks on, more source ports are worth their descriptors.
const CHECKS_MIN: u64 = 512;

/// Opens the method asked for, or the best one that this host allows, for so many checks of so many
/// addresses; then gives up every privilege that is not needed further on.
///
/// # Errors
/// Why it cannot be used, and what to do.
pub fn open_for(
    checks: u64,
    addresses: u128,
    args: &ProbeArgs,
) -> anyhow::Result<Box<dyn Method + Send>> {
    // Sockets are what the methods of the kernel use up.
    let _as_it_was = limits::raise_descriptors();
    let settings = SynSettings {
        ports: if checks < CHECKS_MIN { 16 } else { 64 },
        past_ip: addresses >= ADDRESSES_MIN,
        capacity: usize::try_from(checks).unwrap_or(usize::MAX).clamp(1, 1 << 16),
    };
    let method = match args.method.method() {
        Some(name) => open(name, settings).map_err(|error| refusal(name, error))?,
        None => best(settings)?,
    };
    // What they opened, they keep. The file of `--resume` is written again and again, and without
    // this one root is a stranger in other users' folders.
    let keep = match args.resume {
        Some(_) => CapabilitySet::DAC_OVERRIDE,
        None => CapabilitySet::empty(),
    };
    capabilities::retain(keep).context("cannot give up privileges")?;
    Ok(method)
}

fn best(settings: SynSettings) -> anyhow::Result<Box<dyn Method + Send>> {
    match open(MethodName::Syn, settings) {
        Ok(method) => return Ok(method),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            tell!("portolan: asking by quiet; syn is faster and needs CAP_NET_RAW: run with sudo");
        }
        Err(error) => tell!("portolan: asking by quiet; syn cannot be used: {error}"),
    }
    open(MethodName::Quiet, settings).map_err(|error| refusal(MethodName::Quiet, error))
}

fn refusal(name: MethodName, error: io::Error) -> anyhow::Error {
    let is_denied = error.kind() == io::ErrorKind::PermissionDenied;
    let what = match name {
        MethodName::Syn if is_denied => {
            "cannot ask by syn, which needs CAP_NET_RAW: run with sudo, or use --method quiet, \
             which needs none"
                .to_owned()
        }
        MethodName::Syn => "cannot ask by syn: use --method quiet".to_owned(),
        _ => format!("cannot ask by {}", name.name()),
    };
    anyhow::Error::new(error).context(what)
}
