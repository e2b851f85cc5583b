//! How many TCP sockets the kernel counts in a namespace: the table must have as many.
//!
//! A connection whose only event was lost without being counted is in no table that is checked
//! socket by socket. But the kernel counts its sockets where they are hashed
//! (`sock_prot_inuse_add`), which `/proc/net/sockstat` shows at the price of a small read.

use std::{
    fs::File,
    io::{self, ErrorKind::NotFound},
    os::unix::fs::FileExt,
};

use crate::{Error, Place};

/// The second is missing where there is no IPv6.
const TABLES: [&str; 2] = ["/proc/thread-self/net/sockstat", "/proc/thread-self/net/sockstat6"];

/// Both tables are a few lines.
const BYTES_MAX: usize = 1024;

/// So many walks in a row that do not make the numbers agree show that the kernel counts what the
/// table does not have at all; from then on the count says nothing.
const IN_VAIN_MAX: u8 = 3;

/// The count of a namespace, which it keeps alive.
#[derive(Debug)]
pub struct Count {
    files: Vec<File>,
    in_vain: u8,
}

impl Count {
    /// Opens the kernel's tables; without any where `/proc` does not have them.
    ///
    /// # Errors
    /// When the namespace cannot be entered, or the files not be opened though they exist.
    pub fn open(place: &Place) -> Result<Self, Error> {
        let open = || TABLES.iter().map(File::open).filter(|it| !is_missing(it)).collect();
        let files: io::Result<Vec<File>> = place.run(open)?;
        let files = files.map_err(Error::system("count the sockets", place.to_string()))?;
        Ok(Self { files, in_vain: 0 })
    }

    /// How many TCP sockets there are, without half-open ones and those in TIME-WAIT; `None` where
    /// nobody tells, or what is told makes no sense.
    pub fn sockets(&self) -> Option<i64> {
        if self.files.is_empty() || self.in_vain >= IN_VAIN_MAX {
            return None;
        }
        let mut sum = 0;
        for file in &self.files {
            let mut bytes = [0; BYTES_MAX];
            let length = file.read_at(&mut bytes, 0).ok()?;
            sum += in_use(std::str::from_utf8(&bytes[..length]).ok()?)?;
        }
        Some(sum)
    }

    /// All was read again because the numbers did not agree: whether they do now.
    pub fn judge(&mut self, agrees: bool) {
        self.in_vain = if agrees { 0 } else { self.in_vain + 1 };
    }
}

fn is_missing(opened: &io::Result<File>) -> bool {
    opened.as_ref().is_err_and(|error| error.kind() == NotFound)
}

/// In `TCP: inuse 12 orphan 0 tw 3 alloc 13 mem 1`: those in use.
fn in_use(sockstat: &str) -> Option<i64> {
    let line = |line: &str| {
        let rest = line.strip_prefix("TCP:").or_else(|| line.strip_prefix("TCP6:"))?;
        rest.trim_start().strip_prefix("inuse ")?.split_ascii_whitespace().next()?.parse().ok()
    };
    sockstat.lines().find_map(line)
}

#[cfg(test)]
mod tests;
