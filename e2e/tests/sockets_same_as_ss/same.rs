//! Whether two listings are the same, and all that may differ between ss and portolan.
//!
//! Alike on purpose, but written differently:
//!
//! - ss prints a wildcard address as `*` where the socket takes IPv4 and IPv6, and as `[::]` where
//!   it takes IPv6 only. We print `[::]` for both: see [`address`].
//! - ss prints the interface that a socket is bound to behind its address, `0.0.0.0%eth0` and
//!   `[fe80::1]%eth0`. We print an index, of link-local addresses only, of both ends, and inside
//!   the brackets as RFC 4007 has it; none in JSON. What we print has to be what ss means: see
//!   [`same_device`] and [`TELLS_INTERFACE`]. `/proc/net` does not tell of interfaces.
//! - ss does not print a uid of 0: see [`key`].
//! - ss prints timers with `-e` too, we with `-o` only: see [`listed`].
//! - ss calls timers `on`, `timewait` and `persist`: see [`timer_name`].
//! - ss lists all processes that hold a socket, we the first of them: see [`same_holder`].
//! - ss prints the fifteen bytes that the kernel keeps of a name, and up to iproute2 6.4 only as
//!   far as the first `)`; we print the whole name, and `(no name)` for none: see [`same_name`].
//!
//! Not told by `/proc/net`, see [`key`]: the cookie, and how many connections may wait at a
//! listener (Send-Q), which is 0 there. Its timers count in hundredths of a second.
//!
//! Not listed by us in any way: TCP sockets that are bound and no more (`BOUND-INACTIVE`), which
//! only ss from 6.9 on may list: see [`listed`].

use std::collections::{BTreeMap, BTreeSet};

use crate::row::{Address, Holder, Row, Timer};

/// How much a timer's time may be rounded: /proc/net has hundredths, and the kernel's clock ticks
/// every 10 ms at the slowest.
const ROUNDING_MS: u64 = 20;

/// Whether we tell the interface of every socket that is bound to one, as ss does, where the method
/// knows it. Not yet: `true` makes the comparison ask for it.
const TELLS_INTERFACE: bool = false;

/// What may be compared.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// The method tells all that ss tells; `/proc/net` does not.
    pub is_full: bool,
    /// The indices of the interfaces.
    pub devices: &'a BTreeMap<String, u32>,
}

/// The rows of ss that we mean to list, and of these what was asked for.
pub fn listed(mut rows: Vec<Row>, with_timers: bool) -> Vec<Row> {
    rows.retain(|row| row.state != "BOUND-INACTIVE");
    for row in rows.iter_mut().filter(|_| !with_timers) {
        row.timer = None;
    }
    rows
}

/// Says in what two listings, ss's and ours, are not the same set of rows, column by column.
///
/// A third one, of ss after ours, tells how much time went by for the timers.
pub fn compare(theirs: &[Row], ours: &[Row], after: &[Row], terms: Terms) -> Result<(), String> {
    let (theirs, ours) = (Keyed::all(theirs, terms), Keyed::all(ours, terms));
    let (missing, added) = (only(&theirs, &ours), only(&ours, &theirs));
    if !missing.is_empty() || !added.is_empty() {
        return Err(format!("only ss has\n{missing}\nonly portolan has\n{added}"));
    }
    let after = Keyed::all(after, terms);
    assert_eq!(theirs.len(), after.len(), "the host was quiet");
    let mut wrong = Vec::new();
    for ((Keyed { key, row: theirs }, ours), after) in theirs.iter().zip(&ours).zip(&after) {
        let (ours, after) = (ours.row, after.row);
        let mut expect = |is_same: bool, what: &str| {
            if !is_same {
                wrong.push(format!("{what}: {key}\n  ss       {theirs:?}\n  portolan {ours:?}"));
            }
        };
        // What a method does not know it must not make up.
        let knows_backlog = terms.is_full || ours.state != "LISTEN";
        expect(knows_backlog || ours.send_queue == 0, "Send-Q");
        expect(terms.is_full || ours.cookie.is_none(), "cookie");
        expect(same_device(theirs, ours, terms), "interface");
        expect(same_holder(&theirs.holders, &ours.holders), "process");
        expect(same_timer(&theirs.timer, &ours.timer, &after.timer), "timer");
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Says what happened between two listings of ss: rows that came or went, or that of some kind of
/// timer there is none that just ran on.
pub fn what_happened(before: &[Row], after: &[Row]) -> Option<String> {
    let devices = BTreeMap::new();
    let terms = Terms { is_full: true, devices: &devices };
    let (before, after) = (Keyed::all(before, terms), Keyed::all(after, terms));
    let (gone, new) = (only(&before, &after), only(&after, &before));
    if !gone.is_empty() || !new.is_empty() {
        return Some(format!("gone are\n{gone}\nnew are\n{new}"));
    }
    let names = |keyed: &[Keyed], wanted: &dyn Fn(usize) -> bool| -> BTreeSet<String> {
        let timers = keyed.iter().enumerate().filter(|(at, _)| wanted(*at));
        timers.filter_map(|(_, keyed)| Some(keyed.row.timer.as_ref()?.name.clone())).collect()
    };
    let all = names(&before, &|_| true);
    let steady = names(&before, &|at| has_run_on(&before[at].row.timer, &after[at].row.timer));
    (all != steady).then(|| format!("of the timers {all:?} ran on only {steady:?}"))
}

/// Whether a timer was not set anew between two listings.
fn has_run_on(before: &Option<Timer>, after: &Option<Timer>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => {
            (&before.name, before.retransmits) == (&after.name, after.retransmits)
                && after.left_ms.0 <= before.left_ms.1
        }
        (None, None) => true,
        _ => false,
    }
}

/// A row beside its key.
struct Keyed<'a> {
    key: String,
    row: &'a Row,
}

