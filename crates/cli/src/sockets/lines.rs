//! How a socket is written: a line of text, or a line of JSON. A line depends on its socket alone.

use super::{Listed, columns::ColumnSet, config::Layout, record::SocketRecord, text::Table};

/// How sockets are written. Every thread has its own.
#[derive(Debug)]
pub enum Lines {
    /// Text, in columns.
    Text(Table),
    /// An object per line with what these columns show.
    Json(ColumnSet),
}

impl Lines {
    /// As it was asked for.
    pub fn new(layout: &Layout) -> Self {
        if layout.json { Self::Json(layout.fields()) } else { Self::Text(Table::new(layout)) }
    }

    /// Appends what comes before the first line.
    pub fn heading(&self, out: &mut Vec<u8>) {
        if let Self::Text(table) = self {
            table.heading(out);
        }
    }

    /// Appends the line of one socket.
    pub fn row(&self, listed: &Listed<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Text(table) => table.row(listed, out),
            Self::Json(shown) => {
                // Neither a record nor a vector can refuse.
                let _ = serde_json::to_writer(&mut *out, &SocketRecord::of(listed, *shown));
                out.push(b'\n');
            }
        }
    }
}
