//! Bits that turn and ends that are missing.

use portolan_wire::{checksum, ethernet, tcp::Flags};

use super::Settings;
use crate::{
    coverage::{Coverage, Happening},
    frame::{Datagram, Frame},
    random::Random,
};

/// Damages the frame if chance wants it, in a way that a checksum finds.
pub(super) fn maybe(
    frame: &mut Frame,
    settings: &Settings,
    random: &mut Random,
    coverage: &mut Coverage,
) {
    if random.happens(settings.truncate_ppm) {
        truncate(frame, random);
        coverage.note(Happening::Truncated);
    }
    if random.happens(settings.corrupt_ppm) {
        corrupt(frame, random);
        coverage.note(Happening::Corrupted);
    }
}

/// Makes the window of a segment smaller, or closes it; the checksum stays right. Whether it did.
pub(super) fn shrink(frame: &mut Frame, random: &mut Random) -> bool {
    let Some(datagram) = Datagram::read(frame) else { return false };
    let Some(segment) = datagram.segment() else { return false };
    // In the handshake it is what the ends agree on.
    if segment.packet.flags().0 & (Flags::SYN | Flags::RST).0 != 0 {
        return false;
    }
    let length = datagram.payload.len();
    let window = segment.packet.window();
    let smaller = random.pick(&[0, window / 2, window / 10, window.saturating_sub(1)]);
    let first = ethernet::HEADER_BYTES + datagram.packet.len() - length;
    let tcp = &mut frame[first..first + length];
    let old = u16::from_be_bytes([tcp[CHECKSUM_AT], tcp[CHECKSUM_AT + 1]]);
    let new = checksum::update(old, window, smaller);
    tcp[WINDOW_AT..WINDOW_AT + 2].copy_from_slice(&smaller.to_be_bytes());
    tcp[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&new.to_be_bytes());
    smaller < window
}

/// Cuts within the IP packet, never within the padding alone.
fn truncate(frame: &mut Frame, random: &mut Random) {
    let Some(datagram) = Datagram::read(frame) else { return };
    let keeps = random.below(datagram.packet.len() as u64);
    frame.truncate(ethernet::HEADER_BYTES + usize::try_from(keeps).unwrap_or_default());
}

fn corrupt(frame: &mut Frame, random: &mut Random) {
    let Some(datagram) = Datagram::read(frame) else { return };
    if datagram.is_fragment {
        let first = ethernet::HEADER_BYTES + datagram.packet.len() - datagram.payload.len();
        return corrupt_fragment(frame, first, random);
    }
    // No checksum covers the header of IPv6; a receiver believes it, and rightly.
    let spared = if datagram.source.is_ipv4() { 0 } else { portolan_wire::ipv6::HEADER_BYTES };
    let (first, bytes) = (ethernet::HEADER_BYTES + spared, datagram.packet.len() - spared);
    let mut damaged = frame.clone();
    for _ in 0..random.between(1, 3) {
        let bit = random.below(bytes as u64 * 8);
        let at = first + usize::try_from(bit / 8).unwrap_or_default();
        if let Some(byte) = damaged.get_mut(at) {
            *byte ^= 1 << (bit % 8);
        }
    }
    let is_found = Datagram::read(&damaged).is_none_or(|datagram| !datagram.is_intact());
    // Two turned bits may make up for each other.
    if is_found {
        *frame = damaged;
    }
}

/// Only the checksum of the whole finds it, and two turned bits of two fragments may make up for
/// each other, unless both are set.
fn corrupt_fragment(frame: &mut Frame, first: usize, random: &mut Random) {
    let bits = frame.len().saturating_sub(first) as u64 * 8;
    let bit = random.below(bits);
    let at = first + usize::try_from(bit / 8).unwrap_or_default();
    if let Some(byte) = frame.get_mut(at) {
        *byte |= 1 << (bit % 8);
    }
}

// Where the fields are in the header of TCP: RFC 9293, section 3.1.
const WINDOW_AT: usize = 14;
const CHECKSUM_AT: usize = 16;
