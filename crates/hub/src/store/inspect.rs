//! Looks at a file before SQLite does.
//!
//! SQLite is glad to write into whatever it is given: it makes journals beside it, and it takes an
//! empty header for a new database. So the header is read as plain bytes first
//! (<https://www.sqlite.org/fileformat.html>, section 1.3), and a file that is not the store's is
//! never opened by SQLite.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Read},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use super::{SCHEMA_VERSION, StoreError, schema::APPLICATION_ID};

const HEADER_BYTES: usize = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// An empty file, just made or not.
    Empty,
    /// A database of this application, as far as its header says.
    Database {
        /// The size of the file.
        bytes: u64,
        /// There is a journal that another instance is using, or that a killed one left.
        has_journal: bool,
    },
}

/// Finds out what is at `path`, and makes an empty file (mode 0600) if there is nothing, with its
/// directory (mode 0700). Changes nothing that is there.
pub(super) fn inspect(path: &Path) -> Result<Found, StoreError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return create(path),
        Err(error) => return Err(directory_error(path, error)),
    };
    // Opening a named pipe would wait for its other end.
    if !metadata.is_file() {
        return Err(StoreError::NotAFile { path: path.to_owned() });
    }
    let read_only = |error: io::Error| StoreError::ReadOnly {
        path: path.to_owned(),
        detail: error.to_string(),
    };
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(read_only)?;
    if metadata.len() == 0 {
        return Ok(Found::Empty);
    }
    check_header(path, &file, metadata.len())
}

fn create(path: &Path) -> Result<Found, StoreError> {
    let dir = directory_of(path);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&dir)
        .and_then(|()| {
            // Not `create_new`: another instance may be starting at this very moment.
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
        })
        .map_err(|error| directory_error(path, error))?;
    Ok(Found::Empty)
}

fn directory_of(path: &Path) -> PathBuf {
    path.parent().map(Path::to_owned).unwrap_or_default()
}

fn directory_error(path: &Path, source: io::Error) -> StoreError {
    StoreError::Directory { path: path.to_owned(), dir: directory_of(path), source }
}

fn check_header(path: &Path, mut file: &File, bytes: u64) -> Result<Found, StoreError> {
    let path = path.to_owned();
    let mut header = [0; HEADER_BYTES];
    match file.read_exact(&mut header) {
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => {
            return Err(StoreError::Corrupt { path, detail: error.to_string() });
        }
        Ok(()) if header.starts_with(MAGIC) => {}
        _ => return Err(StoreError::NotADatabase { path }),
    }
    let application_id = number_at(&header, 68);
    if application_id != APPLICATION_ID {
        return Err(StoreError::OtherApplication { path, application_id });
    }
    let found = number_at(&header, 60);
    if found > SCHEMA_VERSION {
        return Err(StoreError::NewerVersion { path, found, known: SCHEMA_VERSION });
    }
    let has_journal = ["-wal", "-journal"].iter().any(|suffix| {
        let mut journal = path.clone().into_os_string();
        journal.push(suffix);
        fs::metadata(journal).is_ok_and(|metadata| metadata.len() > 0)
    });
    let expected = expected_bytes(&header);
    if !has_journal && expected.is_some_and(|expected| bytes < expected) {
        let expected = expected.unwrap_or_default();
        let detail = format!("{bytes} bytes are left of {expected}");
        return Err(StoreError::Corrupt { path, detail });
    }
    Ok(Found::Database { bytes, has_journal })
}

/// The size that the header gives, where it is to be trusted: older versions of SQLite did not
/// keep it up to date, and two other numbers agree if it is.
fn expected_bytes(header: &[u8; HEADER_BYTES]) -> Option<u64> {
    // The page size is two bytes, big-endian; 1 stands for 65536, which does not fit.
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        page => u64::from(page),
    };
    let is_valid = number_at(header, 24) == number_at(header, 92);
    is_valid.then(|| page * u64::from(number_at(header, 28)))
}

/// Four bytes, big-endian.
fn number_at(header: &[u8; HEADER_BYTES], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&header[at..at + 4]);
    u32::from_be_bytes(bytes)
}
