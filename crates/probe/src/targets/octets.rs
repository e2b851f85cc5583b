//! nmap's lists of octets: `10.0.0-3.1,5,9` and `10.0.*.1`.

use std::{fmt, iter, net::Ipv4Addr};

use super::{TargetProblem, quoted};
use crate::space::AddressRange;

/// IPv4 addresses by what each octet may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Octets {
    octets: [Octet; 4],
}

impl Octets {
    /// Of text between dots that has digits, commas, hyphens and stars.
    pub(super) fn parse(text: &str) -> Result<Self, TargetProblem> {
        let mut octets = [Octet::default(); 4];
        let mut parts = text.split('.');
        for octet in &mut octets {
            *octet = Octet::parse(parts.next().ok_or(TargetProblem::Ipv4)?)?;
        }
        if parts.next().is_some() {
            return Err(TargetProblem::Ipv4);
        }
        Ok(Self { octets })
    }

    /// The addresses, in order and as few ranges as there can be: at most 2^28, made one by one.
    pub fn ranges(&self) -> impl Iterator<Item = AddressRange> + use<> {
        // Stars at the end make a network, and what is before them a range.
        let free = self.octets[1..].iter().rev().take_while(|octet| octet.is_full()).count();
        let host = ((1_u64 << (8 * free)) - 1) as u32;
        let runs: Vec<(u8, u8)> = self.octets[3 - free].runs().collect();
        let before: Vec<Vec<u8>> =
            self.octets[..3 - free].iter().map(|octet| octet.values().collect()).collect();
        let count = before.iter().map(Vec::len).product::<usize>() * runs.len();
        (0..count).filter_map(move |nth| {
            let (run, mut rest) = (runs[nth % runs.len()], nth / runs.len());
            let shift = 8 * free as u32;
            let mut prefix = 0;
            for (place, values) in (1..).zip(before.iter().rev()) {
                prefix |= u32::from(values[rest % values.len()]) << (shift + 8 * place);
                rest /= values.len();
            }
            let first = prefix | u32::from(run.0) << shift;
            let last = prefix | u32::from(run.1) << shift | host;
            AddressRange::new(Ipv4Addr::from(first).into(), Ipv4Addr::from(last).into())
        })
    }
}

/// As nmap reads it.
impl fmt::Display for Octets {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (octet, dot) in self.octets.iter().zip(["", ".", ".", "."]) {
            write!(out, "{dot}{octet}")?;
        }
        Ok(())
    }
}

/// A bit for each value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Octet {
    words: [u64; 4],
}

impl Octet {
    fn parse(text: &str) -> Result<Self, TargetProblem> {
        let mut octet = Self::default();
        for item in text.split(',') {
            let (first, last) = range(item).ok_or_else(|| TargetProblem::Octet(quoted(item)))?;
            for value in first..=last {
                octet.words[usize::from(value / 64)] |= 1 << (value % 64);
            }
        }
        Ok(octet)
    }

    fn contains(&self, value: u8) -> bool {
        self.words[usize::from(value / 64)] >> (value % 64) & 1 == 1
    }

    fn is_full(&self) -> bool {
        self.words == [u64::MAX; 4]
    }

    fn values(&self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(|value| self.contains(*value))
    }

    /// The values that follow each other, by the first and the last.
    fn runs(&self) -> impl Iterator<Item = (u8, u8)> {
        let mut values = self.values().peekable();
        iter::from_fn(move || {
            let first = values.next()?;
            let mut last = first;
            while let Some(next) = values.next_if(|next| next.checked_sub(1) == Some(last)) {
                last = next;
            }
            Some((first, last))
        })
    }
}

impl fmt::Display for Octet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_full() {
            return out.write_str("*");
        }
        for (nth, (first, last)) in self.runs().enumerate() {
            let comma = if nth == 0 { "" } else { "," };
            if first == last {
                write!(out, "{comma}{first}")?;
            } else {
                write!(out, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

/// `7`, `1-254`, `*`, and nmap's `-9`, `200-` and `-` for what begins at 0 or ends at 255.
fn range(item: &str) -> Option<(u8, u8)> {
    if item == "*" {
        return Some((0, u8::MAX));
    }
    let Some((first, last)) = item.split_once('-') else {
        return number(item).map(|value| (value, value));
    };
    let first = if first.is_empty() { 0 } else { number(first)? };
    let last = if last.is_empty() { u8::MAX } else { number(last)? };
    (first <= last).then_some((first, last))
}

/// A leading zero means octal to some programs and not to others (RFC 6943 section 3.1.1), so
/// nothing is guessed.
fn number(text: &str) -> Option<u8> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let zeros = text.len() > 1 && text.starts_with('0');
    if plain && !zeros { text.parse().ok() } else { None }
}
