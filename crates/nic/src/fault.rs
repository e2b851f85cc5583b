//! Faults on purpose: frames are lost, doubled, swapped and damaged by chance, from a seed.

mod random;
mod rates;

use std::{collections::VecDeque, os::fd::BorrowedFd};

use crate::{
    Nic,
    error::Error,
    frame::{Arrival, Checksum, Departure, Offloads},
};
use random::Random;
pub use rates::{Faults, Probability, Rates};

/// Wraps a device and does damage to what goes through it, each direction by a sequence of its own
/// that the seed determines.
///
/// No frame is kept beyond the call that it came with, but for those that the device is too full
/// for: a frame is swapped only with one of the same batch, so there are fewer swaps than were
/// asked for where frames come one by one. Where frames that go may be damaged, the device's
/// offloads are not offered: a checksum that is made after the damage would hide it.
#[derive(Debug)]
pub struct Fault<N> {
    nic: N,
    receive: Direction,
    transmit: Direction,
    /// Frames to go before others are asked for: second copies, and those that were overtaken.
    ready: VecDeque<Held<Departure>>,
    /// Buffers that can be used again.
    spare: Vec<Vec<u8>>,
}

/// One direction: its chances and what became of them.
#[derive(Debug)]
struct Direction {
    rates: Rates,
    random: Random,
    counts: Counts,
}

/// What was done to the frames of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames that came to the wrapper.
    pub seen: u64,
    /// Not passed on.
    pub lost: u64,
    /// Passed on twice.
    pub duplicated: u64,
    /// Overtaken by the next.
    pub reordered: u64,
    /// Passed on with one bit changed.
    pub corrupted: u64,
}

/// A frame that was copied, and what stands beside it.
#[derive(Debug)]
struct Held<T> {
    bytes: Vec<u8>,
    beside: T,
}

/// What is to be done to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fate {
    is_lost: bool,
    is_duplicated: bool,
    is_overtaken: bool,
    is_corrupted: bool,
    /// Determines which bit is changed.
    place: u64,
}

impl Direction {
    fn new(rates: Rates, random: Random) -> Self {
        Self { rates, random, counts: Counts::default() }
    }

    /// Draws for the next frame. As many numbers are drawn for each, so that changing one rate
    /// leaves alone what the others do.
    fn draw(&mut self) -> Fate {
        let mut happens = |probability: Probability| probability.holds(self.random.next());
        let fate = Fate {
            is_lost: happens(self.rates.loss),
            is_duplicated: happens(self.rates.duplicate),
            is_overtaken: happens(self.rates.reorder),
            is_corrupted: happens(self.rates.corrupt),
            place: self.random.next(),
        };
        self.counts.seen += 1;
        self.counts.lost += u64::from(fate.is_lost);
        fate
    }

    /// Changes the bit that `place` determines.
    fn corrupt(&mut self, bytes: &mut [u8], place: u64) {
        let bits = u64::try_from(bytes.len()).unwrap_or(0).saturating_mul(8);
        let bit = place.checked_rem(bits).unwrap_or(0);
        if let Some(byte) = usize::try_from(bit / 8).ok().and_then(|at| bytes.get_mut(at)) {
            *byte ^= 1 << (bit % 8);
            self.counts.corrupted += 1;
        }
    }
}

/// How many batches of which every frame is lost are received before the caller has its turn.
const LOST_BATCHES_MAX: usize = 16;

/// How many frames that go are lost before the caller has its turn.
const LOST_FRAMES_MAX: usize = 1_024;

