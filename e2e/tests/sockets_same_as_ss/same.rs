//! Whether two listings are the same, and all that may differ between ss and portolan.
//!
//! Alike on purpose, but written differently:
//!
//! - ss does not print a uid of 0: see [`key`].
//! - ss calls timers `on`, `timewait` and `persist`: see [`timer_name`].
//! - ss lists all processes that hold a socket, we the first of them: see [`same_holder`].
//! - ss prints the fifteen bytes that the kernel keeps of a name, and up to iproute2 6.4 only as
//!   far as the first `)`; we print the whole name, and `(no name)` for none: see [`same_name`].
//!
//! Not every method knows all that ss does, which asks sock_diag: see [`tells`]. What a method does
//! not know it must not make up. The timers of `/proc/net` count in hundredths of a second.
//!
//! Not listed by us in any way: TCP sockets that are bound and no more (`BOUND-INACTIVE`), which
//! only ss from 6.9 on may list: see [`listed`].

use std::collections::{BTreeMap, BTreeSet};

use crate::row::{Address, Holder, Row, Timer};

/// How much a timer's time may be rounded: /proc/net has hundredths, and the kernel's clock ticks
/// every 10 ms at the slowest.
const ROUNDING_MS: u64 = 20;

/// What may be compared.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// The method that lists.
    pub method: &'a str,
    /// The indices of the interfaces.
    pub devices: &'a BTreeMap<String, u32>,
}

/// What a method tells of a socket, of all that ss does.
struct Tells {
    cookie: bool,
    timer: bool,
    /// How many connections may wait at a listener (Send-Q): 0 where it is not told.
    backlog: bool,
    interface: bool,
    /// Whether a wildcard address is of IPv4 too, `*`, or of IPv6 only, `[::]` as where that is not
    /// told.
    versions: bool,
}

fn tells(method: &str, row: &Row) -> Tells {
    let all = Tells { cookie: true, timer: true, backlog: true, interface: true, versions: true };
    match method {
        // The rest it leaves to sock_diag.
        "walk" if row.transport == "tcp" && row.state != "LISTEN" => {
            Tells { cookie: false, timer: false, ..all }
        }
        "iter" => Tells { versions: false, ..all },
        "procfs" => Tells { timer: true, ..NOTHING },
        _ => all,
    }
}

const NOTHING: Tells =
    Tells { cookie: false, timer: false, backlog: false, interface: false, versions: false };

/// The rows of ss that we mean to list.
pub fn listed(mut rows: Vec<Row>) -> Vec<Row> {
    rows.retain(|row| row.state != "BOUND-INACTIVE");
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
        let tells = tells(terms.method, ours);
        let knows_backlog = tells.backlog || ours.state != "LISTEN";
        expect(knows_backlog || ours.send_queue == 0, "Send-Q");
        expect(tells.cookie || ours.cookie.is_none(), "cookie");
        expect(tells.versions || ours.local.ip != "*", "versions");
        let device = theirs.local.device.as_ref().filter(|_| tells.interface);
        expect(ours.local.device.as_ref() == device, "interface");
        let index = device.and_then(|name| terms.devices.get(name).copied());
        expect(ours.index.is_none_or(|ours| Some(ours) == index), "index of the interface");
        expect(ours.peer.device == theirs.peer.device, "interface of the peer");
        expect(same_holder(&theirs.holders, &ours.holders), "process");
        let has_same_timer = match tells.timer {
            true => same_timer(&theirs.timer, &ours.timer, &after.timer),
            false => ours.timer.is_none(),
        };
        expect(has_same_timer, "timer");
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Says what happened between two listings of ss: rows that came or went, or that of some kind of
/// timer there is none that just ran on.
pub fn what_happened(before: &[Row], after: &[Row]) -> Option<String> {
    let devices = BTreeMap::new();
    let terms = Terms { method: "diag", devices: &devices };
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
    let tells = tells(terms.method, row);
    let send_queue = match tells.backlog || row.state != "LISTEN" {
        true => row.send_queue,
        false => 0,
    };
    let holder = row.inode.map(|inode| format!(" uid {} inode {inode}", row.uid.unwrap_or(0)));
    let cookie = row.cookie.filter(|_| tells.cookie).map(|cookie| format!(" cookie {cookie:x}"));
    format!(
        "{} {} {} {send_queue} {} {}{}{}",
        row.transport,
        row.state,
        row.receive_queue,
        address(&row.local, &tells),
        address(&row.peer, &tells),
        holder.unwrap_or_default(),
        cookie.unwrap_or_default()
    )
}

fn address(address: &Address, tells: &Tells) -> String {
    let ip = if address.ip == "*" && !tells.versions { "::" } else { &address.ip };
    format!("{ip} {}", address.port)
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
