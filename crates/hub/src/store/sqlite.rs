//! The history in an SQLite file.
//!
//! A write-ahead log with `synchronous = NORMAL`: a program that is killed at any moment loses at
//! most the transaction that it was in, and a power failure the last few. Readers and a second
//! instance do not wait for each other, except for the moment of a write.

use std::{
    fs, mem,
    path::{Path, PathBuf},
    time::Duration,
};

use portolan_flow::Flow;
use rusqlite::{
    Connection, ErrorCode, OpenFlags, Row, config::DbConfig, params_from_iter, types::Value,
};

use super::{
    Rows, SCHEMA_VERSION, Seen, Store, StoreError,
    inspect::{FileId, Found, check_journals, inspect, journals_of, resolve},
    row::{self, Keyed},
    schema,
};

/// How long a write waits for that of another instance.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Larger files are not read through when they are opened; that would take seconds.
const CHECKED_BYTES_MAX: u64 = 64 << 20;

const EDGE_KEY: &str = "transport, server_port, client_address, client_namespace, client_owner, \
    client_uid, client_process, client_unit, client_container, server_address, server_namespace, \
    server_owner, server_uid, server_process, server_unit, server_container";

const LISTENER_KEY: &str =
    "transport, port, address, namespace, owner, uid, process, unit, container";

/// A history in a file.
#[derive(Debug)]
pub struct Sqlite {
    path: PathBuf,
    connection: Connection,
    /// The file that the connection is to; `None` if it could not be opened again.
    file: Option<FileId>,
    /// Its journals: without the file, they are of no use to anybody.
    journals: [Option<FileId>; 3],
}

impl Sqlite {
    /// Opens the store at `path`, or makes it, with mode 0600 and a directory of mode 0700.
    ///
    /// # Errors
    /// If the file is not a store of this program, is damaged, or cannot be read and written; if
    /// it is another user's, others may read or write it, or `path` is a symbolic link. The file
    /// is as it was then.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        // SQLite gives names such as ":memory:" a meaning; an absolute path has none.
        let path = std::path::absolute(path.as_ref()).map_err(|source| StoreError::Directory {
            path: path.as_ref().to_owned(),
            dir: PathBuf::new(),
            source,
        })?;
        let (found, file) = inspect(&path)?;
        let connection = connect(&resolve(&path)?, found).map_err(|error| refusal(&path, error))?;
        let mut store = Self { path, connection, file: Some(file), journals: [None; 3] };
        store.check(found)?;
        store.prepare().map_err(|error| refusal(&store.path, error))?;
        // In a directory of others, what was looked at may not be what was opened then.
        check_journals(&store.path)?;
        store.journals = journals_of(&store.path).map(|journal| FileId::at(&journal));
        if store.is_replaced() {
            return Err(StoreError::Replaced { path: store.path });
        }
        Ok(store)
    }

    /// Whether the file at the path is not the one that is open: what is written would be lost.
    fn is_replaced(&self) -> bool {
        self.file.is_none() || self.file != FileId::at(&self.path)
    }

    /// Opens, or makes, the file that has to be at the path by now.
    fn begin_anew(&mut self) -> Result<(), StoreError> {
        let failed = self.failed("closing a file that was removed or replaced");
        self.file = None;
        // Before there is another connection: SQLite's locks belong to the process and the name.
        self.connection = Connection::open_in_memory().map_err(failed)?;
        // SQLite would take them for those of the file that is there now.
        for (journal, own) in journals_of(&self.path).iter().zip(mem::take(&mut self.journals)) {
            if own.is_some() && own == FileId::at(journal) {
                fs::remove_file(journal).map_err(|error| StoreError::ReadOnly {
                    path: journal.clone(),
                    detail: error.to_string(),
                })?;
            }
        }
        *self = Self::open(&self.path)?;
        Ok(())
    }

    /// Looks through a file that is there, without writing to it.
    fn check(&self, found: Found) -> Result<(), StoreError> {
        let Found::Database { bytes, .. } = found else { return Ok(()) };
        let path = || self.path.clone();
        let refuse = |error| refusal(&self.path, error);
        // The header of the file may be behind: the journal can have a later one.
        let found = schema::version(&self.connection).map_err(refuse)?;
        if found > SCHEMA_VERSION {
            return Err(StoreError::NewerVersion { path: path(), found, known: SCHEMA_VERSION });
        }
        if bytes < CHECKED_BYTES_MAX {
            let verdict: String = self
                .connection
                .pragma_query_value(None, "quick_check", |row| row.get(0))
                .map_err(refuse)?;
            if verdict != "ok" {
                return Err(StoreError::Corrupt { path: path(), detail: one_line(&verdict) });
            }
        }
        Ok(())
    }

    fn prepare(&mut self) -> rusqlite::Result<()> {
        // The identity of a new file is written before the file has a log, so that it is in the
        // header from the first moment, where `inspect` looks for it.
        schema::migrate(&mut self.connection)?;
        self.connection.pragma_update(None, "journal_mode", "WAL")?;
        self.connection.pragma_update(None, "synchronous", "NORMAL")?;
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        // Without the tables this is the moment to say so.
        self.connection.prepare(&select("edge", EDGE_KEY, "direction_guessed"))?;
        self.connection.prepare(&select("listener", LISTENER_KEY, "0"))?;
        // The first look at a file makes its journals, which can be looked at then.
        self.connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
    }

    fn failed(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
        let path = self.path.clone();
        move |source| match source {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..) => {
                StoreError::Corrupt { path: path.clone(), detail: source.to_string() }
            }
            _ => StoreError::Failed { path: path.clone(), doing, source },
        }
    }
}

