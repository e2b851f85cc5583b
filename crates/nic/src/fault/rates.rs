//! How probable faults are, as they are written: `loss=1%,reorder=2%,seed=7`.

use std::str::FromStr;

use crate::error::Error;

/// The faults of both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Of frames that come.
    pub receive: Rates,
    /// Of frames that go.
    pub transmit: Rates,
    /// Determines which frames are hit.
    pub seed: u64,
}

/// The faults of one direction, each drawn for every frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// A frame is not passed on.
    pub loss: Probability,
    /// It is passed on twice.
    pub duplicate: Probability,
    /// The next frame overtakes it.
    pub reorder: Probability,
    /// One of its bits changes.
    pub corrupt: Probability,
}

/// A probability, exact to 2^-32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Probability(u64);

/// What stands for certainty.
const CERTAIN: u64 = 1 << 32;

impl Probability {
    /// Reads `2%` or `0.02`; `None` for what is no number from 0 to 1.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (number, unit) = match text.strip_suffix('%') {
            Some(number) => (number, 100.0),
            None => (text, 1.0),
        };
        // Digits only: neither `inf` nor `1e-3` nor a sign.
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let share = number.parse::<f64>().ok().filter(|_| is_plain)? / unit;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 2^32")]
        let of = |share: f64| Self((share * 4_294_967_296.0).round() as u64);
        (0.0..=1.0).contains(&share).then(|| of(share))
    }

    /// Whether it never happens.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether it happens with this random number.
    pub(super) const fn holds(self, random: u64) -> bool {
        random % CERTAIN < self.0
    }
}

impl FromStr for Faults {
    type Err = Error;

    /// Reads `KEY=VALUE,...` with the keys `loss`, `duplicate`, `reorder`, `corrupt`, for both
    /// directions or after `receive.` or `transmit.` for one, and `seed`. What comes later wins.
    fn from_str(input: &str) -> Result<Self, Error> {
        let wrong = |problem: String| Error::Faults { input: input.to_owned(), problem };
        let mut faults = Self::default();
        for part in input.split(',').filter(|part| !part.is_empty()) {
            let (key, value) =
                part.split_once('=').ok_or_else(|| wrong(format!("{part:?} has no value")))?;
            if key == "seed" {
                faults.seed =
                    value.parse().map_err(|_| wrong(format!("seed {value:?} is not a number")))?;
                continue;
            }
            let probability = Probability::parse(value)
                .ok_or_else(|| wrong(format!("{value:?} is not a share from 0% to 100%")))?;
            let (directions, fault) = match key.split_once('.') {
                None => ([true, true], key),
                Some(("receive", fault)) => ([true, false], fault),
                Some(("transmit", fault)) => ([false, true], fault),
                Some((direction, _)) => {
                    return Err(wrong(format!("there is no direction {direction:?}")));
                }
            };
            let both = [&mut faults.receive, &mut faults.transmit];
            for (rates, _) in both.into_iter().zip(directions).filter(|(_, is_meant)| *is_meant) {
                *rates.of(fault).ok_or_else(|| wrong(format!("there is no fault {fault:?}")))? =
                    probability;
            }
        }
        Ok(faults)
    }
}

impl Rates {
    fn of(&mut self, fault: &str) -> Option<&mut Probability> {
        match fault {
            "loss" => Some(&mut self.loss),
            "duplicate" => Some(&mut self.duplicate),
            "reorder" => Some(&mut self.reorder),
            "corrupt" => Some(&mut self.corrupt),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
