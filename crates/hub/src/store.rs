//! The history: which edges and listening ports were seen, from when to when.
//!
//! A store keeps rows and answers with rows; it knows nothing of nodes, which are found again
//! from the rows. Every store passes the same test.

use std::path::PathBuf;

use portolan_flow::{Flow, Listener};

mod inspect;
mod memory;
mod row;
mod schema;
mod sqlite;

pub use memory::Memory;
pub use schema::SCHEMA_VERSION;
pub use sqlite::Sqlite;

/// Something, and when it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen<T> {
    /// What was seen; without counters and process ids.
    pub what: T,
    /// When it was seen first, in milliseconds since the Unix epoch.
    pub first_seen_ms: u64,
    /// When it was seen last, in milliseconds since the Unix epoch.
    pub last_seen_ms: u64,
}

/// Rows of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Who talked to whom.
    pub edges: Vec<Seen<Flow>>,
    /// Which ports listened.
    pub listeners: Vec<Seen<Listener>>,
}

impl Rows {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty() && self.listeners.is_empty()
    }
}

/// Keeps the history. Times are milliseconds since the Unix epoch.
pub trait Store: Send {
    /// The rows last seen at or after `since_ms`: at most `rows_max` edges and as many
    /// listeners, the last seen first.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn load(&mut self, since_ms: u64, rows_max: usize) -> Result<Rows, StoreError>;

    /// Adds rows, all or none. A row that is there already keeps the earlier of the two first
    /// times and the later of the two last times, so that several writers do not disturb each
    /// other.
    ///
    /// # Errors
    /// If the store cannot be written; nothing was saved then, and the call can be repeated.
    /// [`StoreError::Replaced`]: what was saved before is gone as well, and the store is ready to
    /// be given everything again.
    fn save(&mut self, rows: &Rows) -> Result<(), StoreError>;

    /// Drops the rows last seen before `before_ms`, and the oldest ones where there are more than
    /// `rows_max` edges or listeners. Returns how many were dropped.
    ///
    /// # Errors
    /// If the store cannot be written; nothing was dropped then.
    fn forget(&mut self, before_ms: u64, rows_max: usize) -> Result<u64, StoreError>;
}

/// What every error ends with.
const ADVICE: &str = "use --store FILE for another file, or --no-store to run without history";

/// A store cannot be opened or used. When it cannot be opened, the file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The path is a directory, a device or the like.
    #[error("{} is not a regular file: {ADVICE}", path.display())]
    NotAFile {
        /// The store's file.
        path: PathBuf,
    },
    /// The path is a symbolic link.
    #[error(
        "{} is a symbolic link, which could lead the history to where others read it: give the \
         path that it leads to, or {ADVICE}", path.display()
    )]
    Link {
        /// The store's file, or a journal of it.
        path: PathBuf,
    },
    /// The file is another user's, who could read the history.
    #[error(
        "{} belongs to the user with id {owner}, who could read the history, and portolan runs as \
         {user}: chown it to {user} if it is a history of yours, or {ADVICE}", path.display()
    )]
    OtherOwner {
        /// The store's file, or a journal of it.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// As whom this program runs.
        user: u32,
    },
    /// The file's mode lets others read or write the history.
    #[error(
        "{} has mode {mode:04o}, which lets other users read or change the history: chmod 600 it, \
         or {ADVICE}", path.display()
    )]
    NotPrivate {
        /// The store's file, or a journal of it.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file holds something else.
    #[error("{} is not an SQLite database, and is left as it is: {ADVICE}", path.display())]
    NotADatabase {
        /// The store's file.
        path: PathBuf,
    },
    /// The file is a database of another program.
    #[error(
        "{} is a database of another application (application_id {application_id:#010x}), and \
         is left as it is: {ADVICE}", path.display()
    )]
    OtherApplication {
        /// The store's file.
        path: PathBuf,
        /// The id in its header.
        application_id: u32,
    },
    /// A later version of this program has written the file.
    #[error(
        "{} has version {found}, and this program knows versions up to {known}; it is left as it \
         is: use a newer portolan, or {ADVICE}", path.display()
    )]
    NewerVersion {
        /// The store's file.
        path: PathBuf,
        /// The version in its header.
        found: u32,
        /// The latest version that this program knows.
        known: u32,
    },
    /// The file is damaged.
    #[error("{} is damaged ({detail}), and is left as it is: {ADVICE}", path.display())]
    Corrupt {
        /// The store's file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The file, or the directory in which its journal has to be, is not writable.
    #[error("{} is not writable ({detail}): {ADVICE}", path.display())]
    ReadOnly {
        /// The store's file.
        path: PathBuf,
        /// What the system said.
        detail: String,
    },
    /// The file's directory is missing and cannot be made, or may not be entered or written.
    #[error("{} cannot be used: directory {}: {source}: {ADVICE}", path.display(), dir.display())]
    Directory {
        /// The store's file.
        path: PathBuf,
        /// Its directory.
        dir: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file that was opened is not there any more. What is there now is in use from here on.
    #[error(
        "{} was removed or replaced while it was in use, and begins anew: {ADVICE}",
        path.display()
    )]
    Replaced {
        /// The store's file.
        path: PathBuf,
    },
    /// Reading or writing failed; it may work again later.
    #[error("{}: {doing}: {source}: {ADVICE}", path.display())]
    Failed {
        /// The store's file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

#[cfg(test)]
mod tests;