fn connect(path: &Path, found: Found) -> rusqlite::Result<Connection> {
    // Neither CREATE nor URI: the file is there, and a name is only a name.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    if matches!(found, Found::Database { has_journal: true, .. }) {
        // If the file turns out not to be ours, closing it must not write the log into it.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    }
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    Ok(connection)
}

/// Why a file cannot be opened, from what SQLite says.
fn refusal(path: &Path, source: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    let detail = one_line(&source.to_string());
    match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::NotADatabase { path },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::Unknown) => {
            StoreError::Corrupt { path, detail }
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::ReadOnly { path, detail }
        }
        _ => StoreError::Failed { path, doing: "opening the store", source },
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn select(table: &str, key: &str, guessed: &str) -> String {
    format!(
        "SELECT {key}, {guessed}, first_seen_ms, last_seen_ms FROM {table} \
         WHERE last_seen_ms >= ? ORDER BY last_seen_ms DESC LIMIT ?"
    )
}

fn upsert(table: &str, key: &str, guessed: &[&str]) -> String {
    let facts = [guessed, &["first_seen_ms", "last_seen_ms"]].concat();
    let marks = vec!["?"; key.split(',').count() + facts.len()].join(", ");
    let update: Vec<String> = facts
        .iter()
        .map(|&fact| {
            let keep = if fact == "last_seen_ms" { "max" } else { "min" };
            format!("{fact} = {keep}({fact}, excluded.{fact})")
        })
        .collect();
    format!(
        "INSERT INTO {table} ({key}, {}) VALUES ({marks}) ON CONFLICT DO UPDATE SET {}",
        facts.join(", "),
        update.join(", ")
    )
}

/// SQLite's integers are signed.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn read<T: Keyed>(
    connection: &Connection,
    sql: &str,
    (since_ms, rows_max): (u64, usize),
    what: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<Seen<T>>> {
    let mut statement = connection.prepare_cached(sql)?;
    let guessed = statement.column_count() - 3;
    let limit = i64::try_from(rows_max).unwrap_or(i64::MAX);
    let rows = statement.query_map([signed(since_ms), limit], |row| {
        let time = |at: usize| row.get(at).map(|ms: i64| u64::try_from(ms).unwrap_or_default());
        Ok(Seen {
            what: what(row)?.with_guessed(row.get(guessed)?),
            first_seen_ms: time(guessed + 1)?,
            last_seen_ms: time(guessed + 2)?,
        })
    })?;
    rows.collect()
}

fn write(connection: &mut Connection, rows: &Rows) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    {
        let times = |first: u64, last: u64| [Value::from(signed(first)), signed(last).into()];
        let sql = upsert("edge", EDGE_KEY, &["direction_guessed"]);
        let mut statement = transaction.prepare_cached(&sql)?;
        for row in &rows.edges {
            let flow: &Flow = &row.what;
            let mut values = row::flow_values(flow);
            values.push(flow.guessed.into());
            values.extend(times(row.first_seen_ms, row.last_seen_ms));
            statement.execute(params_from_iter(values))?;
        }
        let mut statement = transaction.prepare_cached(&upsert("listener", LISTENER_KEY, &[]))?;
        for row in &rows.listeners {
            let mut values = row::listener_values(&row.what);
            values.extend(times(row.first_seen_ms, row.last_seen_ms));
            statement.execute(params_from_iter(values))?;
        }
    }
    transaction.commit()
}

fn delete(connection: &mut Connection, before_ms: u64, max: usize) -> rusqlite::Result<u64> {
    let transaction = connection.transaction()?;
    let mut count = 0;
    for (table, key) in [("edge", EDGE_KEY), ("listener", LISTENER_KEY)] {
        let old = format!("DELETE FROM {table} WHERE last_seen_ms < ?");
        count += transaction.execute(&old, [signed(before_ms)])?;
        let surplus = format!(
            "DELETE FROM {table} WHERE ({key}) IN \
             (SELECT {key} FROM {table} ORDER BY last_seen_ms DESC LIMIT -1 OFFSET ?)"
        );
        count += transaction.execute(&surplus, [signed(max as u64)])?;
    }
    transaction.commit()?;
    Ok(count as u64)
}

impl Store for Sqlite {
    fn load(&mut self, since_ms: u64, rows_max: usize) -> Result<Rows, StoreError> {
        let bounds = (since_ms, rows_max);
        let failed = self.failed("reading the history");
        let edges = select("edge", EDGE_KEY, "direction_guessed");
        let listeners = select("listener", LISTENER_KEY, "0");
        Ok(Rows {
            edges: read(&self.connection, &edges, bounds, row::read_flow).map_err(&failed)?,
            listeners: read(&self.connection, &listeners, bounds, row::read_listener)
                .map_err(&failed)?,
        })
    }

    fn save(&mut self, rows: &Rows) -> Result<(), StoreError> {
        if self.is_replaced() {
            self.begin_anew()?;
            return Err(StoreError::Replaced { path: self.path.clone() });
        }
        if rows.is_empty() {
            return Ok(());
        }
        let failed = self.failed("saving the history");
        write(&mut self.connection, rows).map_err(failed)
    }

    fn forget(&mut self, before_ms: u64, rows_max: usize) -> Result<u64, StoreError> {
        let failed = self.failed("dropping old history");
        delete(&mut self.connection, before_ms, rows_max).map_err(failed)
    }
}

#[cfg(test)]
mod tests;
