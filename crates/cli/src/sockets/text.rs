//! Sockets as text, one line each: nothing is kept to find column widths, so that a line depends on
//! nothing but its socket, and several threads can write lines at once.

use std::io::Write as _;

use portolan_flow::Transport;
use portolan_hub::printable;
use portolan_sockets::{Row, SocketMemory, State, TcpInfo};

use super::{
    Listed, columns::Column, config::Layout, digits, interfaces::Interfaces, record::timer_name,
};

/// The longest name of a state, and a blank.
const STATE_BYTES_MAX: usize = 15;

/// The names of the states by the kernel's number, padded with blanks.
const STATES: [[u8; STATE_BYTES_MAX]; State::ALL.len() + 1] = states();

/// What stands where a chosen column has nothing to show, so that a line has as many words as
/// there are columns.
const NOTHING: &[u8] = b"-";

/// A table, line by line.
#[derive(Debug)]
pub struct Table {
    heading: bool,
    /// As they were chosen by name; otherwise as ss(8) would show them.
    chosen: Option<Vec<Column>>,
    /// Behind the usual ones.
    extras: Vec<Column>,
    interfaces: Interfaces,
}

impl Table {
    /// A table of the columns asked for.
    pub fn new(layout: &Layout) -> Self {
        Self {
            heading: layout.heading,
            chosen: layout.chosen.clone(),
            extras: layout.extras.clone(),
            interfaces: Interfaces::default(),
        }
    }

    /// Appends the heading.
    pub fn heading(&self, out: &mut Vec<u8>) {
        if !self.heading {
            return;
        }
        let start = out.len();
        let usual: &[Column] = self.chosen.as_deref().unwrap_or(&Column::ALWAYS);
        for &column in usual {
            let start = out.len();
            out.extend_from_slice(column.heading().as_bytes());
            digits::pad(start, column.width(), out);
        }
        if self.extras.contains(&Column::Process) {
            out.extend_from_slice(Column::Process.heading().as_bytes());
        }
        end_line(start, out);
    }

    /// Appends the line of one socket.
    pub fn row(&self, listed: &Listed<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        match &self.chosen {
            Some(columns) => {
                for &column in columns {
                    let start = out.len();
                    self.cell(column, listed, out);
                    if out.len() == start {
                        out.extend_from_slice(NOTHING);
                    }
                    digits::pad(start, column.width(), out);
                }
            }
            None => {
                self.usual(listed, out);
                for &column in &self.extras {
                    extra(column, listed, out);
                }
            }
        }
        end_line(start, out);
    }

    /// Appends what a chosen column shows; nothing where that is not known.
    fn cell(&self, column: Column, listed: &Listed<'_>, out: &mut Vec<u8>) {
        let row = listed.row;
        let process = listed.holder.map(|holder| &holder.process);
        match column {
            Column::Netid => out.extend_from_slice(row.transport.name().as_bytes()),
            Column::State => out.extend_from_slice(row.state.name().as_bytes()),
            Column::RecvQ => digits::number(row.receive_queue, out),
            Column::SendQ => digits::number(row.send_queue, out),
            Column::Local => self.local(listed, out),
            Column::LocalAddress => digits::address(row.local.ip(), out),
            Column::LocalPort => digits::number(row.local.port(), out),
            Column::Peer => peer(row, out),
            Column::PeerAddress => digits::address(row.remote.ip(), out),
            Column::PeerPort => digits::number(row.remote.port(), out),
            Column::Process => text(process.map(|process| process.name.as_str()), out),
            Column::Pid => some(listed.holder.map(|holder| holder.pid), out),
            Column::Unit => text(process.and_then(|process| process.unit.as_deref()), out),
            Column::Container => {
                text(process.and_then(|process| process.container.as_deref()), out);
            }
            Column::Namespace => text(Some(listed.place.namespace.name()), out),
            Column::Uid => digits::number(row.uid, out),
            Column::Inode => digits::number(row.inode, out),
            Column::Cookie if row.cookie == 0 => {}
            Column::Cookie => digits::hexadecimal(row.cookie, out),
            Column::Interface => self.interfaces.write(row.interface, listed.place, out),
            Column::Timer => timer(row, out),
            Column::Memory => row.memory.iter().for_each(|memory| skmem(memory, out)),
            Column::Drops => some(row.memory.and_then(|memory| memory.drops), out),
            Column::Info => measured(row).into_iter().for_each(|info| measurements(info, out)),
            Column::Rtt => measured(row).into_iter().for_each(|info| ms(info.rtt_us, out)),
            Column::Retrans => some(measured(row).map(|info| info.retransmits_total), out),
            Column::Cwnd => some(measured(row).map(|info| info.congestion_window), out),
            Column::Sent => some(measured(row).and_then(|info| info.bytes_sent), out),
            Column::Received => some(measured(row).and_then(|info| info.bytes_received), out),
        }
    }