impl<N: Nic> Fault<N> {
    /// Wraps `nic`.
    pub fn new(nic: N, faults: &Faults) -> Self {
        let mut seeds = Random::new(faults.seed);
        let (receive, transmit) = (Random::new(seeds.next()), Random::new(seeds.next()));
        Self {
            nic,
            receive: Direction::new(faults.receive, receive),
            transmit: Direction::new(faults.transmit, transmit),
            ready: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// What was done to the frames that came.
    pub fn received(&self) -> Counts {
        self.receive.counts
    }

    /// What was done to the frames that go.
    pub fn transmitted(&self) -> Counts {
        self.transmit.counts
    }

    /// The device.
    pub fn get_ref(&self) -> &N {
        &self.nic
    }
}

fn copy(spare: &mut Vec<Vec<u8>>, bytes: &[u8]) -> Vec<u8> {
    let mut buffer = spare.pop().unwrap_or_default();
    buffer.clear();
    buffer.extend_from_slice(bytes);
    buffer
}

impl<N: Nic> Nic for Fault<N> {
    fn receive(&mut self, take: &mut dyn FnMut(Arrival<'_>)) -> Result<usize, Error> {
        let Self { nic, receive, spare, .. } = self;
        let mut passed = 0;
        for _ in 0..LOST_BATCHES_MAX {
            let mut overtaken: Option<Held<Checksum>> = None;
            let mut pass = |bytes: &[u8], checksum| {
                passed += 1;
                take(Arrival { bytes, checksum });
            };
            let received = nic.receive(&mut |arrival| {
                let fate = receive.draw();
                if fate.is_lost {
                    return;
                }
                let mut checksum = arrival.checksum;
                let mut changed = None;
                if fate.is_corrupted {
                    // Whoever verified it did so before.
                    checksum = Checksum::Unknown;
                    let mut bytes = copy(spare, arrival.bytes);
                    receive.corrupt(&mut bytes, fate.place);
                    changed = Some(bytes);
                }
                if fate.is_overtaken && overtaken.is_none() {
                    let bytes = changed.unwrap_or_else(|| copy(spare, arrival.bytes));
                    overtaken = Some(Held { bytes, beside: checksum });
                    return;
                }
                let bytes = changed.as_deref().unwrap_or(arrival.bytes);
                pass(bytes, checksum);
                if fate.is_duplicated {
                    receive.counts.duplicated += 1;
                    pass(bytes, checksum);
                }
                spare.extend(changed);
                if let Some(held) = overtaken.take() {
                    receive.counts.reordered += 1;
                    pass(&held.bytes, held.beside);
                    spare.push(held.bytes);
                }
            });
            if let Some(held) = overtaken {
                pass(&held.bytes, held.beside);
                spare.push(held.bytes);
            }
            if received? == 0 || passed > 0 {
                break;
            }
        }
        Ok(passed)
    }

    fn transmit(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> Option<Departure>,
    ) -> Result<usize, Error> {
        let Self { nic, transmit, ready, spare, .. } = self;
        let mut overtaken: Option<Held<Departure>> = None;
        let mut lost = 0;
        let sent = nic.transmit(&mut |buffer| {
            loop {
                if let Some(held) = ready.pop_front() {
                    buffer.get_mut(..held.bytes.len())?.copy_from_slice(&held.bytes);
                    spare.push(held.bytes);
                    return Some(held.beside);
                }
                let next = if lost < LOST_FRAMES_MAX { fill(buffer) } else { None };
                let Some(departure) = next else {
                    ready.push_back(overtaken.take()?);
                    continue;
                };
                let fate = transmit.draw();
                if fate.is_lost {
                    lost += 1;
                    continue;
                }
                let Some(bytes) = buffer.get_mut(..departure.len) else { return Some(departure) };
                if fate.is_corrupted && departure.checksum.is_none() {
                    transmit.corrupt(bytes, fate.place);
                }
                if fate.is_overtaken && overtaken.is_none() {
                    overtaken = Some(Held { bytes: copy(spare, bytes), beside: departure });
                    continue;
                }
                if fate.is_duplicated {
                    transmit.counts.duplicated += 1;
                    ready.push_back(Held { bytes: copy(spare, bytes), beside: departure });
                }
                if let Some(held) = overtaken.take() {
                    transmit.counts.reordered += 1;
                    ready.push_back(held);
                }
                return Some(departure);
            }
        });
        // The device was full before another frame could overtake it.
        ready.extend(overtaken);
        Ok(sent? + lost)
    }

    fn offloads(&self) -> Offloads {
        let offloads = self.nic.offloads();
        if self.transmit.rates.corrupt.is_zero() {
            return offloads;
        }
        Offloads { checksum: false, segment_bytes_max: 0, ..offloads }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.nic.descriptor()
    }
}

#[cfg(test)]
mod tests;
