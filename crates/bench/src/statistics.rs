//! The numbers that stand for many runs. Pure.

/// The middle and the ends of a set of values.
///
/// No mean and no standard deviation: run times have a long tail on one side, and one
/// disturbance would move both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Half of the values are at most this; of an even number, the mean of the middle two,
    /// rounded down.
    pub median: u64,
    /// The least.
    pub min: u64,
    /// The greatest.
    pub max: u64,
}

impl Spread {
    /// The spread of `values`, in their unit; `None` of none.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut values: Vec<u64> = values.into_iter().collect();
        values.sort_unstable();
        let (&min, &max) = (values.first()?, values.last()?);
        let upper = values[values.len() / 2];
        let median = if values.len() % 2 == 1 {
            upper
        } else {
            values[values.len() / 2 - 1].midpoint(upper)
        };
        Some(Self { median, min, max })
    }
}

/// The same of numbers that are no integers; that are not numbers at all come last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RealSpread {
    /// The middle one; of an even number, the mean of the middle two.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl RealSpread {
    /// The spread of `values`, in their unit; `None` of none.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let (lower, upper) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Self { median: lower.midpoint(upper), min, max })
    }
}

/// How many times `baseline` a value is; `None` where the baseline is 0.
#[must_use]
pub fn ratio(value: u64, baseline: u64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    (baseline > 0).then(|| value as f64 / baseline as f64)
}

#[cfg(test)]
mod tests;
