//! From numbers to places on an axis.

/// A scale has so many steps, at most.
const STEPS_MAX: f64 = 6.0;

/// From where to where an axis goes, in steps that are easy to read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The value at its beginning.
    pub low: f64,
    /// The value at its end.
    pub high: f64,
    /// From one mark to the next: to be added, or on a logarithmic scale to be multiplied with.
    pub step: f64,
    /// Whether equal distances are equal factors.
    pub is_logarithmic: bool,
}

impl Scale {
    /// One that has 0 and all of `values` on it, as far as they are finite.
    #[must_use]
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((0.0_f64, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let span = if high > low { high - low } else { 1.0 };
        let rough = span / STEPS_MAX;
        let power = 10.0_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|times| times * power)
            .find(|&step| step >= rough)
            .unwrap_or(rough);
        let low = (low / step).floor() * step;
        let high = (high / step).ceil() * step;
        let high = if high > low { high } else { low + step };
        Self { low, high, step, is_logarithmic: false }
    }

    /// One of powers of ten that has all of `values` on it, as far as they are above 0.
    #[must_use]
    pub fn logarithmic(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return Self { low: 1.0, high: 10.0, step: 10.0, is_logarithmic: true };
        }
        let first = low.log10().floor();
        let last = high.log10().ceil().max(first + 1.0);
        let powers = ((last - first) / STEPS_MAX).ceil().max(1.0);
        Self {
            low: 10.0_f64.powf(first),
            high: 10.0_f64.powf(last),
            step: 10.0_f64.powf(powers),
            is_logarithmic: true,
        }
    }

    /// Where `value` is, from 0 to 1; `None` where it has no place on the scale.
    #[must_use]
    pub fn at(self, value: f64) -> Option<f64> {
        let place = if self.is_logarithmic {
            (value / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        place.is_finite().then_some(place)
    }

    /// The values that stand beside it.
    pub fn marks(self) -> impl Iterator<Item = f64> {
        let mut value = self.low;
        // There is room for rounding, less than to the next mark.
        let end = if self.is_logarithmic { self.high * 1.001 } else { self.high + self.step / 2.0 };
        std::iter::from_fn(move || {
            let mark = value;
            value = if self.is_logarithmic { value * self.step } else { value + self.step };
            (mark <= end).then_some(mark)
        })
    }

    /// A mark as people read it.
    #[must_use]
    pub fn label(self, mark: f64) -> String {
        if self.is_logarithmic {
            return plain(mark, mark.min(1.0));
        }
        plain(mark, self.step)
    }
}

/// A number on a scale of such steps.
fn plain(value: f64, step: f64) -> String {
    // Adding up steps leaves something very small where there should be 0.
    let value = if value.abs() < step / 1e6 { 0.0 } else { value };
    match step {
        1.0.. if value >= 0.0 => crate::numbers::number(value.round(), ""),
        1.0.. => format!("{value:.0}"),
        0.1.. => format!("{value:.1}"),
        0.01.. => format!("{value:.2}"),
        0.001.. => format!("{value:.3}"),
        _ => format!("{value:.0e}"),
    }
}

#[cfg(test)]
mod tests;
