//! How far a sweep is, kept in a file.

use std::{
    collections::VecDeque,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use portolan_probe::{Verdict, space::Shard};
use serde::{Deserialize, Serialize};

use super::{Targets, report::Verdicts};

/// How often the file is written.
const PACE: Duration = Duration::from_secs(1);
/// So many targets are kept as they are written.
const TARGETS_MAX: usize = 8;
/// The version of the file's format.
const VERSION: u32 = 1;

/// What makes a sweep this one, and not another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The first targets, as they are written, for people.
    pub targets: Vec<String>,
    /// Of all targets and of every address that is asked: the order of the checks depends on them.
    pub fingerprint: u64,
    /// Ports, as they are written.
    pub ports: String,
    /// How many checks, after what is left out.
    pub checks: u64,
    /// The part of it.
    pub shard: String,
}

impl Identity {
    /// That of the sweep of one part of all targets.
    pub fn of(targets: &Targets, shard: Shard) -> Self {
        let mut fingerprint = Fingerprint::default();
        targets.written.iter().for_each(|target| fingerprint.add(target));
        targets.space.ranges().iter().for_each(|range| fingerprint.add(&range.to_string()));
        Self {
            targets: targets.written.iter().take(TARGETS_MAX).cloned().collect(),
            fingerprint: fingerprint.0,
            ports: targets.ports.to_string(),
            checks: targets.space.len(),
            shard: shard.to_string(),
        }
    }
}

/// FNV-1a: the same on every machine and in every version.
struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Takes in a text, and that it ends there.
    fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    version: u32,
    #[serde(flatten)]
    identity: Identity,
    seed: u64,
    /// Every position before this one is done.
    next: u64,
    #[serde(flatten)]
    verdicts: Verdicts,
}

/// Where a sweep begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// Of the order.
    pub seed: u64,
    /// The first position to ask.
    pub position: u64,
    /// What was found before.
    pub verdicts: Verdicts,
}

/// Reads where to go on; `None` where there is no file yet.
///
/// # Errors
/// When the file cannot be read, is none of these, or is of another sweep.
pub fn read(
    file: &Path,
    identity: &Identity,
    seed: Option<u64>,
) -> anyhow::Result<Option<Beginning>> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", file.display()));
        }
    };
    let record: Record = serde_json::from_str(&text).with_context(|| {
        format!("{} does not hold how far a sweep is: name another file", file.display())
    })?;
    if record.version != VERSION {
        bail!("{} is of another version of this program", file.display());
    }
    if record.identity != *identity || seed.is_some_and(|seed| seed != record.seed) {
        bail!(
            "{} belongs to another sweep ({}, ports {}, shard {}): give the same arguments, or \
             name another file",
            file.display(),
            record.identity.targets.join(" "),
            record.identity.ports,
            record.identity.shard,
        );
    }
    let Record { seed, next, verdicts, .. } = record;
    Ok(Some(Beginning { seed, position: next, verdicts }))
}

/// Knows up to where everything is done, and writes it down now and then.
#[derive(Debug)]
pub struct Keeper {
    file: Option<(PathBuf, Identity, u64)>,
    /// Checks before this one, in the order in which they were added, are done.
    done_before: u64,
    /// Of those from there on, their positions, and what was found where they are done.
    after: VecDeque<(u64, Option<Verdict>)>,
    /// What was found up to there.
    verdicts: Verdicts,
    /// The position of the first that is not done.
    next: u64,
    written_at: Instant,
}

impl Keeper {
    /// Keeps in `file`, if there is one, how far the sweep with this identity and seed is.
    pub fn new(file: Option<PathBuf>, identity: Identity, beginning: Beginning) -> Self {
        Self {
            file: file.map(|file| (file, identity, beginning.seed)),
            done_before: 0,
            after: VecDeque::new(),
            verdicts: beginning.verdicts,
            next: beginning.position,
            written_at: Instant::now(),
        }
    }

    /// A check was added, at this position of the order. Returns its number.
    pub fn add(&mut self, position: u64) -> u64 {
        self.after.push_back((position, None));
        self.done_before + self.after.len() as u64 - 1
    }

    /// The check of this number is done; `position` is that of the next one to add.
    pub fn finish(&mut self, number: u64, position: u64, verdict: Verdict) {
        let at = number.checked_sub(self.done_before).and_then(|at| usize::try_from(at).ok());
        if let Some(check) = at.and_then(|at| self.after.get_mut(at)) {
            check.1 = Some(verdict);
        }
        while let Some(&(_, Some(verdict))) = self.after.front() {
            self.after.pop_front();
            self.done_before += 1;
            self.verdicts.add(verdict);
        }
        self.next = self.after.front().map_or(position, |&(position, _)| position);
    }

    /// Whether it is time to write down how far it is.
    pub fn is_due(&self) -> bool {
        self.file.is_some() && self.written_at.elapsed() >= PACE
    }

    /// Writes down how far it is; what was found up to there has to be told. What was found of
    /// checks that are done but not among the first is found again: nothing is lost, something may
    /// be told twice.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self) -> anyhow::Result<()> {
        self.written_at = Instant::now();
        let Some((file, identity, seed)) = &self.file else { return Ok(()) };
        let (identity, seed, next) = (identity.clone(), *seed, self.next);
        let verdicts = self.verdicts;
        let record = Record { version: VERSION, identity, seed, next, verdicts };
        let mut part = file.clone().into_os_string();
        part.push(".part");
        let written = serde_json::to_string(&record)
            .map_err(io::Error::other)
            .and_then(|text| fs::write(&part, text + "\n"))
            // As one step: an interruption leaves the old file or the new one.
            .and_then(|()| fs::rename(&part, file));
        written.with_context(|| format!("cannot write {}", file.display()))
    }

    /// Removes the file: there is nothing left to go on with.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self) -> anyhow::Result<()> {
        let Some((file, ..)) = &self.file else { return Ok(()) };
        match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", file.display()))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
