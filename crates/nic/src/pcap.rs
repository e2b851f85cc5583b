//! A capture: every frame is written down as it passes, for Wireshark and tcpdump.

mod format;

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    os::fd::BorrowedFd,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::{
    Nic,
    error::Error,
    frame::{Arrival, Departure, Offloads},
};
use format::Direction;

/// Wraps a device and writes every frame to a file of the format pcapng, with the time in
/// nanoseconds and the direction.
///
/// Frames stand there as they are handed over: segments may be longer than the MTU, and their
/// checksums partial (tell Wireshark not to check them). A frame that goes is written when the
/// device has got it, which is before it leaves if the device is full.
///
/// When a write fails the traffic goes on: nothing more is written, [`Pcap::take_error`] says why
/// once, and [`Pcap::unwritten`] counts.
pub struct Pcap<N, W: Write = BufWriter<File>> {
    nic: N,
    capture: Capture<W>,
}

struct Capture<W: Write> {
    interface: String,
    writer: W,
    block: Vec<u8>,
    has_failed: bool,
    error: Option<io::Error>,
    unwritten: u64,
}

impl<N: Nic> Pcap<N> {
    /// Wraps `nic`, which is called `interface` in the file at `path`; a file that is there is
    /// replaced.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(nic: N, interface: &str, path: &Path) -> io::Result<Self> {
        Self::new(nic, interface, BufWriter::with_capacity(1 << 18, File::create(path)?))
    }
}

impl<N: Nic, W: Write> Pcap<N, W> {
    /// Wraps `nic`, which is called `interface` in what is written to `writer`.
    ///
    /// # Errors
    /// When the beginning cannot be written.
    pub fn new(nic: N, interface: &str, mut writer: W) -> io::Result<Self> {
        let mut block = Vec::new();
        format::beginning(&mut block, interface);
        writer.write_all(&block)?;
        let capture = Capture {
            interface: interface.to_owned(),
            writer,
            block,
            has_failed: false,
            error: None,
            unwritten: 0,
        };
        Ok(Self { nic, capture })
    }

    /// Why the capture ended early, the first time that it is asked after it did.
    pub fn take_error(&mut self) -> Option<Error> {
        let source = self.capture.error.take()?;
        Some(Error::Capture { interface: self.capture.interface.clone(), source })
    }

    /// How many frames are not in the capture because it ended early; buffered ones that were
    /// lost with the failing write are not among them.
    pub fn unwritten(&self) -> u64 {
        self.capture.unwritten
    }

    /// Hands what is buffered to the file; also done on drop.
    pub fn flush(&mut self) {
        self.capture.flush();
    }

    /// The device.
    pub fn get_ref(&self) -> &N {
        &self.nic
    }
}

impl<W: Write> Capture<W> {
    fn write(&mut self, direction: Direction, frame: &[u8]) {
        if self.has_failed {
            self.unwritten += 1;
            return;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        self.block.clear();
        format::frame(&mut self.block, since, direction, frame);
        if let Err(error) = self.writer.write_all(&self.block) {
            self.unwritten += 1;
            self.fail(error);
        }
    }

    fn flush(&mut self) {
        if self.has_failed {
            return;
        }
        if let Err(error) = self.writer.flush() {
            self.fail(error);
        }
    }

    fn fail(&mut self, error: io::Error) {
        self.has_failed = true;
        self.error = Some(error);
    }
}

impl<W: Write> Drop for Capture<W> {
    fn drop(&mut self) {
        self.flush();
    }
}

impl<N: std::fmt::Debug, W: Write> std::fmt::Debug for Pcap<N, W> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Pcap")
            .field("nic", &self.nic)
            .field("interface", &self.capture.interface)
            .field("unwritten", &self.capture.unwritten)
            .finish_non_exhaustive()
    }
}

impl<N: Nic, W: Write> Nic for Pcap<N, W> {
    fn receive(&mut self, take: &mut dyn FnMut(Arrival<'_>)) -> Result<usize, Error> {
        let Self { nic, capture } = self;
        nic.receive(&mut |arrival| {
            capture.write(Direction::Inbound, arrival.bytes);
            take(arrival);
        })
    }

    fn transmit(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> Option<Departure>,
    ) -> Result<usize, Error> {
        let Self { nic, capture } = self;
        nic.transmit(&mut |buffer| {
            let departure = fill(buffer)?;
            if let Some(frame) = buffer.get(..departure.len) {
                capture.write(Direction::Outbound, frame);
            }
            Some(departure)
        })
    }

    fn offloads(&self) -> Offloads {
        self.nic.offloads()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.nic.descriptor()
    }
}

#[cfg(test)]
mod tests;
