//! One line of a listing, read from what ss and portolan print.

use serde_json::Value;

/// A socket as a program tells of it. What it does not tell is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub transport: String,
    pub state: String,
    pub receive_queue: u64,
    pub send_queue: u64,
    pub local: Address,
    /// Of the interface of `local`, which only JSON has.
    pub index: Option<u32>,
    pub peer: Address,
    pub uid: Option<u64>,
    pub inode: Option<u64>,
    pub cookie: Option<u64>,
    pub holders: Vec<Holder>,
    pub timer: Option<Timer>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Without brackets; `*` as it is.
    pub ip: String,
    /// What follows a `%`: the name of an interface.
    pub device: Option<String>,
    /// 0 for `*`.
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub name: String,
    pub pid: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    pub name: String,
    /// The milliseconds left, between the least and the most that what is printed may mean.
    pub left_ms: (u64, u64),
    pub retransmits: u64,
}

/// The rows that ss printed, with a heading. It leaves out columns in which all rows are alike:
/// then the transport and the state are what was asked for.
pub fn of_ss(printed: &str, transport: &str, state: &str) -> Vec<Row> {
    let (heading, body) = printed.split_once('\n').expect("ss prints a heading");
    let has = |column: &str| heading.contains(column);
    let missing = |column: &str, value: &str| match has(column) {
        true => String::new(),
        false => format!("{value} "),
    };
    let before = (missing("Netid", transport), missing("State", state));
    let mut lines: Vec<String> = Vec::new();
    for line in body.lines() {
        let line = match (has("Netid"), has("State")) {
            (true, false) => {
                let (transport, rest) = line.split_once(' ').expect("columns");
                format!("{transport} {}{rest}", before.1)
            }
            _ => format!("{}{}{line}", before.0, before.1),
        };
        match lines.last_mut() {
            // The name of a process may have a line feed in it.
            Some(last) if !begins_row(&line) => {
                last.push('\n');
                last.push_str(&line);
            }
            _ => lines.push(line),
        }
    }
    lines.iter().map(|line| ss_row(line)).collect()
}

fn begins_row(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(6).collect();
    let is_number = |at: usize| words[at].parse::<u64>().is_ok();
    words.len() == 6 && ["tcp", "udp"].contains(&words[0]) && is_number(2) && is_number(3)
}

fn ss_row(line: &str) -> Row {
    let (mut row, rest) = columns(line);
    let rest = rest.trim_start();
    let (holders, rest) = match rest.strip_prefix("users:(") {
        Some(users) => holders(users).unwrap_or_else(|| panic!("not the users of ss: {line:?}")),
        None => (Vec::new(), rest),
    };
    row.holders = holders;
    for (name, value) in rest.split_whitespace().filter_map(|word| word.split_once(':')) {
        match name {
            "uid" => row.uid = Some(number(value)),
            "ino" => row.inode = Some(number(value)),
            "sk" => row.cookie = Some(hexadecimal(value)),
            "timer" => row.timer = Some(ss_timer(value)),
            _ => {}
        }
    }
    row
}

/// The first six columns, and what follows them.
fn columns(line: &str) -> (Row, &str) {
    let mut rest = line;
    let mut column = || {
        rest = rest.trim_start();
        let (word, after) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        assert!(!word.is_empty(), "a column is missing in {line:?}");
        rest = after;
        word
    };
    let row = Row {
        transport: column().to_owned(),
        state: column().to_owned(),
        receive_queue: number(column()),
        send_queue: number(column()),
        local: address(column()),
        index: None,
        peer: address(column()),
        uid: None,
        inode: None,
        cookie: None,
        holders: Vec::new(),
        timer: None,
    };
    (row, rest)
}

fn address(word: &str) -> Address {
    let (host, port) = word.rsplit_once(':').unwrap_or_else(|| panic!("no port in {word:?}"));
    let (ip, device) = match host.split_once('%') {
        Some((ip, device)) => (ip, Some(device)),
        None => (host, None),
    };
    let inside = ip.strip_prefix('[').and_then(|ip| ip.strip_suffix(']'));
    assert_eq!(inside.is_some(), ip.contains(':'), "not an address: {word:?}");
    Address {
        ip: inside.unwrap_or(ip).to_owned(),
        device: device.map(str::to_owned),
        port: if port == "*" { 0 } else { port.parse().expect("a port") },
    }
}

/// Reads `("NAME",pid=1,fd=2),("NAME",pid=3,fd=4))`, where a name may be any fifteen bytes: too few
/// for a pid, a descriptor and the beginning of the next.
fn holders(mut text: &str) -> Option<(Vec<Holder>, &str)> {
    let mut found = Vec::new();
    loop {
        text = text.strip_prefix("(\"")?;
        let (holder, rest) = text.match_indices("\",pid=").find_map(|(at, mark)| {
            let (pid, rest) = text[at + mark.len()..].split_once(",fd=")?;
            let (descriptor, rest) = rest.split_once(')')?;
            descriptor.parse::<u32>().ok()?;
            let ends = rest.starts_with(",(\"") || rest == ")" || rest.starts_with(") ");
            let holder = Holder { name: text[..at].to_owned(), pid: pid.parse().ok()? };
            ends.then_some((holder, rest))
        })?;
        found.push(holder);
        match rest.strip_prefix(',') {
            Some(next) => text = next,
            None => return Some((found, &rest[1..])),
        }
    }
}

