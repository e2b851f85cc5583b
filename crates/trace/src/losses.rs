//! What is missing in a reading, by reason.

/// Each counts events that were lost or told with less than all there is to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Updates of edges that found no room in the map. Nothing is lost: they are in the sum of
    /// [`crate::Reading::overflow`].
    pub overflow: u64,
    /// Events of the method `stream` for which there was no room in the queue: what they told is
    /// lost.
    pub queue_full: u64,
    /// Connections that ended and whose beginning was not seen. They are counted, without a
    /// process and with the side that the listening ports suggest.
    pub untracked: u64,
    /// Connections that found no room to be followed; they are counted when they end.
    pub no_room: u64,
    /// Listening ports that found no room.
    pub listeners: u64,
    /// Connections that must have ended, and nobody said so.
    pub stale: u64,
    /// Updates that found no place at all.
    pub not_counted: u64,
    /// Events that came while the program for the one before was interrupted on the same
    /// processor: the kernel does not run it for them.
    pub missed: u64,
}

impl Losses {
    /// How many there are in `struct losses` of bpf/edge.h.
    const IN_KERNEL: usize = 7;

    /// `struct losses` of bpf/edge.h.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut losses = Self::default();
        let numbers = bytes.chunks_exact(8).filter_map(|word| Some(*word.first_chunk::<8>()?));
        let fields = losses.fields_mut();
        for (field, number) in fields.into_iter().take(Self::IN_KERNEL).zip(numbers) {
            *field = u64::from_ne_bytes(number);
        }
        losses
    }

    /// By reason, in the words that are shown.
    #[must_use]
    pub fn by_reason(&self) -> [(&'static str, u64); 8] {
        let names = [
            "overflow",
            "queue_full",
            "untracked",
            "no_room",
            "listeners",
            "stale",
            "not_counted",
            "missed",
        ];
        let mut copy = *self;
        let mut fields = copy.fields_mut().into_iter();
        names.map(|name| (name, fields.next().map_or(0, |count| *count)))
    }

    /// Whether there was any.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// What came since `before`.
    pub(crate) fn since(mut self, mut before: Self) -> Self {
        for (now, before) in self.fields_mut().into_iter().zip(before.fields_mut()) {
            *now = now.saturating_sub(*before);
        }
        self
    }

    /// Adds `other` to `self`.
    pub fn add(&mut self, mut other: Self) {
        for (sum, more) in self.fields_mut().into_iter().zip(other.fields_mut()) {
            *sum = sum.saturating_add(*more);
        }
    }

    fn fields_mut(&mut self) -> [&mut u64; 8] {
        [
            &mut self.overflow,
            &mut self.queue_full,
            &mut self.untracked,
            &mut self.no_room,
            &mut self.listeners,
            &mut self.stale,
            &mut self.not_counted,
            &mut self.missed,
        ]
    }
}

#[cfg(test)]
mod tests;
