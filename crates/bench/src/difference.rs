//! How far two contestants are apart, and how sure that is. Pure.
//!
//! A disturbance that lasts longer than a round is in both runs of a round, so what is looked at
//! are the differences within the rounds, not the difference of two sums.

use crate::{Lane, Order, Outcome, Sample};

/// A figure that is compared with the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The figure.
    pub figure: &'static str,
    /// How records call the difference.
    pub name: &'static str,
    /// What is said of the two.
    pub by: By,
}

/// How two figures of a round are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The own one less the baseline's.
    Less,
    /// The own one as a multiple of the baseline's: what a disturbance of both leaves as it is.
    Times,
}

impl By {
    fn of(self, own: f64, baseline: f64) -> f64 {
        match self {
            Self::Less => own - baseline,
            Self::Times => own / baseline,
        }
    }

    fn unit(self, of_figure: &'static str) -> &'static str {
        match self {
            Self::Less => of_figure,
            Self::Times => "×",
        }
    }
}

/// A contestant's figure held against the baseline's of the same round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// How records call it.
    pub name: &'static str,
    /// The figure's, or `×`.
    pub unit: &'static str,
    /// The mean over the rounds without the fifth at either end, which disturbances are in.
    pub mean: f64,
    /// The true one lies between these in 95 of 100 such measurements; `None` where there were
    /// fewer than six rounds, which say too little for that.
    pub bounds: Option<(f64, f64)>,
    /// How many rounds.
    pub rounds: usize,
}

impl Difference {
    /// What `differences`, one for each round, come to; `None` of none.
    fn of(name: &'static str, unit: &'static str, differences: &[f64]) -> Option<Self> {
        let mean = trimmed_mean(&mut differences.to_vec())?;
        Some(Self { name, unit, mean, bounds: bounds(differences), rounds: differences.len() })
    }
}

/// Fewer say nothing of what more would have been.
const ROUNDS_MIN: usize = 6;

/// So many times the rounds are drawn anew.
const DRAWS: u32 = 4_000;

/// The share of draws that is left out at either end.
const TAIL: f64 = 0.025;

/// So much of the values is left out at either end: one of so many.
const TRIMMED_OF: usize = 5;

fn trimmed_mean(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let cut = values.len() / TRIMMED_OF;
    let kept = &values[cut..values.len() - cut];
    #[expect(clippy::cast_precision_loss, reason = "a few rounds")]
    (!kept.is_empty()).then(|| kept.iter().sum::<f64>() / kept.len() as f64)
}

/// The bootstrap's percentile interval: what would have come out, had the rounds been others.
fn bounds(differences: &[f64]) -> Option<(f64, f64)> {
    let count = differences.len();
    if count < ROUNDS_MIN {
        return None;
    }
    // The same for the same differences: a report that is written twice is the same twice.
    let mut draws = Order { seed: 1 }.draws();
    let mut means: Vec<f64> = (0..DRAWS)
        .filter_map(|_| {
            let mut drawn: Vec<f64> = (0..count).map(|_| differences[draws.below(count)]).collect();
            trimmed_mean(&mut drawn)
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "thousands"
    )]
    let cut = (means.len() as f64 * TAIL) as usize;
    Some((*means.get(cut)?, *means.get(means.len() - 1 - cut)?))
}

/// Compares each of `lanes` with its baseline.
pub(crate) fn compare(lanes: &mut [Lane], compared: &[Compared]) {
    let all: Vec<Vec<Difference>> =
        lanes.iter().map(|lane| of_lane(lane, lanes, compared)).collect();
    for (lane, differences) in lanes.iter_mut().zip(all) {
        lane.differences = differences;
    }
}

fn of_lane(lane: &Lane, lanes: &[Lane], compared: &[Compared]) -> Vec<Difference> {
    let baseline = lanes.iter().find(|other| other.contestant == lane.baseline);
    let Some(baseline) = baseline.filter(|other| other.contestant != lane.contestant) else {
        return Vec::new();
    };
    let (Outcome::Measured(own), Outcome::Measured(other)) = (&lane.outcome, &baseline.outcome)
    else {
        return Vec::new();
    };
    let find =
        |sample: &Sample, name| sample.figures.iter().find(|figure| figure.name == name).copied();
    compared
        .iter()
        .filter_map(|&Compared { figure, name, by }| {
            // Who is measured ran in every round, so the nth samples are of the same round.
            let pairs = own.iter().zip(other);
            let both: Vec<_> = pairs
                .filter_map(|(own, other)| Some((find(own, figure)?, find(other, figure)?)))
                .collect();
            let differences: Vec<f64> =
                both.iter().map(|(own, other)| by.of(own.value, other.value)).collect();
            Difference::of(name, by.unit(both.first()?.0.unit), &differences)
        })
        .collect()
}

#[cfg(test)]
mod tests;
