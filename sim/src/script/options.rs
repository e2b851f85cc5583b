//! Options of TCP in scripts.

use portolan_wire::{
    Seq,
    tcp::{Option_, Options, Packet, SackBlock, Timestamps},
};

use super::segment::{Firsts, Number};

/// An option between `<` and `>`, separated by commas. `*` in place of a value is any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionPattern {
    /// `mss BYTES`.
    Mss(Option<u16>),
    /// `wscale BITS`.
    WindowScale(Option<u8>),
    /// `sackok`.
    SackPermitted,
    /// `ts VALUE ECHO`; `ts` alone is any that is expected, and what is sent by default: the
    /// virtual clock in milliseconds, and the stack's last value. `last` as echo is that value.
    Timestamps(Option<u32>, Option<u32>),
    /// `sack LEFT:RIGHT [LEFT:RIGHT ...]`.
    Sack(Vec<(Number, Number)>),
}

/// What is expected between the brackets.
pub struct Expected<'a> {
    /// These must be there, in any order.
    pub options: &'a [OptionPattern],
    /// Others may be there too.
    pub and_others: bool,
}

impl Expected<'_> {
    /// How the options of a segment differ; none if they do not.
    pub(super) fn differs(&self, segment: &Packet<'_>, firsts: Firsts) -> Option<String> {
        let found: Vec<Option_<'_>> = segment.options().filter_map(Result::ok).collect();
        for expected in self.options {
            if !found.iter().any(|option| expected.is(option, firsts)) {
                return Some(format!("option {expected:?} expected, found {found:?}"));
            }
        }
        let is_more = !self.and_others && found.len() > self.options.len();
        is_more.then(|| format!("no option but {:?} expected, found {found:?}", self.options))
    }
}

impl OptionPattern {
    fn is(&self, option: &Option_<'_>, firsts: Firsts) -> bool {
        match (self, option) {
            (Self::Mss(expected), Option_::MaximumSegmentSize(mss)) => {
                expected.is_none_or(|expected| expected == *mss)
            }
            (Self::WindowScale(expected), Option_::WindowScale(bits)) => {
                expected.is_none_or(|expected| expected == *bits)
            }
            (Self::SackPermitted, Option_::SackPermitted) => true,
            (Self::Timestamps(value, echo), Option_::Timestamps(found)) => {
                value.is_none_or(|value| value == found.value)
                    && echo.is_none_or(|echo| echo == found.echo)
            }
            (Self::Sack(expected), Option_::Sack(found)) => {
                let found = found.as_slice();
                expected.len() == found.len()
                    && expected.iter().zip(found).all(|((left, right), block)| {
                        is(*left, block.left, firsts) && is(*right, block.right, firsts)
                    })
            }
            _ => false,
        }
    }

    /// Puts the option among those that the peer sends.
    pub(super) fn put(&self, options: &mut Options, firsts: Firsts, clock_ms: u32) {
        match self {
            Self::Mss(mss) => options.mss = Some(mss.unwrap_or(1_460)),
            Self::WindowScale(bits) => options.window_scale = Some(bits.unwrap_or_default()),
            Self::SackPermitted => options.sack_permitted = true,
            Self::Timestamps(value, echo) => {
                let echo = echo.or(firsts.clock).unwrap_or_default();
                let value = value.unwrap_or(clock_ms);
                options.timestamps = Some(Timestamps { value, echo });
            }
            Self::Sack(blocks) => {
                for (left, right) in blocks {
                    // What the peer has got is the stack's.
                    let at = |number: &Number| number.on_wire(firsts.stack).unwrap_or_default();
                    options.sack.push(SackBlock { left: at(left), right: at(right) });
                }
            }
        }
    }
}

/// A block of the stack's is about the peer's numbers.
fn is(expected: Number, found: Seq, firsts: Firsts) -> bool {
    expected.on_wire(firsts.peer).is_none_or(|expected| expected == found)
}
