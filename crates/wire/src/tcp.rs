//! TCP segments: RFC 9293, section 3.1.

use core::{
    fmt,
    net::IpAddr,
    ops::{BitOr, BitOrAssign},
};

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    network_endian::{U16, U32},
};

use crate::{
    Malformed, NoRoom, Seq,
    checksum::{Check, full, partial},
    malformed::{split, split_header, write_header},
    protocol::TCP,
};

pub mod options;

pub use options::{FastOpenCookie, Option_, Options, SackBlock, SackBlocks, Timestamps};

/// Length of the header in bytes, without options.
pub const HEADER_BYTES: usize = size_of::<Header>();

/// The control bits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// The sender has no more data.
    pub const FIN: Self = Self(0x01);
    /// The sequence number is the first one.
    pub const SYN: Self = Self(0x02);
    /// The connection is reset.
    pub const RST: Self = Self(0x04);
    /// The data should reach the program without delay.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment number is valid.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer is valid.
    pub const URG: Self = Self(0x20);
    /// Congestion was met on the way: RFC 3168, section 6.1.
    pub const ECE: Self = Self(0x40);
    /// The sender sends less for that: RFC 3168, section 6.1.
    pub const CWR: Self = Self(0x80);

    /// Whether all of these bits are set here.
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// The bits that are set in one or the other; the same as `|`, in constants too.
    pub const fn union(self, flags: Self) -> Self {
        Self(self.0 | flags.0)
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, flags: Self) -> Self {
        self.union(flags)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, flags: Self) {
        *self = self.union(flags);
    }
}

/// The names of the bits with bars between them, such as `SYN|ACK`.
impl fmt::Debug for Flags {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (flag, name) in NAMES {
            if self.contains(flag) {
                write!(formatter, "{separator}{name}")?;
                separator = "|";
            }
        }
        if separator.is_empty() { formatter.write_str("none") } else { Ok(()) }
    }
}

/// A view on a segment.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: &'a Header,
    segment: &'a [u8],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the upper-layer payload of an IP packet.
    ///
    /// The options are not looked at before [`options`](Self::options) goes through them, nor is
    /// the checksum: see [`check`](Self::check).
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the header is cut, or its length is below 20 bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, _) = split_header::<Header>("TCP header", bytes)?;
        let header_len = usize::from(header.data_offset >> 4) * 4;
        if header_len < HEADER_BYTES {
            let what = "TCP header length";
            return Err(Malformed::Length { what, least: HEADER_BYTES, found: header_len });
        }
        let (header_bytes, payload) = split("TCP header", bytes, header_len)?;
        let options = header_bytes.get(HEADER_BYTES..).unwrap_or_default();
        Ok(Self { header, segment: bytes, options, payload })
    }

    /// What the first 8 bytes of a segment say: an ICMP error need not quote more of it (RFC 792).
    /// None if there are fewer.
    pub fn parse_quoted_ports(bytes: &[u8]) -> Option<Quoted> {
        let (quoted, _) = QuotedHeader::ref_from_prefix(bytes).ok()?;
        Some(Quoted {
            source_port: quoted.source_port.get(),
            destination_port: quoted.destination_port.get(),
            sequence: Seq(quoted.sequence.get()),
        })
    }

    /// The port of the sender.
    pub fn source_port(&self) -> u16 {
        self.header.source_port.get()
    }

    /// The port that the segment is for.
    pub fn destination_port(&self) -> u16 {
        self.header.destination_port.get()
    }

    /// The number of the first octet of the payload, or of SYN.
    pub fn sequence(&self) -> Seq {
        Seq(self.header.sequence.get())
    }

    /// The number that the sender waits for; valid with [`Flags::ACK`].
    pub fn acknowledgment(&self) -> Seq {
        Seq(self.header.acknowledgment.get())
    }

    /// Length of the header in bytes, options included: 20 to 60.
    pub fn header_len(&self) -> usize {
        HEADER_BYTES + self.options.len()
    }

    /// The control bits.
    pub fn flags(&self) -> Flags {
        Flags(self.header.flags)
    }

    /// How many octets the sender takes, to be shifted by its window scale except in SYN segments.
    pub fn window(&self) -> u16 {
        self.header.window.get()
    }

    /// The checksum.
    pub fn checksum(&self) -> u16 {
        self.header.checksum.get()
    }

    /// Where the urgent data ends, counted from the sequence number; valid with [`Flags::URG`].
    pub fn urgent_pointer(&self) -> u16 {
        self.header.urgent_pointer.get()
    }

    /// Goes through the options.
    pub fn options(&self) -> options::Iter<'a> {
        options::Iter::new(self.options)
    }

    /// The data.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// How many sequence numbers the segment takes (SEG.LEN): its data, and one each for SYN and
    /// FIN.
    pub fn sequence_len(&self) -> u32 {
        let flags = self.flags();
        let controls =
            u32::from(flags.contains(Flags::SYN)) + u32::from(flags.contains(Flags::FIN));
        // Within an IP packet, data is far below 32 bits.
        u32::try_from(self.payload.len()).unwrap_or(u32::MAX).saturating_add(controls)
    }

    /// What the checksum says, in a packet between these addresses.
    pub fn check(&self, source: IpAddr, destination: IpAddr) -> Check {
        Check::of(self.segment, self.checksum(), TCP, source, destination)
    }

    /// Whether the segment arrived as it was sent, in a packet between these addresses: its
    /// [`check`](Self::check) is not wrong, which takes less time to find out where the sender is
    /// on this machine.
    pub fn is_intact(&self, source: IpAddr, destination: IpAddr) -> bool {
        Check::holds(self.segment, self.checksum(), TCP, source, destination)
    }

    /// The header as a value, with the options that can be sent. Of malformed options those before
    /// the error are taken, as in Linux.
    pub fn repr(&self) -> Repr {
        Repr {
            source_port: self.source_port(),
            destination_port: self.destination_port(),
            sequence: self.sequence(),
            acknowledgment: self.acknowledgment(),
            flags: self.flags(),
            window: self.window(),
            urgent_pointer: self.urgent_pointer(),
            options: Options::read(self.options()),
        }
    }
}

