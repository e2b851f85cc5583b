//! What a capture of `portolan host`, or of a test's own host, tells about TCP on its link.

use std::{collections::HashMap, fs, net::IpAddr, path::Path, time::Duration};

use portolan_wire::{
    Seq, ethernet, ipv4, ipv6, protocol,
    tcp::{self, Flags, Option_},
};

/// A SYN, with or without ACK, that was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Syn {
    /// The host sent it.
    pub is_outbound: bool,
    /// It answers another one.
    pub is_answer: bool,
    /// It asks for congestion marks, or agrees to them.
    pub ecn: bool,
    /// The longest segment that its sender takes.
    pub mss: u16,
    /// It has the option of window scaling.
    pub window_scaling: bool,
    /// It has the option of selective acknowledgments.
    pub sack: bool,
    /// It has the option of timestamps.
    pub timestamps: bool,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// TCP segments, frames longer than the MTU counted once.
    pub segments: u64,
    /// RSTs of either side, on connections that were not over.
    pub resets: u64,
    /// RSTs on connections of which both sides had sent FIN: with these, who has forgotten the
    /// connection answers what came twice, or late (RFC 9293, section 3.10.7.1).
    pub late_resets: u64,
    /// The SYNs in their order.
    pub syns: Vec<Syn>,
    /// The longest IP packets: that arrived, and that left.
    pub packet_bytes_max: [usize; 2],
    /// Packets that may be marked, or are (ECT and CE), with the same order.
    pub marked: [u64; 2],
    /// The longest time between two moments of progress of a connection that was not over: data
    /// that was not seen before, or was not acknowledged before.
    pub longest_gap: Duration,
    /// IPv4 fragments and IPv6 packets with fragment headers.
    pub fragments: u64,
}

/// One connection.
#[derive(Default)]
struct Track {
    progressed: Option<Duration>,
    /// Of each direction: the end of what was sent, what was acknowledged, whether FIN was sent.
    sides: [Side; 2],
}

#[derive(Default)]
struct Side {
    sent: Option<Seq>,
    acknowledged: Option<Seq>,
    has_finished: bool,
}

impl Seen {
    /// Reads a file of the format pcapng.
    ///
    /// # Panics
    /// When it cannot be read, or ends within a frame.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut seen = Self::default();
        let mut tracks = HashMap::new();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let length = number(rest, 4) as usize;
            assert!(length >= 12, "{}: a block of {length} bytes", path.display());
            let (block, behind) = rest.split_at(length);
            rest = behind;
            // Enhanced packet blocks.
            if number(block, 0) == 6 {
                let captured = number(block, 20) as usize;
                let nanos = u64::from(number(block, 12)) << 32 | u64::from(number(block, 16));
                let flags = number(block, 28 + captured.next_multiple_of(4) + 4);
                let frame = &block[28..28 + captured];
                seen.frame(&mut tracks, Duration::from_nanos(nanos), flags & 3 == 2, frame);
            }
        }
        seen
    }

    fn frame(
        &mut self,
        tracks: &mut HashMap<[(IpAddr, u16); 2], Track>,
        time: Duration,
        is_outbound: bool,
        frame: &[u8],
    ) {
        let Ok(link) = ethernet::Packet::parse(frame) else { return };
        let payload = link.payload();
        let way = usize::from(is_outbound);
        let (source, destination, class, segment) = match payload.first().map(|byte| byte >> 4) {
            Some(4) => {
                let Ok(packet) = ipv4::Packet::parse(payload) else { return };
                self.longest(way, packet.total_len());
                self.fragments += u64::from(packet.is_fragment());
                if packet.protocol() != protocol::TCP || packet.is_fragment() {
                    return;
                }
                let ends = (packet.source().into(), packet.destination().into());
                (ends.0, ends.1, packet.traffic_class(), packet.payload())
            }
            Some(6) => {
                let Ok(packet) = ipv6::Packet::parse(payload) else { return };
                self.longest(way, 40 + packet.payload_len());
                self.fragments += u64::from(packet.next_header() == 44);
                if packet.next_header() != protocol::TCP {
                    return;
                }
                let ends = (packet.source().into(), packet.destination().into());
                (ends.0, ends.1, packet.traffic_class(), packet.payload())
            }
            _ => return,
        };
        let Ok(segment) = tcp::Packet::parse(segment) else { return };
        // What was damaged on purpose says nothing.
        if !segment.is_intact(source, destination) {
            return;
        }
        self.segments += 1;
        self.marked[way] += u64::from(class & 3 != 0);
        let ends = [(source, segment.source_port()), (destination, segment.destination_port())];
        let flags = segment.flags();
        if flags.contains(Flags::SYN) {
            self.syns.push(syn(&segment, is_outbound));
        }
        let key = if is_outbound { ends } else { [ends[1], ends[0]] };
        let track = tracks.entry(key).or_default();
        if flags.contains(Flags::RST) {
            let is_over = track.sides.iter().all(|side| side.has_finished);
            *(if is_over { &mut self.late_resets } else { &mut self.resets }) += 1;
        }
        let gap = track.note(time, way, &segment);
        self.longest_gap = self.longest_gap.max(gap);
    }

    fn longest(&mut self, way: usize, bytes: usize) {
        self.packet_bytes_max[way] = self.packet_bytes_max[way].max(bytes);
    }
}

impl Track {
    /// Takes a segment down; how long there was no progress before it, if it is some.
    fn note(&mut self, time: Duration, way: usize, segment: &tcp::Packet<'_>) -> Duration {
        let flags = segment.flags();
        let end = segment.sequence() + segment.sequence_len();
        let is_over = self.sides.iter().all(|side| side.has_finished);
        let side = &mut self.sides[way];
        let mut is_progress = advance(&mut side.sent, end);
        side.has_finished |= flags.contains(Flags::FIN);
        if flags.contains(Flags::ACK) {
            is_progress |= advance(&mut side.acknowledged, segment.acknowledgment());
        }
        if !is_progress {
            return Duration::ZERO;
        }
        let before = self.progressed.replace(time);
        // Late segments of one that is over, or a new one with the same ports.
        let before = before.filter(|_| !is_over);
        before.map_or(Duration::ZERO, |before| time.saturating_sub(before))
    }
}

fn advance(to: &mut Option<Seq>, seq: Seq) -> bool {
    let is_new = to.is_none_or(|old| old.before(seq));
    if is_new {
        *to = Some(seq);
    }
    is_new
}

fn syn(segment: &tcp::Packet<'_>, is_outbound: bool) -> Syn {
    let flags = segment.flags();
    let is_answer = flags.contains(Flags::ACK);
    let wanted = if is_answer { Flags::ECE } else { Flags(Flags::ECE.0 | Flags::CWR.0) };
    let mut syn = Syn { is_outbound, is_answer, ecn: flags.contains(wanted), ..Syn::default() };
    for option in segment.options().flatten() {
        match option {
            Option_::MaximumSegmentSize(mss) => syn.mss = mss,
            Option_::WindowScale(_) => syn.window_scaling = true,
            Option_::SackPermitted => syn.sack = true,
            Option_::Timestamps(_) => syn.timestamps = true,
            _ => {}
        }
    }
    syn
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    u32::from_le_bytes(bytes.expect("a whole block"))
}