/// Reads `(on,1.234ms,0)`: a minute or less has seconds and milliseconds, more is rounded off.
fn ss_timer(text: &str) -> Timer {
    let words: Vec<&str> = text.trim_matches(['(', ')']).split(',').collect();
    let [name, left, retransmits] = words[..] else { panic!("not a timer of ss: {text:?}") };
    Timer {
        name: name.to_owned(),
        left_ms: ss_duration(left).unwrap_or_else(|| panic!("not a time of ss: {left:?}")),
        retransmits: number(retransmits),
    }
}

fn ss_duration(text: &str) -> Option<(u64, u64)> {
    let (minutes, rest) = match text.split_once("min") {
        Some((minutes, rest)) => (minutes.parse().ok()?, rest),
        None => (0, text),
    };
    let (seconds, milliseconds): (u64, u64) = if let Some(seconds) = rest.strip_suffix("sec") {
        (seconds.parse().ok()?, 0)
    } else if let Some(rest) = rest.strip_suffix("ms") {
        let (seconds, milliseconds) = rest.split_once('.').unwrap_or(("0", rest));
        (seconds.parse().ok()?, milliseconds.parse().ok()?)
    } else if rest.is_empty() {
        (0, 0)
    } else {
        return None;
    };
    let least = (minutes * 60 + seconds) * 1000 + milliseconds;
    let unseen = match (minutes, seconds) {
        (10.., _) => 59_999,
        (1.., _) | (_, 10..) => 999,
        _ => 0,
    };
    Some((least, least + unseen))
}

/// The rows that `portolan sockets -H` printed.
pub fn of_text(printed: &str) -> Vec<Row> {
    printed.lines().map(text_row).collect()
}

/// Behind the columns there is `NAME[PID] uid:0 inode:0`, where the name may be anything, and more
/// fields by their names.
fn text_row(line: &str) -> Row {
    let (mut row, rest) = columns(line);
    let Some(at) = rest.rfind(" uid:") else {
        assert_eq!(rest.trim(), "", "a holder is only read with -e: {line:?}");
        return row;
    };
    let (holder, fields) = rest.split_at(at);
    if !holder.trim().is_empty() {
        let holder = holder.trim_start().strip_suffix(']').and_then(|text| text.rsplit_once('['));
        let (name, pid) = holder.unwrap_or_else(|| panic!("no process before -e: {line:?}"));
        row.holders.push(Holder { name: unescaped(name), pid: number(pid) });
    }
    for (name, value) in fields.split_whitespace().filter_map(|word| word.split_once(':')) {
        match name {
            "uid" => row.uid = Some(number(value)),
            "inode" => row.inode = Some(number(value)),
            "cookie" => row.cookie = Some(hexadecimal(value)),
            "timer" => row.timer = Some(text_timer(value)),
            _ => {}
        }
    }
    row
}

fn text_timer(text: &str) -> Timer {
    let words: Vec<&str> = text.split(',').collect();
    let [name, left, retransmits] = words[..] else { panic!("not a timer: {text:?}") };
    let left = number(left.strip_suffix("ms").expect("milliseconds"));
    Timer { name: name.to_owned(), left_ms: (left, left), retransmits: number(retransmits) }
}

/// Characters that would disturb a terminal are printed as `\u{1b}`.
fn unescaped(name: &str) -> String {
    let mut parts = name.split("\\u{");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_once('}').expect("an escape");
        let number = u32::from_str_radix(digits, 16).expect("a character's number");
        whole.push(char::from_u32(number).expect("a character"));
        whole.push_str(rest);
    }
    whole
}

/// The rows that `portolan sockets --json` printed (docs/formats/socket.md).
pub fn of_json(printed: &str) -> Vec<Row> {
    portolan_e2e::edges::records(printed).iter().map(json_row).collect()
}

fn json_row(record: &Value) -> Row {
    let text = |field: &str| record[field].as_str().unwrap_or_else(|| panic!("{field}: {record}"));
    let whole = |field: &str| record[field].as_u64().unwrap_or_else(|| panic!("{field}: {record}"));
    let takes_both = record.get("only_v6") == Some(&Value::Bool(false));
    let address = |side: &str| Address {
        ip: match text(&format!("{side}_address")) {
            // As ss shows it.
            "::" if takes_both => "*".to_owned(),
            ip => ip.to_owned(),
        },
        device: None,
        port: u16::try_from(whole(&format!("{side}_port"))).expect("a port"),
    };
    let device = record.get("interface").map(|name| name.as_str().expect("a name").to_owned());
    let index = record.get("interface_index").map(|index| index.as_u64().expect("an index"));
    assert_eq!(device.is_some(), index.is_some(), "{record}");
    let holder = record.get("process").filter(|process| !process.is_null());
    let timer = record.get("timer");
    let timer = timer.filter(|timer| timer["name"] != "none").map(|timer| {
        let left = timer["expires_ms"].as_u64().expect("milliseconds");
        Timer {
            name: timer["name"].as_str().expect("a name").to_owned(),
            left_ms: (left, left),
            retransmits: timer["retransmits"].as_u64().expect("a number"),
        }
    });
    Row {
        transport: text("network_transport").to_owned(),
        state: text("state").to_owned(),
        receive_queue: whole("receive_queue"),
        send_queue: whole("send_queue"),
        local: Address { device, ..address("local") },
        index: index.map(|index| u32::try_from(index).expect("an index")),
        peer: address("peer"),
        uid: record["uid"].as_u64(),
        inode: record["inode"].as_u64(),
        cookie: record["cookie"].as_u64(),
        holders: holder
            .map(|holder| Holder {
                name: holder["name"].as_str().expect("a name").to_owned(),
                pid: holder["pid"].as_u64().expect("a number"),
            })
            .into_iter()
            .collect(),
        timer,
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("not a number: {text:?}"))
}

fn hexadecimal(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("not a number: {text:?}"))
}