/// What an ICMP error says at least about the segment that it quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// The port of the segment's sender, who gets the error.
    pub source_port: u16,
    /// The port that the segment was for.
    pub destination_port: u16,
    /// Its sequence number. An error about a number that was never sent is forged: RFC 5927,
    /// section 4.
    pub sequence: Seq,
}

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// The port of the sender.
    pub source_port: u16,
    /// The port that the segment is for.
    pub destination_port: u16,
    /// The number of the first octet of the payload, or of SYN.
    pub sequence: Seq,
    /// The number that the sender waits for; 0 without [`Flags::ACK`].
    pub acknowledgment: Seq,
    /// The control bits.
    pub flags: Flags,
    /// How many octets the sender takes, shifted by its window scale except in SYN segments.
    pub window: u16,
    /// Where the urgent data ends; 0 without [`Flags::URG`].
    pub urgent_pointer: u16,
    /// The options.
    pub options: Options,
}

impl Repr {
    /// Length of the header in bytes, options included.
    pub fn header_len(&self) -> usize {
        HEADER_BYTES + self.options.len()
    }

    /// Writes the header at the front of the buffer, with the checksum over all of the buffer and
    /// the pseudo header: the buffer is as long as the segment, and the payload is already in it
    /// behind the first [`header_len`](Self::header_len) bytes.
    ///
    /// # Errors
    ///
    /// [`NoRoom::Buffer`] when the buffer is shorter than the header, [`NoRoom::Field`] when the
    /// options have more than 40 bytes; nothing is written then.
    pub fn emit(
        &self,
        buffer: &mut [u8],
        source: IpAddr,
        destination: IpAddr,
    ) -> Result<(), NoRoom> {
        self.write(buffer, 0)?;
        let checksum = full(buffer, TCP, source, destination);
        if let Some(field) = buffer.get_mut(CHECKSUM_AT..CHECKSUM_AT + 2) {
            field.copy_from_slice(&checksum.to_be_bytes());
        }
        Ok(())
    }

    /// As [`emit`](Self::emit), but the checksum is left to the device: its field gets the sum of
    /// the pseudo header, as with [`Check::Partial`], and the payload need not be there.
    ///
    /// # Errors
    ///
    /// As for [`emit`](Self::emit).
    pub fn emit_partial(
        &self,
        buffer: &mut [u8],
        source: IpAddr,
        destination: IpAddr,
    ) -> Result<(), NoRoom> {
        self.write(buffer, partial(buffer, TCP, source, destination))
    }

    /// Writes the header with this checksum, and the options.
    fn write(&self, buffer: &mut [u8], checksum: u16) -> Result<(), NoRoom> {
        let (needed, found) = (self.header_len(), buffer.len());
        let options = buffer.get_mut(HEADER_BYTES..).ok_or(NoRoom::Buffer {
            what: "TCP header",
            needed,
            found,
        })?;
        self.options.emit(options)?;
        let header = Header {
            source_port: self.source_port.into(),
            destination_port: self.destination_port.into(),
            sequence: self.sequence.0.into(),
            acknowledgment: self.acknowledgment.0.into(),
            // In words of 4 bytes; at most 15, as the options fit.
            data_offset: u8::try_from(needed / 4).unwrap_or(15) << 4,
            flags: self.flags.0,
            window: self.window.into(),
            checksum: checksum.into(),
            urgent_pointer: self.urgent_pointer.into(),
        };
        write_header("TCP header", &header, buffer)
    }
}

#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    source_port: U16,
    destination_port: U16,
    sequence: U32,
    acknowledgment: U32,
    data_offset: u8,
    flags: u8,
    window: U16,
    checksum: U16,
    urgent_pointer: U16,
}

/// As much of [`Header`] as every ICMP error quotes.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct QuotedHeader {
    source_port: U16,
    destination_port: U16,
    sequence: U32,
}

/// Where the checksum is in [`Header`].
const CHECKSUM_AT: usize = 16;

const NAMES: [(Flags, &str); 8] = [
    (Flags::FIN, "FIN"),
    (Flags::SYN, "SYN"),
    (Flags::RST, "RST"),
    (Flags::PSH, "PSH"),
    (Flags::ACK, "ACK"),
    (Flags::URG, "URG"),
    (Flags::ECE, "ECE"),
    (Flags::CWR, "CWR"),
];

#[cfg(test)]
mod tests;
