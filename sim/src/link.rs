//! One direction of the wire, with all that can happen to a frame on the way.

use std::time::Duration;

use portolan_stack::Instant;
use portolan_wire::{ethernet, tcp::Flags};
use serde::{Deserialize, Serialize};

use crate::{
    coverage::{Coverage, Happening},
    frame::{Datagram, Frame, set_ecn},
    random::Random,
};

mod damage;
mod too_big;

pub use too_big::Answer;

/// What a direction does to frames. All that is 0 does not happen, so that the default is a perfect
/// wire. Probabilities are in parts per million.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How long a frame is under way.
    pub delay_us: u64,
    /// By how much longer it may be, by chance. Frames do not overtake one another by that.
    pub jitter_us: u64,
    /// How many bytes a second it carries; 0 for any number.
    pub rate_bytes: u64,
    /// How many bytes wait for that at most; 0 for any number.
    pub queue_bytes: u64,
    /// The largest IP packet; 0 for any.
    pub mtu: usize,
    /// What becomes of larger ones.
    pub answer: Answer,
    /// Each frame is lost by itself.
    pub loss_ppm: u32,
    /// Frames are lost in bursts.
    pub burst: Option<Burst>,
    /// A frame is late, so that later ones overtake it.
    pub reorder_ppm: u32,
    /// By how much at most.
    pub reorder_us: u64,
    /// A frame arrives once more.
    pub duplicate_ppm: u32,
    /// How much later at most.
    pub duplicate_us: u64,
    /// A segment with SYN, FIN or RST arrives once more, long after.
    pub replay_ppm: u32,
    /// How much later at most.
    pub replay_us: u64,
    /// Some bits are turned. Only what a checksum finds: the rest is data to any receiver.
    pub corrupt_ppm: u32,
    /// The end of the frame is cut off.
    pub truncate_ppm: u32,
    /// A window that was offered comes smaller, as from an end that takes it back: RFC 9293,
    /// section 3.8.6.
    pub shrink_ppm: u32,
    /// Congestion is marked on packets that allow it: RFC 3168.
    pub mark_ppm: u32,
    /// Short frames are padded to 60 bytes, as Ethernet does it.
    pub pads: bool,
}

/// Loss in bursts: the model of Gilbert and Elliott, a chain of two states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// The bad state begins with a frame.
    pub enter_ppm: u32,
    /// The bad state ends with a frame.
    pub leave_ppm: u32,
    /// A frame is lost in the bad state.
    pub loss_ppm: u32,
}

/// What changes at a moment of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Change {
    /// Nothing gets through for so long: frames wait, or are lost.
    Pause {
        /// For how long.
        us: u64,
        /// Whether frames are lost instead of waiting.
        lost: bool,
    },
    /// The largest IP packet is another one.
    Mtu(usize),
    /// Frames are under way for so long from now on.
    DelayUs(u64),
    /// So many bytes a second from now on.
    RateBytes(u64),
}

/// Where a frame that a link took comes out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where it was sent to.
    Far,
    /// Where it came from: an error of ICMP.
    Near,
}

/// A direction at work.
#[derive(Debug)]
pub struct Link {
    settings: Settings,
    random: Random,
    is_bad: bool,
    /// Until when the frames before it take the wire.
    busy_until: Instant,
    /// When the last one arrives that did not leave the order.
    last_arrival: Instant,
    paused_until: Instant,
    loses_in_pause: bool,
    /// What happened here.
    pub coverage: Coverage,
}

impl Link {
    /// A direction, of which the seed decides the chances.
    #[must_use]
    pub fn new(settings: Settings, random: Random) -> Self {
        Self {
            settings,
            random,
            is_bad: false,
            busy_until: Instant::ZERO,
            last_arrival: Instant::ZERO,
            paused_until: Instant::ZERO,
            loses_in_pause: false,
            coverage: Coverage::default(),
        }
    }

    /// Something is different from now on.
    pub fn change(&mut self, change: Change, now: Instant) {
        if matches!(change, Change::DelayUs(_) | Change::RateBytes(_)) {
            self.coverage.note(Happening::PaceChanged);
        }
        match change {
            Change::Pause { us, lost } => {
                self.paused_until = now + Duration::from_micros(us);
                self.loses_in_pause = lost;
                if us >= LONG_US {
                    self.coverage.note(Happening::LongPause);
                }
            }
            Change::Mtu(mtu) => {
                self.settings.mtu = mtu;
                self.coverage.note(Happening::MtuChanged);
            }
            Change::DelayUs(delay) => self.settings.delay_us = delay,
            Change::RateBytes(rate) => self.settings.rate_bytes = rate,
        }
    }

    /// No frame is lost, damaged, doubled or overtaken from now on; delay, rate and MTU stay.
    pub fn calm(&mut self) {
        self.paused_until = Instant::ZERO;
        let faulty = std::mem::take(&mut self.settings);
        self.settings = Settings {
            delay_us: faulty.delay_us,
            rate_bytes: faulty.rate_bytes,
            // A bounded queue loses frames, but of its own, not by chance: it stays.
            queue_bytes: faulty.queue_bytes,
            mtu: faulty.mtu,
            answer: faulty.answer,
            pads: faulty.pads,
            ..Settings::default()
        };
    }

