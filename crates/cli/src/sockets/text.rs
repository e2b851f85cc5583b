//! Sockets as text, one line each, written as they come: nothing is kept to find column widths.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use portolan_hub::printable;
use portolan_sockets::{Row, State, TcpInfo};

use super::{
    Listed,
    args::{Columns, Config},
    record::timer_name,
};

/// Wide enough for any IPv4 address with its port; a longer one pushes what follows to the right.
const ADDRESS_WIDTH: usize = 21;

/// A table that is written line by line.
pub struct Table {
    columns: Columns,
    line: String,
}

impl Table {
    /// A table of the columns asked for.
    pub fn new(config: &Config) -> Self {
        Self { columns: config.columns, line: String::with_capacity(256) }
    }

    /// Writes the heading.
    pub fn heading(&mut self, out: &mut impl Write) -> io::Result<()> {
        if !self.columns.heading {
            return Ok(());
        }
        let (local, peer) = ("Local Address:Port", "Peer Address:Port");
        let width = ADDRESS_WIDTH;
        let mut line = format!("Netid State      Recv-Q Send-Q {local:width$} {peer:width$}");
        if self.columns.processes {
            line.push_str(" Process");
        }
        writeln!(out, "{}", line.trim_end())
    }

    /// Writes one socket.
    pub fn row(&mut self, listed: &Listed<'_>, out: &mut impl Write) -> io::Result<()> {
        self.line.clear();
        // Writing to a string cannot fail.
        let _ = self.compose(listed);
        let length = self.line.trim_end().len();
        self.line.truncate(length);
        self.line.push('\n');
        out.write_all(self.line.as_bytes())
    }

    fn compose(&mut self, listed: &Listed<'_>) -> std::fmt::Result {
        let (row, line) = (listed.row, &mut self.line);
        write!(
            line,
            "{:5} {:10} {:<6} {:<6} ",
            row.transport.name(),
            row.state.name(),
            row.receive_queue,
            row.send_queue
        )?;
        padded(line, |line| write!(line, "{}", row.local))?;
        padded(line, |line| match row.remote.port() {
            0 => write!(line, "{}:*", bracketed(row)),
            _ => write!(line, "{}", row.remote),
        })?;
        if self.columns.processes
            && let Some(holder) = listed.holder
        {
            write!(line, "{}[{}] ", printable(&holder.process.name), holder.pid)?;
        }
        if self.columns.namespace {
            write!(line, "{} ", printable(listed.place.namespace.name()))?;
        }
        if self.columns.extended {
            write!(line, "uid:{} inode:{} ", row.uid, row.inode)?;
            if row.cookie != 0 {
                write!(line, "cookie:{:x} ", row.cookie)?;
            }
        }
        if self.columns.timer && row.timer != 0 {
            let (name, retransmits) = (timer_name(row.timer), row.retransmits);
            write!(line, "timer:{name},{}ms,{retransmits} ", row.expires_ms)?;
        }
        match &row.tcp {
            Some(info) if row.state != State::Listen => measurements(line, info),
            _ => Ok(()),
        }
    }
}

fn padded(
    line: &mut String,
    write: impl FnOnce(&mut String) -> std::fmt::Result,
) -> std::fmt::Result {
    let start = line.len();
    write(line)?;
    let used = line.len() - start;
    line.extend(std::iter::repeat_n(' ', ADDRESS_WIDTH.saturating_sub(used) + 1));
    Ok(())
}

fn bracketed(row: &Row) -> String {
    match row.remote.ip() {
        std::net::IpAddr::V4(v4) => v4.to_string(),
        std::net::IpAddr::V6(v6) => format!("[{v6}]"),
    }
}

fn measurements(line: &mut String, info: &TcpInfo) -> std::fmt::Result {
    write!(
        line,
        "rtt:{:.3}ms/{:.3} mss:{} cwnd:{} retrans:{}",
        f64::from(info.rtt_us) / 1000.0,
        f64::from(info.rtt_variation_us) / 1000.0,
        info.send_mss,
        info.congestion_window,
        info.retransmits_total
    )?;
    for (name, bytes) in [("sent", info.bytes_sent), ("received", info.bytes_received)] {
        if let Some(bytes) = bytes {
            write!(line, " {name}:{bytes}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
