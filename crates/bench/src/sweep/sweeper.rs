//! One that sweeps a network.

use std::{
    ops::RangeInclusive,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    Format, Network,
    blocks::blocks,
    found::{self, Found},
    network::LOSSY,
    peers::Args,
};
use crate::{
    Contestant, Fault, Figure, Purpose, Sample, Stdout, measure,
    program::{Executable, RUN_TIME_MAX, ended_with, too_large},
    world::link,
};

/// A line for each address, of at most so many bytes.
const LINE_BYTES_MAX: u64 = 1024;

/// What there is beside them.
const OUTPUT_BYTES_BESIDE: u64 = 1024 * 1024;

/// A network to sweep.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) name: &'static str,
    pub(super) baseline: &'static str,
    /// What the names of its contestants end with.
    pub(super) mark: &'static str,
    pub(super) network: &'static Network,
}

/// Why nothing gets lost where something should, once the world is made.
#[derive(Clone, Debug, Default)]
pub(super) struct Loss(Arc<Mutex<Option<String>>>);

impl Loss {
    pub(super) fn set(&self, why_not: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = why_not;
    }

    fn why_not(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The contestant.
#[derive(Clone, Debug)]
pub(super) struct Sweeper {
    pub(super) name: String,
    pub(super) about: &'static str,
    pub(super) task: &'static Task,
    pub(super) file: Executable,
    pub(super) args: Args,
    pub(super) format: Format,
    pub(super) size_max: Option<u64>,
    pub(super) loss: Loss,
}

impl Contestant for Sweeper {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn task(&self) -> &'static str {
        self.task.name
    }

    fn baseline(&self) -> &'static str {
        self.task.baseline
    }

    fn is_own(&self) -> bool {
        self.file.is_own()
    }

    fn absent(&self, size: u64) -> Option<String> {
        let no_loss = || self.loss.why_not().filter(|_| self.task.network.first == LOSSY.first);
        self.file.missing().or_else(|| too_large(size, self.size_max)).or_else(no_loss)
    }

    /// Who does not find all is not wrong: how many were lost is a result.
    fn rows_expected(&self, size: u64) -> RangeInclusive<u64> {
        1..=size
    }

    fn run(&mut self, size: u64, _purpose: Purpose) -> Result<Sample, Fault> {
        let network = self.task.network;
        let args = (self.args)(network, &blocks(network.first, size));
        let program = self.file.program()?.with(args);
        let before = link::packets_sent(network.device)?;
        let bytes_max = size.saturating_mul(LINE_BYTES_MAX).saturating_add(OUTPUT_BYTES_BESIDE);
        let measured = measure(&program, Stdout::Store { bytes_max }, RUN_TIME_MAX)?;
        let packets = link::packets_sent(network.device)?.saturating_sub(before);
        // 1 of our own: not all are open.
        let fine: &[i32] = if self.is_own() { &[0, 1] } else { &[0] };
        ended_with(&measured, fine)?;
        let found = found::read(&measured.kept, self.format, network.first, size)?;
        Ok(Sample {
            rows: Some(found.addresses),
            figures: figures(found, size, packets),
            ..Sample::from(&measured)
        })
    }
}

fn figures(found: Found, size: u64, packets: u64) -> Vec<Figure> {
    vec![
        Figure::count("found", "addresses", found.addresses),
        Figure::count("lost", "addresses", size.saturating_sub(found.addresses)),
        Figure::count("duplicates", "addresses", found.duplicates),
        Figure::per("packets_per_target", "packets", packets, size),
    ]
}