    /// Takes a frame, and says by `arrives` when and where which frames come out for it.
    pub fn send(
        &mut self,
        mut frame: Frame,
        now: Instant,
        arrives: &mut dyn FnMut(Instant, End, Frame),
    ) {
        let delay = Duration::from_micros(self.settings.delay_us);
        if is_spared(&frame) {
            arrives(now + delay, End::Far, frame);
            return;
        }
        if self.is_lost(now) {
            return;
        }
        if let Some(error) = too_big::refused(&frame, self.settings.mtu, self.settings.answer) {
            self.coverage.note(match &error {
                Some(_) => Happening::TooBigTold,
                None => Happening::BlackHole,
            });
            if let Some(error) = error {
                arrives(now + delay, End::Near, error);
            }
            return;
        }
        let Some(sent) = self.serialized(frame.len(), now) else {
            return self.coverage.note(Happening::QueueFull);
        };
        if now < self.paused_until {
            self.coverage.note(Happening::HeldInPause);
        }
        if self.settings.pads && frame.len() < ETHERNET_BYTES_MIN {
            frame.resize(ETHERNET_BYTES_MIN, 0);
        }
        self.double(&frame, sent + delay, arrives);
        if self.random.happens(self.settings.mark_ppm)
            && Datagram::read(&frame).is_some_and(|datagram| datagram.ecn != NOT_ECT)
        {
            set_ecn(&mut frame, CONGESTION_EXPERIENCED);
            self.coverage.note(Happening::Marked);
        }
        if self.random.happens(self.settings.shrink_ppm)
            && damage::shrink(&mut frame, &mut self.random)
        {
            self.coverage.note(Happening::WindowShrunk);
        }
        let at = self.arrival(sent + delay);
        damage::maybe(&mut frame, &self.settings, &mut self.random, &mut self.coverage);
        arrives(at, End::Far, frame);
    }

    fn is_lost(&mut self, now: Instant) -> bool {
        let burst = self.settings.burst.unwrap_or_default();
        let turns = if self.is_bad { burst.leave_ppm } else { burst.enter_ppm };
        self.is_bad ^= self.random.happens(turns);
        let in_burst = self.is_bad && self.random.happens(burst.loss_ppm);
        let by_itself = self.random.happens(self.settings.loss_ppm);
        let in_pause = now < self.paused_until && self.loses_in_pause;
        let whys = [
            (in_burst, Happening::LostInBurst),
            (by_itself, Happening::Lost),
            (in_pause, Happening::LostInPause),
        ];
        let why = whys.into_iter().find(|(is_lost, _)| *is_lost);
        if let Some((_, why)) = why {
            self.coverage.note(why);
        }
        why.is_some()
    }

    /// When the last bit of the frame is on the wire; none where the queue before it is full.
    fn serialized(&mut self, bytes: usize, now: Instant) -> Option<Instant> {
        let start = self.busy_until.max(now).max(self.paused_until);
        let rate = u128::from(self.settings.rate_bytes);
        if rate == 0 {
            return Some(start);
        }
        let waiting = start.since(now.max(self.paused_until)).as_micros() * rate / 1_000_000;
        let bound = u128::from(self.settings.queue_bytes);
        // A queue that takes not even one frame would be no link.
        if bound > 0 && waiting > 0 && waiting + bytes as u128 > bound {
            return None;
        }
        let micros = (bytes as u128 * 1_000_000).div_ceil(rate);
        self.busy_until = start + Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX));
        Some(self.busy_until)
    }

    fn double(&mut self, frame: &Frame, at: Instant, arrives: &mut dyn FnMut(Instant, End, Frame)) {
        if self.random.happens(self.settings.duplicate_ppm) {
            let later = self.random.below(self.settings.duplicate_us + 1);
            self.coverage.note(Happening::Duplicated);
            arrives(at + Duration::from_micros(later), End::Far, frame.clone());
        }
        if self.random.happens(self.settings.replay_ppm)
            && let Some(what) = control(frame)
        {
            self.coverage.note(what);
            let later = self.random.below(self.settings.replay_us + 1);
            arrives(at + Duration::from_micros(later), End::Far, frame.clone());
        }
    }

    fn arrival(&mut self, earliest: Instant) -> Instant {
        if self.random.happens(self.settings.reorder_ppm) {
            let later = self.random.below(self.settings.reorder_us + 1);
            self.coverage.note(Happening::Reordered);
            return earliest + Duration::from_micros(later);
        }
        let jitter = match self.settings.jitter_us {
            0 => 0,
            most => self.random.below(most + 1),
        };
        let at = (earliest + Duration::from_micros(jitter)).max(self.last_arrival);
        self.last_arrival = at;
        at
    }
}

/// What finds the neighbours is delayed as all else, and else left alone: whether an address is
/// found is not what the runs ask.
fn is_spared(frame: &[u8]) -> bool {
    let ethertype = ethernet::Packet::parse(frame).map(|frame| frame.ethertype());
    ethertype == Ok(ethernet::EtherType::ARP)
        || Datagram::read(frame).is_some_and(|datagram| datagram.is_neighbor_discovery())
}

/// What comes again if the frame does, of those that make or end connections.
fn control(frame: &[u8]) -> Option<Happening> {
    let flags = Datagram::read(frame)?.segment()?.packet.flags();
    [
        (Flags::SYN, Happening::OldSyn),
        (Flags::FIN, Happening::OldFin),
        (Flags::RST, Happening::OldReset),
    ]
    .into_iter()
    .find_map(|(flag, what)| flags.contains(flag).then_some(what))
}

/// Longer than the first retransmission timeouts: RFC 6298, section 2.
const LONG_US: u64 = 3_000_000;
/// Without the frame check sequence.
const ETHERNET_BYTES_MIN: usize = 60;
const NOT_ECT: u8 = 0;
const CONGESTION_EXPERIENCED: u8 = 3;

#[cfg(test)]
mod tests;
