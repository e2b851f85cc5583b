//! The numbers that only some scenarios have.

use super::{samples, text};
use crate::{Figure, Lane, RealSpread};

/// What the values of one name come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) spread: RealSpread,
}

/// Each name that the runs of `lane` have, in their order, then what was seen in a run of its own.
pub(super) fn of_lane(lane: &Lane) -> Vec<Seen> {
    let runs = samples(lane).unwrap_or_default().iter().map(|sample| sample.figures.as_slice());
    let closer = lane.closer.as_deref().unwrap_or_default();
    let all: Vec<Figure> = runs.chain([closer]).flatten().copied().collect();
    let mut seen: Vec<Seen> = Vec::new();
    for Figure { name, unit, .. } in &all {
        if seen.iter().any(|known| known.name == *name) {
            continue;
        }
        let values = all.iter().filter(|figure| figure.name == *name).map(|figure| figure.value);
        seen.extend(RealSpread::of(values).map(|spread| Seen { name, unit, spread }));
    }
    seen
}

/// The names that `lanes` have, in order of their first appearance.
pub(super) fn names<'a>(lanes: impl IntoIterator<Item = &'a Lane>) -> Vec<&'static str> {
    let mut names = Vec::new();
    for seen in lanes.into_iter().flat_map(of_lane) {
        if !names.contains(&seen.name) {
            names.push(seen.name);
        }
    }
    names
}

/// A name as people read it.
pub(super) fn heading(name: &str) -> String {
    name.trim_end_matches("_us").replace('_', " ")
}

/// The medians of `lane` for each of `names`, for people; empty where it has none.
pub(super) fn cells(lane: &Lane, names: &[&str]) -> Vec<String> {
    let seen = of_lane(lane);
    let cell = |name: &&str| {
        let seen = seen.iter().find(|seen| seen.name == *name);
        seen.map_or_else(String::new, |seen| text::number(seen.spread.median, seen.unit))
    };
    names.iter().map(cell).collect()
}

#[cfg(test)]
mod tests;
