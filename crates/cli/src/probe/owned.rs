//! Whose networks are swept: a sweep of somebody else's is an attack to them, and often to the
//! law.

use std::{env, fs, io, path::PathBuf};

use anyhow::{Context, bail};
use portolan_probe::{
    space::{Ranges, own_networks},
    targets::parse_file,
};

use super::Targets;

/// As many checks outside are no sweep: a few services and their ports.
const CHECKS_MAX: u64 = 64;

/// Refuses a sweep of addresses that are neither private nor loopback nor allowed by the
/// configuration.
///
/// # Errors
/// Which they are, and what to do; an allow list that cannot be read.
pub fn ensure_owned(targets: &Targets) -> anyhow::Result<()> {
    let foreign = targets.outside(&own_networks().union(&allowed()?))?;
    if foreign.len() <= CHECKS_MAX {
        return Ok(());
    }
    let Some(first) = foreign.ranges().iter().next() else { return Ok(()) };
    let lists = lists().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" or ");
    bail!(
        "{first} is outside private networks, and to ask there for more than {CHECKS_MAX} ports is \
         a sweep, which its owner may take for an attack: with their consent, say \
         --i-own-these-networks, or name the network in {lists}"
    );
}

/// The files that name networks which may be swept, one to a line.
fn lists() -> impl Iterator<Item = PathBuf> {
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".config"));
    let user = env::var_os("XDG_CONFIG_HOME").filter(|it| !it.is_empty()).map(PathBuf::from);
    let folders = user.or_else(home).into_iter().chain([PathBuf::from("/etc")]);
    folders.map(|folder| folder.join("portolan/own-networks"))
}

fn allowed() -> anyhow::Result<Ranges> {
    let mut ranges = Vec::new();
    for file in lists() {
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", file.display()));
            }
        };
        for target in parse_file(&text, &|_| None) {
            let (line, target) = target.with_context(|| file.display().to_string())?;
            let before = ranges.len();
            ranges.extend(target.hosts.ranges());
            if ranges.len() == before || target.port.is_some() {
                bail!(
                    "{}, line {line}: {target}: write a network, such as 192.0.2.0/24",
                    file.display()
                );
            }
        }
    }
    Ok(Ranges::collect(ranges)?)
}
