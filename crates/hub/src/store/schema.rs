//! The tables, and the way from each version to the next. `docs/formats/store.md` describes them.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// The version of the format that this program writes.
pub const SCHEMA_VERSION: u32 = STEPS.len() as u32;

/// `Ptln`, in the header of the file: what tells it from other databases.
pub(super) const APPLICATION_ID: u32 = 0x5074_6c6e;

/// Step N leads from version N to version N + 1. What is released is never changed: a new version
/// is a new step.
const STEPS: &[&str] = &["
CREATE TABLE edge (
    transport TEXT NOT NULL,
    server_port INTEGER NOT NULL,
    client_address TEXT NOT NULL,
    client_namespace TEXT NOT NULL,
    client_owner TEXT NOT NULL,
    client_uid INTEGER NOT NULL,
    client_process TEXT NOT NULL,
    client_unit TEXT NOT NULL,
    client_container TEXT NOT NULL,
    server_address TEXT NOT NULL,
    server_namespace TEXT NOT NULL,
    server_owner TEXT NOT NULL,
    server_uid INTEGER NOT NULL,
    server_process TEXT NOT NULL,
    server_unit TEXT NOT NULL,
    server_container TEXT NOT NULL,
    direction_guessed INTEGER NOT NULL,
    first_seen_ms INTEGER NOT NULL,
    last_seen_ms INTEGER NOT NULL,
    PRIMARY KEY (transport, server_port,
        client_address, client_namespace, client_owner, client_uid,
        client_process, client_unit, client_container,
        server_address, server_namespace, server_owner, server_uid,
        server_process, server_unit, server_container)
) STRICT, WITHOUT ROWID;

CREATE TABLE listener (
    transport TEXT NOT NULL,
    port INTEGER NOT NULL,
    address TEXT NOT NULL,
    namespace TEXT NOT NULL,
    owner TEXT NOT NULL,
    uid INTEGER NOT NULL,
    process TEXT NOT NULL,
    unit TEXT NOT NULL,
    container TEXT NOT NULL,
    first_seen_ms INTEGER NOT NULL,
    last_seen_ms INTEGER NOT NULL,
    PRIMARY KEY (transport, port, address, namespace, owner, uid, process, unit, container)
) STRICT, WITHOUT ROWID;
"];

/// The version of an open file.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Brings a file to [`SCHEMA_VERSION`], in one transaction. Another instance may be doing the
/// same: whoever comes second finds nothing left to do.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    if version(connection)? >= SCHEMA_VERSION {
        return Ok(());
    }
    let transaction = Transaction::new(connection, TransactionBehavior::Immediate)?;
    let from = version(&transaction)? as usize;
    for step in STEPS.iter().skip(from) {
        transaction.execute_batch(step)?;
    }
    if from < STEPS.len() {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    }
    transaction.commit()
}
