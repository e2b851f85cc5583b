//! Bits that turn and ends that are missing.

use portolan_wire::ethernet;

use super::Settings;
use crate::{
    frame::{Datagram, Frame},
    random::Random,
};

/// Damages the frame if chance wants it, in a way that a checksum finds.
pub(super) fn maybe(frame: &mut Frame, settings: &Settings, random: &mut Random) {
    if random.happens(settings.truncate_ppm) {
        truncate(frame, random);
    }
    if random.happens(settings.corrupt_ppm) {
        corrupt(frame, random);
    }
}

/// Cuts within the IP packet, never within the padding alone.
fn truncate(frame: &mut Frame, random: &mut Random) {
    let Some(datagram) = Datagram::read(frame) else { return };
    let keeps = random.below(datagram.packet.len() as u64);
    frame.truncate(ethernet::HEADER_BYTES + usize::try_from(keeps).unwrap_or_default());
}

fn corrupt(frame: &mut Frame, random: &mut Random) {
    let Some(datagram) = Datagram::read(frame) else { return };
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