    /// Appends what ss(8) shows of every socket.
    fn usual(&self, listed: &Listed<'_>, out: &mut Vec<u8>) {
        let row = listed.row;
        out.extend_from_slice(match row.transport {
            Transport::Tcp => b"tcp   ",
            Transport::Udp => b"udp   ",
        });
        let state = row.state as usize;
        out.extend_from_slice(&STATES[state]);
        let width = row.state.name().len().max(Column::State.width()) + 1;
        out.truncate(out.len() - STATE_BYTES_MAX + width);
        for queue in [row.receive_queue, row.send_queue] {
            match queue {
                0 => out.extend_from_slice(b"0      "),
                queue => {
                    let start = out.len();
                    digits::number(queue, out);
                    digits::pad(start, Column::RecvQ.width(), out);
                }
            }
        }
        if is_plain(row) {
            digits::padded_end(&row.local, false, out);
            digits::padded_end(&row.remote, true, out);
            return;
        }
        let start = out.len();
        self.local(listed, out);
        digits::pad(start, Column::Local.width(), out);
        let start = out.len();
        peer(row, out);
        digits::pad(start, Column::Peer.width(), out);
    }

    /// Appends the socket's own end, as ss(8) writes it: `*` is any address of both versions, and
    /// behind `%` is the interface that it is bound to.
    fn local(&self, listed: &Listed<'_>, out: &mut Vec<u8>) {
        let row = listed.row;
        if is_plain(row) {
            return digits::end(&row.local, false, out);
        }
        if takes_both(row) && row.local.ip().is_unspecified() {
            out.push(b'*');
        } else {
            digits::host(row.local.ip(), out);
        }
        if row.interface != 0 {
            out.push(b'%');
            self.interfaces.write(row.interface, listed.place, out);
        }
        labelled(":", row.local.port(), out);
    }
}

/// Whether both ends are written as any address and port are, which most sockets' are.
fn is_plain(row: &Row) -> bool {
    row.interface == 0 && !takes_both(row)
}

/// Whether it is known to take IPv4 as well as IPv6.
fn takes_both(row: &Row) -> bool {
    row.only_v6 == Some(false)
}

/// Appends the peer's end.
fn peer(row: &Row, out: &mut Vec<u8>) {
    match takes_both(row) && row.remote.ip().is_unspecified() && row.remote.port() == 0 {
        true => out.extend_from_slice(b"*:*"),
        false => digits::end(&row.remote, true, out),
    }
}

