//! Looks at a file before SQLite does.
//!
//! SQLite is glad to write into whatever it is given: it makes journals beside it, and it takes an
//! empty header for a new database. So the header is read as plain bytes first
//! (<https://www.sqlite.org/fileformat.html>, section 1.3), and a file that is not the store's is
//! never opened by SQLite. Nor is one that somebody else could read or put in place: the history
//! says who talks to whom, and a shared directory holds what other users left there.

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions},
    io::{self, ErrorKind, Read},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::{fs::OFlags, process::geteuid};

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

/// What tells a file from another one of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }

    /// The file that is at `path` now, if there is one.
    pub fn at(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(|metadata| Self::of(&metadata))
    }
}

/// Finds out what is at `path`, and makes an empty file (mode 0600) if there is nothing, with its
/// directory (mode 0700). Changes nothing that is there.
pub(super) fn inspect(path: &Path) -> Result<(Found, FileId), StoreError> {
    let look = || fs::symlink_metadata(path);
    let metadata = match look() {
        Err(error) if error.kind() == ErrorKind::NotFound => create(path).and_then(|()| look()),
        looked => looked,
    };
    let metadata = metadata.map_err(|source| directory_error(path, source))?;
    check_type(path, &metadata)?;
    let read_only = |error: io::Error| StoreError::ReadOnly {
        path: path.to_owned(),
        detail: error.to_string(),
    };
    // What is there may have changed since: neither follow a link nor wait for a pipe's other end.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
    let file = file.map_err(read_only)?;
    let metadata = file.metadata().map_err(read_only)?;
    check_type(path, &metadata)?;
    let found = match metadata.len() {
        0 => Found::Empty,
        bytes => check_header(path, &file, bytes)?,
    };
    check_private(path, &metadata)?;
    check_journals(path)?;
    Ok((found, FileId::of(&metadata)))
}

fn create(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory_of(path))?;
    // Follows no link.
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        // Another instance is starting at this very moment.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        opened => opened.map(drop),
    }
}

fn check_type(path: &Path, metadata: &Metadata) -> Result<(), StoreError> {
    if metadata.is_symlink() {
        return Err(StoreError::Link { path: path.to_owned() });
    }
    if !metadata.is_file() {
        return Err(StoreError::NotAFile { path: path.to_owned() });
    }
    Ok(())
}

pub(super) fn check_private(path: &Path, metadata: &Metadata) -> Result<(), StoreError> {
    let path = path.to_owned();
    let (owner, user) = (metadata.uid(), geteuid().as_raw());
    if owner != user {
        return Err(StoreError::OtherOwner { path, owner, user });
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(StoreError::NotPrivate { path, mode });
    }
    Ok(())
}

/// Refuses journals that somebody else could read or has put beside the file.
pub(super) fn check_journals(path: &Path) -> Result<(), StoreError> {
    for journal in journals_of(path) {
        if let Ok(metadata) = fs::symlink_metadata(&journal) {
            check_type(&journal, &metadata)?;
            check_private(&journal, &metadata)?;
        }
    }
    Ok(())
}

/// The files that SQLite makes beside a database.
pub(super) fn journals_of(path: &Path) -> [PathBuf; 3] {
    ["-wal", "-shm", "-journal"].map(|suffix| {
        let mut journal = path.as_os_str().to_owned();
        journal.push(suffix);
        journal.into()
    })
}

/// The same path without links in it. To be called when the directory is there.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, StoreError> {
    let dir = directory_of(path).canonicalize();
    let dir = dir.map_err(|source| directory_error(path, source))?;
    Ok(dir.join(path.file_name().unwrap_or_default()))
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
    let [log, _, rollback] = journals_of(&path);
    let has_journal = [log, rollback]
        .iter()
        .any(|journal| fs::symlink_metadata(journal).is_ok_and(|metadata| metadata.len() > 0));
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
