//! ARP for IPv4 on Ethernet: RFC 826.

use core::net::Ipv4Addr;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, network_endian::U16};

use crate::{
    Malformed, NoRoom,
    ethernet::{Address, EtherType},
    malformed::{split_header, write_header},
};

/// Length of the packet in bytes.
pub const PACKET_BYTES: usize = size_of::<Header>();

/// Request or reply (`ar$op`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Who has the target's protocol address?
    Request,
    /// The sender has its protocol address.
    Reply,
}

/// A view on a request or reply.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: &'a Header,
    operation: Operation,
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the payload of an Ethernet frame.
    ///
    /// # Errors
    ///
    /// [`Malformed::Truncated`] when it is shorter than 28 bytes; [`Malformed::Value`] when it is
    /// not about IPv4 on Ethernet, or neither a request nor a reply.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = split_header::<Header>("ARP packet", bytes)?;
        let expect = |what, found: u16, expected: u16| {
            if found == expected { Ok(()) } else { Err(Malformed::Value { what, found }) }
        };
        expect("ARP hardware type", header.hardware_type.get(), ETHERNET)?;
        expect("ARP protocol type", header.protocol_type.get(), EtherType::IPV4.0)?;
        expect("ARP hardware length", header.hardware_length.into(), 6)?;
        expect("ARP protocol length", header.protocol_length.into(), 4)?;
        let operation = match header.operation.get() {
            REQUEST => Operation::Request,
            REPLY => Operation::Reply,
            found => return Err(Malformed::Value { what: "ARP operation", found }),
        };
        Ok(Self { header, operation, payload })
    }

    /// Request or reply.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// Hardware address of the sender (`ar$sha`).
    pub fn sender_hardware(&self) -> Address {
        self.header.sender_hardware
    }

    /// Protocol address of the sender (`ar$spa`); unspecified in a probe: RFC 5227.
    pub fn sender_protocol(&self) -> Ipv4Addr {
        self.header.sender_protocol.into()
    }

    /// Hardware address of the target (`ar$tha`); without meaning in a request.
    pub fn target_hardware(&self) -> Address {
        self.header.target_hardware
    }

    /// Protocol address of the target (`ar$tpa`).
    pub fn target_protocol(&self) -> Ipv4Addr {
        self.header.target_protocol.into()
    }

    /// What follows the packet: the padding of the frame, as ARP carries nothing.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The packet as a value.
    pub fn repr(&self) -> Repr {
        Repr {
            operation: self.operation(),
            sender_hardware: self.sender_hardware(),
            sender_protocol: self.sender_protocol(),
            target_hardware: self.target_hardware(),
            target_protocol: self.target_protocol(),
        }
    }
}

/// A request or reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Request or reply.
    pub operation: Operation,
    /// Hardware address of the sender.
    pub sender_hardware: Address,
    /// Protocol address of the sender.
    pub sender_protocol: Ipv4Addr,
    /// Hardware address of the target; all zeroes in a request.
    pub target_hardware: Address,
    /// Protocol address of the target.
    pub target_protocol: Ipv4Addr,
}

impl Repr {
    /// Length of the packet in bytes: 28.
    pub const fn header_len(&self) -> usize {
        PACKET_BYTES
    }

    /// Writes the packet at the front of the buffer, which has at least
    /// [`header_len`](Self::header_len) bytes.
    ///
    /// # Errors
    ///
    /// [`NoRoom::Buffer`] when it has fewer; nothing is written then.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), NoRoom> {
        let operation = match self.operation {
            Operation::Request => REQUEST,
            Operation::Reply => REPLY,
        };
        let header = Header {
            hardware_type: ETHERNET.into(),
            protocol_type: EtherType::IPV4.0.into(),
            hardware_length: 6,
            protocol_length: 4,
            operation: operation.into(),
            sender_hardware: self.sender_hardware,
            sender_protocol: self.sender_protocol.octets(),
            target_hardware: self.target_hardware,
            target_protocol: self.target_protocol.octets(),
        };
        write_header("ARP packet", &header, buffer)
    }
}

#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    hardware_type: U16,
    protocol_type: U16,
    hardware_length: u8,
    protocol_length: u8,
    operation: U16,
    sender_hardware: Address,
    sender_protocol: [u8; 4],
    target_hardware: Address,
    target_protocol: [u8; 4],
}

const ETHERNET: u16 = 1;
const REQUEST: u16 = 1;
const REPLY: u16 = 2;

#[cfg(test)]
mod tests;
