//! The example in the format's document is what the program writes and reads.

use rusqlite::Connection;

use super::*;

const DOCUMENT: &str = include_str!("../../../../../docs/formats/store.md");

fn example() -> &'static str {
    let from = DOCUMENT.find("```sql\n").expect("an example") + "```sql\n".len();
    let rest = &DOCUMENT[from..];
    &rest[..rest.find("```").expect("the end of the example")]
}

fn rows() -> Rows {
    let postgres = || unit("postgres", "postgresql@15-main.service", "127.0.0.1");
    let first = 1_795_222_000_000;
    let last = 1_795_222_800_000;
    let mut edges = vec![
        seen(flow(process("psql", "127.0.0.1"), postgres(), 5432), first, last),
        seen(flow(remote("192.0.2.7"), hidden(33, "10.0.0.1"), 443), first, first + 1_000),
    ];
    edges[1].what.guessed = true;
    for row in &mut edges {
        row.what = crate::edge::without_counts(&row.what);
    }
    Rows { edges, listeners: vec![seen(listener(postgres(), 5432), first, last)] }
}

#[test]
fn the_example_is_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    Connection::open(&path).and_then(|db| db.execute_batch(example())).expect("the example");
    set_mode(&path, 0o600);
    let found = Sqlite::open(&path).expect("open").load(0, 100).expect("load");
    assert_eq!(found, rows());
}

#[test]
fn the_example_is_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.db");
    Sqlite::open(&path).expect("open").save(&rows()).expect("save");
    let db = Connection::open(&path).expect("open");
    let number = |pragma: &str| -> i64 {
        db.pragma_query_value(None, pragma, |row| row.get(0)).expect("a number")
    };
    let mut dump = format!(
        "PRAGMA application_id = {};\nPRAGMA user_version = {};\n",
        number("application_id"),
        number("user_version")
    );
    for table in ["edge", "listener"] {
        let schema: String = db
            .query_row("SELECT sql FROM sqlite_schema WHERE name = ?", [table], |row| row.get(0))
            .expect("a table");
        dump += &format!("{schema};\n");
    }
    for table in ["edge", "listener"] {
        let mut statement = db.prepare(&format!("SELECT * FROM {table}")).expect("select");
        let columns = statement.column_count();
        let mut found = statement.query([]).expect("rows");
        while let Some(row) = found.next().expect("a row") {
            let values = (0..columns).map(|at| match row.get(at).expect("a value") {
                rusqlite::types::Value::Integer(number) => number.to_string(),
                rusqlite::types::Value::Text(text) => format!("'{text}'"),
                other => panic!("{other:?}"),
            });
            let values = values.collect::<Vec<_>>().join(", ");
            dump += &format!("INSERT INTO {table} VALUES ({values});\n");
        }
    }
    assert_eq!(dump, example(), "written:\n{dump}");
}
