//! What a network device does for a stack: it completes checksums, and makes segments of long ones.

use portolan_wire::{checksum::Sum, ethernet, ipv4, ipv6, protocol, tcp::Flags};

use crate::frame::{Datagram, Frame};

/// What is to be done with a frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    /// The checksum of TCP is that of the pseudo header alone.
    pub(super) checksum: bool,
    /// The length of all headers, and how much payload each frame gets.
    pub(super) segmentation: Option<(usize, usize)>,
}

/// The frames as they get on the wire.
pub(super) fn done(mut frame: Frame, work: Work) -> Vec<Frame> {
    let Some((header_len, payload)) = work.segmentation else {
        if work.checksum {
            complete(&mut frame);
        }
        return vec![frame];
    };
    let Some((headers, data)) = frame.split_at_checked(header_len) else { return vec![frame] };
    let count = data.len().div_ceil(payload.max(1));
    let part = |(number, part): (usize, &[u8])| {
        let mut frame = [headers, part].concat();
        renumber(&mut frame, number, number * payload, number + 1 == count);
        complete(&mut frame);
        frame
    };
    data.chunks(payload.max(1)).enumerate().map(part).collect()
}

/// Changes the headers to those of a part that begins so far into the data.
fn renumber(frame: &mut Frame, number: usize, offset: usize, is_last: bool) {
    let length = frame.len() - ethernet::HEADER_BYTES;
    let packet = &mut frame[ethernet::HEADER_BYTES..];
    let is_v4 = packet[0] >> 4 == 4;
    let tcp_at = if is_v4 { usize::from(packet[0] & 15) * 4 } else { ipv6::HEADER_BYTES };
    let length = if is_v4 { length } else { length - ipv6::HEADER_BYTES };
    let length = u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes();
    if is_v4 {
        packet[2..4].copy_from_slice(&length);
        let id = u16::from_be_bytes([packet[4], packet[5]]);
        let id = id.wrapping_add(u16::try_from(number).unwrap_or_default());
        packet[4..6].copy_from_slice(&id.to_be_bytes());
        packet[10..12].fill(0);
        let mut sum = Sum::default();
        sum.add(&packet[..tcp_at.max(ipv4::HEADER_BYTES)]);
        packet[10..12].copy_from_slice(&sum.finish().to_be_bytes());
    } else {
        packet[4..6].copy_from_slice(&length);
    }
    let tcp = &mut packet[tcp_at..];
    let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
    let sequence = sequence.wrapping_add(u32::try_from(offset).unwrap_or_default());
    tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
    if !is_last {
        tcp[FLAGS_AT] &= !(Flags::FIN | Flags::PSH).0;
    }
    if number > 0 {
        // RFC 3168, section 6.1.2: said once.
        tcp[FLAGS_AT] &= !Flags::CWR.0;
    }
}

/// Writes the checksum of TCP.
fn complete(frame: &mut Frame) {
    let Some(datagram) = Datagram::read(frame) else { return };
    if datagram.protocol != protocol::TCP {
        return;
    }
    let (source, destination) = (datagram.source, datagram.destination);
    let length = datagram.payload.len();
    let first = ethernet::HEADER_BYTES + datagram.packet.len() - length;
    let tcp = &mut frame[first..first + length];
    tcp[CHECKSUM_AT..CHECKSUM_AT + 2].fill(0);
    let mut sum = Sum::default();
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    sum.pseudo_header(source, destination, protocol::TCP, length);
    sum.add(tcp);
    tcp[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&sum.finish().to_be_bytes());
}

const FLAGS_AT: usize = 13;
const CHECKSUM_AT: usize = 16;
