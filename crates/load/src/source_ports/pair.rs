//! The ports of one pair of source address and destination.

use super::set::Set;

/// How a port comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing is left of the connection: it was reset, or never there.
    Free,
    /// It may be in TIME-WAIT: it comes last.
    TimeWait,
    /// The kernel said that it is taken, by somebody else or by TIME-WAIT: it comes last, too, and
    /// is counted.
    Conflict,
}

/// What is handed out of one pair: units of one port each or, where the kernel chooses within
/// them, of several.
///
/// There are two generations. What is fresh is handed out first, one after the other from where it
/// was left; what has come back rests, and is fresh again when nothing else is. So TIME-WAIT and
/// conflicts come last, without a clock and without a queue.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    fresh: Set,
    resting: Set,
    /// From where the next is looked for.
    cursor: u32,
    /// Of units of several ports, how many of each are in use.
    held: Option<Box<[u8]>>,
    /// How often the unit at the cursor was handed out in a row.
    turns: u8,
    pub(super) in_use: u32,
    pub(super) conflicts: u64,
}

impl Pair {
    /// All units below `units` are there, and the first is looked for from `cursor` on; where a
    /// unit `has_several` ports, it is handed out as often.
    pub(super) fn new(units: u32, cursor: u32, has_several: bool) -> Self {
        let held = has_several.then(|| (0..units).map(|_| 0).collect());
        Self {
            fresh: Set::new(units, true),
            resting: Set::new(units, false),
            cursor,
            held,
            turns: 0,
            in_use: 0,
            conflicts: 0,
        }
    }

    /// A unit is never handed out.
    pub(super) fn exclude(&mut self, unit: u32) {
        self.fresh.remove(unit);
    }

    /// A unit comes last.
    pub(super) fn put_last(&mut self, unit: u32) {
        if self.fresh.remove(unit) {
            self.resting.insert(unit);
        }
    }

    /// The next unit that has room; `room` says how many ports each has.
    pub(super) fn take(&mut self, room: impl Fn(u32) -> u8) -> Option<u32> {
        if self.fresh.is_empty() {
            std::mem::swap(&mut self.fresh, &mut self.resting);
        }
        let unit = self.fresh.next(self.cursor)?;
        let is_used_up = match &mut self.held {
            None => self.fresh.remove(unit),
            Some(held) => {
                let held = &mut held[crate::deadlines::position(unit)];
                *held += 1;
                if unit != self.cursor {
                    self.turns = 0;
                }
                self.turns += 1;
                let (is_full, had_its_turns) = (*held >= room(unit), self.turns >= room(unit));
                if is_full || had_its_turns {
                    self.fresh.remove(unit);
                    self.turns = 0;
                }
                // What came back meanwhile may be in TIME-WAIT.
                if had_its_turns && !is_full {
                    self.resting.insert(unit);
                }
                is_full || had_its_turns
            }
        };
        self.cursor = if is_used_up { unit + 1 } else { unit };
        self.in_use += 1;
        Some(unit)
    }

    /// A port of the unit comes back.
    pub(super) fn give_back(&mut self, unit: u32, end: End) {
        self.in_use = self.in_use.saturating_sub(1);
        if let Some(held) = &mut self.held {
            let held = &mut held[crate::deadlines::position(unit)];
            *held = held.saturating_sub(1);
        }
        match end {
            End::Free if !self.resting.contains(unit) => {
                self.fresh.insert(unit);
            }
            End::Conflict => {
                self.conflicts += 1;
                self.fresh.remove(unit);
                self.resting.insert(unit);
            }
            // A unit of several ports that has others to hand out stays where it is.
            End::TimeWait if !self.fresh.contains(unit) => {
                self.resting.insert(unit);
            }
            End::Free | End::TimeWait => {}
        }
    }

    #[cfg(test)]
    pub(super) fn looked_at(&self) -> u64 {
        self.fresh.looked_at.get() + self.resting.looked_at.get()
    }
}
