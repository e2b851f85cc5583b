//! How a socket is written: a line of text, or a line of JSON. A line depends on its socket alone.

use serde::Serialize;

use super::{
    Listed, columns::ColumnSet, config::Layout, interfaces::Interfaces, record::SocketRecord,
    text::Table, watch::Mark,
};

/// A socket that changed.
#[derive(Serialize)]
struct Changed<'a> {
    change: &'static str,
    #[serde(flatten)]
    socket: SocketRecord<'a>,
}

/// How sockets are written. Every thread has its own.
#[derive(Debug)]
pub enum Lines {
    /// Text, in columns.
    Text(Table),
    /// An object per line with what these columns show.
    Json(ColumnSet, Interfaces),
}

impl Lines {
    /// As it was asked for.
    pub fn new(layout: &Layout) -> Self {
        match layout.json {
            true => Self::Json(layout.fields(), Interfaces::default()),
            false => Self::Text(Table::new(layout)),
        }
    }

    /// Appends what comes before the first line.
    pub fn heading(&self, out: &mut Vec<u8>) {
        if let Self::Text(table) = self {
            table.heading(out);
        }
    }

    /// Appends the heading behind what stands before each line.
    pub fn heading_behind(&self, indent: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(indent);
        self.heading(out);
        if out.len() == start + indent.len() {
            out.truncate(start);
        }
    }

    /// Appends the line of a socket that changed: its mark before the columns, or as a field.
    pub fn change(&self, mark: Mark, listed: &Listed<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Text(table) => {
                out.extend_from_slice(&[mark.sign(), b' ']);
                table.row(listed, out);
            }
            Self::Json(shown, interfaces) => {
                let socket = SocketRecord::of(listed, *shown, interfaces);
                // Neither a record nor a vector can refuse.
                let _ = serde_json::to_writer(&mut *out, &Changed { change: mark.name(), socket });
                out.push(b'\n');
            }
        }
    }

    /// Appends the line of one socket.
    pub fn row(&self, listed: &Listed<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Text(table) => table.row(listed, out),
            Self::Json(shown, interfaces) => {
                // Neither a record nor a vector can refuse.
                let _ =
                    serde_json::to_writer(&mut *out, &SocketRecord::of(listed, *shown, interfaces));
                out.push(b'\n');
            }
        }
    }
}
