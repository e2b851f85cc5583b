//! A run as a file for Wireshark: the pcap format, with the virtual clock.

use std::io::{self, Write};

use portolan_stack::Instant;

use crate::{
    frame::{Datagram, Frame},
    observer::said,
};

/// Frames in the order in which they were sent.
#[derive(Debug, Default)]
pub struct Capture {
    is_on: bool,
    frames: Vec<(Instant, Frame)>,
}

impl Capture {
    /// A capture; it takes nothing where it is off.
    #[must_use]
    pub const fn new(is_on: bool) -> Self {
        Self { is_on, frames: Vec::new() }
    }

    /// Takes a frame.
    pub fn add(&mut self, at: Instant, frame: &[u8]) {
        if self.is_on {
            self.frames.push((at, frame.to_vec()));
        }
    }

    /// The frames.
    #[must_use]
    pub fn frames(&self) -> &[(Instant, Frame)] {
        &self.frames
    }

    /// The segments of TCP, a line each: milliseconds, sender, segment.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let first = self.frames.first().map(|(at, _)| *at).unwrap_or_default();
        self.frames.iter().map(move |(at, frame)| {
            let micros = at.since(first).as_micros();
            let said = match Datagram::read(frame).and_then(|datagram| datagram.segment()) {
                Some(one) => format!("{} > {}: {}", one.source, one.destination, said(&one.packet)),
                None => format!("no segment of TCP, {} bytes", frame.len()),
            };
            format!("{:>8}.{:03} {said}", micros / 1_000, micros % 1_000)
        })
    }

    /// Writes the file: draft-ietf-opsawg-pcap, version 2.4, microseconds, Ethernet.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write(&self, into: &mut impl Write) -> io::Result<()> {
        into.write_all(&0xa1b2_c3d4_u32.to_le_bytes())?;
        into.write_all(&2_u16.to_le_bytes())?;
        into.write_all(&4_u16.to_le_bytes())?;
        into.write_all(&[0; 8])?;
        into.write_all(&262_144_u32.to_le_bytes())?;
        into.write_all(&LINKTYPE_ETHERNET.to_le_bytes())?;
        for (at, frame) in &self.frames {
            let (seconds, micros) = (at.as_micros() / 1_000_000, at.as_micros() % 1_000_000);
            for field in [seconds, micros, frame.len() as u64, frame.len() as u64] {
                into.write_all(&u32::try_from(field).unwrap_or(u32::MAX).to_le_bytes())?;
            }
            into.write_all(frame)?;
        }
        Ok(())
    }
}

const LINKTYPE_ETHERNET: u32 = 1;