impl<'a> Keyed<'a> {
    /// All rows in the order of their keys.
    fn all(rows: &'a [Row], terms: Terms) -> Vec<Self> {
        let mut keyed: Vec<Self> =
            rows.iter().map(|row| Self { key: key(row, terms), row }).collect();
        keyed.sort_by(|one, other| one.key.cmp(&other.key));
        keyed
    }
}

/// What is in one listing and not, or not as often, in the other.
fn only(these: &[Keyed], those: &[Keyed]) -> String {
    let mut left: Vec<&str> = these.iter().map(|keyed| &*keyed.key).collect();
    for keyed in those {
        if let Some(at) = left.iter().position(|key| *key == keyed.key) {
            left.remove(at);
        }
    }
    left.join("\n")
}

/// The columns that are to be equal, as one line.
fn key(row: &Row, terms: Terms) -> String {
    let send_queue = match terms.is_full || row.state != "LISTEN" {
        true => row.send_queue,
        false => 0,
    };
    let holder = row.inode.map(|inode| format!(" uid {} inode {inode}", row.uid.unwrap_or(0)));
    let cookie = row.cookie.filter(|_| terms.is_full).map(|cookie| format!(" cookie {cookie:x}"));
    format!(
        "{} {} {} {send_queue} {} {}{}{}",
        row.transport,
        row.state,
        row.receive_queue,
        address(&row.local),
        address(&row.peer),
        holder.unwrap_or_default(),
        cookie.unwrap_or_default()
    )
}

fn address(address: &Address) -> String {
    let ip = if address.ip == "*" { "::" } else { &address.ip };
    format!("{ip} {}", address.port)
}

fn same_device(theirs: &Row, ours: &Row, terms: Terms) -> bool {
    let told = |device: &String| match device.parse() {
        Ok(index) => Some(index),
        Err(_) => terms.devices.get(device).copied(),
    };
    let [theirs, local, peer] =
        [&theirs.local, &ours.local, &ours.peer].map(|end| end.device.as_ref().map(told));
    let may_be_silent = !(TELLS_INTERFACE && terms.is_full);
    (local == theirs || (may_be_silent && local.is_none())) && (peer.is_none() || peer == theirs)
}

fn same_holder(theirs: &[Holder], ours: &[Holder]) -> bool {
    match ours {
        [] => theirs.is_empty(),
        [ours] => theirs
            .iter()
            .any(|theirs| theirs.pid == ours.pid && same_name(&theirs.name, &ours.name)),
        _ => false,
    }
}

fn same_name(theirs: &str, ours: &str) -> bool {
    if ours == "(no name)" {
        return theirs.is_empty();
    }
    let cut = String::from_utf8_lossy(&ours.as_bytes()[..ours.len().min(15)]);
    let before_bracket = cut.split(')').next().unwrap_or_default();
    // In text, a blank at the beginning looks like part of the column before.
    let is = |name: &str| theirs.trim_start() == name.trim_start();
    is(ours) || is(&cut) || (cut.contains(')') && is(before_bracket))
}

fn same_timer(before: &Option<Timer>, ours: &Option<Timer>, after: &Option<Timer>) -> bool {
    if !has_run_on(before, after) {
        // Ours is of some moment in between: perhaps of the one when no timer was set.
        let Some(ours) = ours else { return true };
        let ends = [before, after].map(|timer| timer.as_ref().filter(|timer| names(timer, ours)));
        return match ends {
            [Some(before), Some(after)] => {
                let (one, other) = (before.retransmits, after.retransmits);
                (one.min(other)..=one.max(other)).contains(&ours.retransmits)
            }
            [before, after] => before.is_some() || after.is_some(),
        };
    }
    match (before, ours, after) {
        (None, None, None) => true,
        (Some(before), Some(ours), Some(after)) => {
            names(before, ours)
                && before.retransmits == ours.retransmits
                && ours.left_ms.0 <= before.left_ms.1 + ROUNDING_MS
                && ours.left_ms.0 + ROUNDING_MS >= after.left_ms.0
        }
        _ => false,
    }
}

fn names(theirs: &Timer, ours: &Timer) -> bool {
    timer_name(&theirs.name) == ours.name
}

fn timer_name(theirs: &str) -> &str {
    match theirs {
        "on" => "retransmit",
        "timewait" => "time-wait",
        "persist" => "zero-window-probe",
        same => same,
    }
}

/// Transport and state of all rows.
pub fn kinds(rows: &[Row]) -> BTreeSet<(&str, &str)> {
    rows.iter().map(|row| (row.transport.as_str(), row.state.as_str())).collect()
}
