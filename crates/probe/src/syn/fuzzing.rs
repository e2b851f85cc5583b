//! A way in for the fuzz target `probe_answer`: what is heard while these checks are under way.

use std::net::{IpAddr, SocketAddr};

use portolan_wire::Seq;

use super::{
    flights::{Flight, Flights, Heard},
    hear,
    ports::Ports,
    segment,
};
use crate::{Answer, Id};

/// The ways in which a packet arrives.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// From its IPv4 header on.
    V4,
    /// From its IPv6 header on.
    V6,
    /// An ICMPv6 message whose checksum the kernel looked at.
    IcmpV6,
    /// A TCP segment from this address.
    Segment(IpAddr),
}

/// Checks under way, with a key that is no secret.
#[derive(Debug)]
pub struct Ears {
    flights: Flights,
    launched: Vec<Flight>,
}

impl Ears {
    /// Each target is asked once from the address beside it; the check's place is its index here.
    #[must_use]
    pub fn new(targets: &[(SocketAddr, IpAddr)]) -> Self {
        let mut flights = Flights::new((1, 2), Ports { first: 40_000, count: 16 });
        let launched = targets.iter().zip(0..).filter_map(|(&(target, source), place)| {
            flights.launch(Id(place), target, source).map(|(flight, _)| flight)
        });
        let launched = launched.collect();
        Self { flights, launched }
    }

    /// The packet with the SYN of each check.
    #[must_use]
    pub fn syns(&self) -> Vec<Vec<u8>> {
        let write = |flight: &Flight| {
            let mut buffer = vec![0; segment::PACKET_BYTES_MAX];
            let template = segment::Template::of(flight.source);
            let written = template.map(|it| it.write(flight, 0, false, &mut buffer));
            let length = written.unwrap_or(0);
            buffer.truncate(length);
            buffer
        };
        self.launched.iter().map(write).collect()
    }

    /// The source port and the sequence number of each check.
    #[must_use]
    pub fn numbers(&self) -> Vec<(u16, Seq)> {
        self.launched.iter().map(|flight| (flight.source_port, flight.sequence)).collect()
    }

    /// What a packet says about which check, if anything.
    #[must_use]
    pub fn hear(&self, way: Way, bytes: &[u8], is_cut: bool) -> Option<(Id, Answer)> {
        let heard = match way {
            Way::V4 => hear::hear_v4(&self.flights, bytes, is_cut),
            Way::V6 => hear::hear_v6(&self.flights, bytes, is_cut),
            Way::IcmpV6 => hear::hear_icmp_v6(&self.flights, bytes),
            Way::Segment(source) => self.flights.hear_segment(source, bytes, is_cut),
        };
        match heard {
            Heard::Answer(id, answer) => Some((id, answer)),
            Heard::Foreign | Heard::Forged => None,
        }
    }
}