/// Appends what a flag of ss(8) adds to a line, and a blank.
fn extra(column: Column, listed: &Listed<'_>, out: &mut Vec<u8>) {
    let row = listed.row;
    let start = out.len();
    match column {
        Column::Process => {
            if let Some(holder) = listed.holder {
                text(Some(&holder.process.name), out);
                labelled("[", holder.pid, out);
                out.push(b']');
            }
        }
        Column::Namespace => text(Some(listed.place.namespace.name()), out),
        Column::Uid => labelled("uid:", row.uid, out),
        Column::Inode => labelled("inode:", row.inode, out),
        Column::Cookie if row.cookie != 0 => {
            out.extend_from_slice(b"cookie:");
            digits::hexadecimal(row.cookie, out);
        }
        Column::Timer if row.timer != 0 => {
            out.extend_from_slice(b"timer:");
            timer(row, out);
        }
        Column::Memory => row.memory.iter().for_each(|memory| skmem(memory, out)),
        Column::Info => measured(row).into_iter().for_each(|info| measurements(info, out)),
        _ => {}
    }
    if out.len() > start {
        out.push(b' ');
    }
}

fn end_line(start: usize, out: &mut Vec<u8>) {
    let length = out[start..].iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    out.truncate(start + length);
    out.push(b'\n');
}

/// What the kernel measured of a connection; a listener has measurements that mean something else.
pub fn measured(row: &Row) -> Option<&TcpInfo> {
    row.tcp.as_ref().filter(|_| row.state != State::Listen)
}

fn text(text: Option<&str>, out: &mut Vec<u8>) {
    out.extend_from_slice(printable(text.unwrap_or_default()).as_bytes());
}

fn some(number: Option<impl Into<u64>>, out: &mut Vec<u8>) {
    number.into_iter().for_each(|number| digits::number(number, out));
}

fn labelled(label: &str, number: impl Into<u64>, out: &mut Vec<u8>) {
    out.extend_from_slice(label.as_bytes());
    digits::number(number, out);
}

fn timer(row: &Row, out: &mut Vec<u8>) {
    if row.timer != 0 {
        out.extend_from_slice(timer_name(row.timer).as_bytes());
        labelled(",", row.expires_ms, out);
        labelled("ms,", row.retransmits, out);
    }
}

/// As ss(8) writes it.
fn skmem(memory: &SocketMemory, out: &mut Vec<u8>) {
    labelled("skmem:(r", memory.receive_queue_bytes, out);
    labelled(",rb", memory.receive_limit_bytes, out);
    labelled(",t", memory.handed_down_bytes, out);
    labelled(",tb", memory.send_limit_bytes, out);
    labelled(",f", memory.reserved_bytes, out);
    labelled(",w", memory.send_queue_bytes, out);
    labelled(",o", memory.option_bytes, out);
    memory.backlog_bytes.into_iter().for_each(|bytes| labelled(",bl", bytes, out));
    memory.drops.into_iter().for_each(|packets| labelled(",d", packets, out));
    out.push(b')');
}

/// Microseconds as milliseconds, to the last digit.
fn ms(us: u32, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{}.{:03}ms", us / 1000, us % 1000);
}

fn measurements(info: &TcpInfo, out: &mut Vec<u8>) {
    out.extend_from_slice(b"rtt:");
    ms(info.rtt_us, out);
    let variation = info.rtt_variation_us;
    // Writing to a vector cannot fail.
    let _ = write!(out, "/{}.{:03}", variation / 1000, variation % 1000);
    labelled(" mss:", info.send_mss, out);
    labelled(" cwnd:", info.congestion_window, out);
    labelled(" retrans:", info.retransmits_total, out);
    info.bytes_sent.into_iter().for_each(|bytes| labelled(" sent:", bytes, out));
    info.bytes_received.into_iter().for_each(|bytes| labelled(" received:", bytes, out));
}

const fn states() -> [[u8; STATE_BYTES_MAX]; State::ALL.len() + 1] {
    let mut table = [[b' '; STATE_BYTES_MAX]; State::ALL.len() + 1];
    let mut number = 1;
    while number < table.len() {
        let name = State::ALL[number - 1].name().as_bytes();
        let mut at = 0;
        while at < name.len() {
            table[number][at] = name[at];
            at += 1;
        }
        number += 1;
    }
    table
}

#[cfg(test)]
mod tests;
