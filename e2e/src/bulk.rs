//! Much data in both directions, and whether it is the same at the other end.

use std::{
    hash::{DefaultHasher, Hasher},
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    time::Duration,
};

use portolan_host::blocking::Connection;

use crate::Random;

/// So long a read or a write may wait: longer than a connection that works ever does.
pub const PATIENCE: Duration = Duration::from_secs(45);

/// An end of a connection: the kernel's or the host's.
pub trait End: Sync {
    /// Reads as [`Read::read`] does.
    ///
    /// # Errors
    /// When the connection ended early, or nothing came for [`PATIENCE`].
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes as [`Write::write_all`] does.
    ///
    /// # Errors
    /// When the connection ended early, or there was no room for [`PATIENCE`].
    fn write_all(&self, bytes: &[u8]) -> io::Result<()>;

    /// Nothing more will be written.
    ///
    /// # Errors
    /// When the connection ended early.
    fn finish(&self) -> io::Result<()>;
}

impl End for TcpStream {
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut this = self;
        Read::read(&mut this, buffer)
    }

    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut this = self;
        Write::write_all(&mut this, bytes)
    }

    fn finish(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

impl End for Connection {
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut this = self;
        Read::read(&mut this, buffer)
    }

    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut this = self;
        Write::write_all(&mut this, bytes)
    }

    fn finish(&self) -> io::Result<()> {
        Self::finish(self);
        Ok(())
    }
}

/// A connection of the kernel's whose calls do not wait for ever.
///
/// # Errors
/// As of [`TcpStream::connect`].
pub fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    patient(TcpStream::connect_timeout(&to, PATIENCE)?)
}

/// The same with one that was accepted.
///
/// # Errors
/// When a time cannot be set.
pub fn patient(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Writes so many bytes, which the seed determines, and no more after them; their hash.
///
/// # Errors
/// When the connection ended early, or stands still.
pub fn send(end: &dyn End, seed: u64, bytes: usize) -> io::Result<u64> {
    let (mut random, mut hasher) = (Random::new(seed), DefaultHasher::new());
    let mut block = vec![0; 1 << 16];
    let mut left = bytes;
    while left > 0 {
        for word in block.chunks_exact_mut(8) {
            word.copy_from_slice(&random.below(u64::MAX).to_ne_bytes());
        }
        let part = &block[..left.min(block.len())];
        hasher.write(part);
        end.write_all(part)?;
        left -= part.len();
    }
    end.finish()?;
    Ok(hasher.finish())
}

/// Reads to the end: how many bytes there were, and their hash.
///
/// # Errors
/// When the connection ended early, or stands still.
pub fn receive(end: &dyn End) -> io::Result<(usize, u64)> {
    let (mut hasher, mut buffer, mut received) = (DefaultHasher::new(), vec![0; 1 << 16], 0);
    // A hash of pieces depends on where they are cut: pieces of the sender's length are made.
    let mut filled = 0;
    loop {
        let count = end.read(&mut buffer[filled..])?;
        received += count;
        filled += count;
        if count == 0 || filled == buffer.len() {
            hasher.write(&buffer[..filled]);
            filled = 0;
        }
        if count == 0 {
            return Ok((received, hasher.finish()));
        }
    }
}

/// What two ends do with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// First one sends, then the other.
    InTurn,
    /// Both at once.
    AtOnce,
}

/// Sends and receives at one end; the hashes of what was sent and of what came.
///
/// # Errors
/// When the connection ended early, or stands still.
pub fn exchange(
    end: &dyn End,
    is_first: bool,
    order: Order,
    bytes: usize,
) -> io::Result<(u64, u64)> {
    let seed = if is_first { 11 } else { 12 };
    let expect = |(received, hash): (usize, u64)| match received == bytes {
        true => Ok(hash),
        false => Err(io::Error::other(format!("{received} bytes came, not {bytes}"))),
    };
    match (order, is_first) {
        (Order::InTurn, true) => {
            let sent = send(end, seed, bytes)?;
            Ok((sent, expect(receive(end)?)?))
        }
        (Order::InTurn, false) => {
            let came = expect(receive(end)?)?;
            Ok((send(end, seed, bytes)?, came))
        }
        (Order::AtOnce, _) => std::thread::scope(|scope| {
            let sending = scope.spawn(|| send(end, seed, bytes));
            let came = expect(receive(end)?)?;
            let sent = sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            Ok((sent, came))
        }),
    }
}
