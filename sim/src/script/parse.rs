//! Scripts are read.

use portolan_wire::tcp::Flags;
use serde_json::{Value, json};

use super::{Icmp, Mismatch, Name, Number, OptionPattern, Pattern, Script, Step, When};
use crate::host::{Failure, Setup, State};

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    ///
    /// [`Mismatch`] with the line that cannot be read.
    pub fn parse(text: &str) -> Result<Self, Mismatch> {
        let mut script = Self::default();
        let mut setup = json!({});
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.split('#').next().unwrap_or_default().trim();
            let wrong = |what: String| Mismatch { line, what };
            if content.is_empty() {
                continue;
            }
            if content == "ipv6" {
                script.ipv6 = true;
            } else if let Some(field) = content.strip_prefix("host ") {
                let (name, value) = field.trim().split_once(' ').unwrap_or((field.trim(), "true"));
                let value = value.trim();
                setup[name] = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
            } else {
                let (when, step) = timed(content).map_err(wrong)?;
                script.steps.push((line, when, step));
            }
        }
        let wrong = |error| Mismatch { line: 1, what: format!("host: {error}") };
        script.setup = serde_json::from_value::<Setup>(setup).map_err(wrong)?;
        Ok(script)
    }
}

/// `+10ms STEP`, `+0..500ms STEP`, or a step without a time.
fn timed(content: &str) -> Result<(When, Step), String> {
    let Some(rest) = content.strip_prefix('+') else {
        return Ok((When::default(), step(content)?));
    };
    let (time, rest) = rest.split_once(' ').ok_or("a time stands alone; put a step behind it")?;
    let (first, last) = time.split_once("..").unwrap_or((time, time));
    let when = When { first_us: micros(first)?, last_us: micros(last)? };
    Ok((when, step(rest.trim())?))
}

/// `250ms`, `1.5s`, `10us`, `0`.
fn micros(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text} is no time; write 10us, 250ms or 1.5s");
    let (number, unit) = if let Some(number) = text.strip_suffix("us") {
        (number, 1)
    } else if let Some(number) = text.strip_suffix("ms") {
        (number, 1_000)
    } else if let Some(number) = text.strip_suffix('s') {
        (number, 1_000_000)
    } else if text == "0" {
        ("0", 1)
    } else {
        return Err(wrong());
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let mut micros = whole.parse::<u64>().map_err(|_| wrong())? * unit;
    let mut scale = unit;
    for digit in part.chars() {
        scale /= 10;
        micros += u64::from(digit.to_digit(10).ok_or_else(wrong)?) * scale;
    }
    Ok(micros)
}

fn step(content: &str) -> Result<Step, String> {
    if let Some(rest) = content.strip_prefix('<') {
        let (name, rest) = named(rest.trim());
        return Ok(Step::Sends(name, segment(rest)?));
    }
    if let Some(rest) = content.strip_prefix('>') {
        let (name, rest) = named(rest.trim());
        return Ok(Step::Expects(name, segment(rest)?));
    }
    let (name, rest) = named(content);
    let words: Vec<&str> = rest.split_whitespace().collect();
    Ok(match words.as_slice() {
        ["silence"] => Step::Silence,
        ["peer", "port", port] => Step::Peer(name, Some(number(port)?), None),
        ["peer", "isn", isn] => Step::Peer(name, None, Some(number(isn)?)),
        ["listen", port] => Step::Listen(number(port)?, 128),
        ["listen", port, backlog] => Step::Listen(number(port)?, number(backlog)?),
        ["accept"] => Step::Accept(name),
        ["connect", port] => Step::Connect(name, number(port)?),
        ["write", bytes] => Step::Write(name, number(bytes)?),
        ["read", "nothing"] => Step::ReadNothing(name),
        ["read", "end"] => Step::ReadEnd(name),
        ["read", bytes] => Step::Read(name, number(bytes)?),
        ["fails", why] => Step::Fails(name, failure(why)?),
        ["finish"] => Step::Finish(name),
        ["close"] => Step::Close(name),
        ["abort"] => Step::Abort(name),
        ["state", name_of_state] => Step::State(name, state(name_of_state)?),
        ["connections", count] => Step::Connections(number(count)?),
        ["icmp", rest @ ..] => icmp(name, rest)?,
        _ => return Err(format!("no step begins so: {content}")),
    })
}

/// `b: rest`.
fn named(text: &str) -> (Name, &str) {
    match text.split_once(':') {
        Some((name, rest)) if name.chars().all(char::is_alphanumeric) && rest.starts_with(' ') => {
            (name.to_owned(), rest.trim())
        }
        _ => (Name::new(), text),
    }
}

fn icmp(name: Name, words: &[&str]) -> Result<Step, String> {
    let (error, rest) = match words {
        ["too-big", mtu, rest @ ..] => (Icmp::TooBig(number(mtu)?), rest),
        ["port-unreachable", rest @ ..] => (Icmp::PortUnreachable, rest),
        ["host-unreachable", rest @ ..] => (Icmp::HostUnreachable, rest),
        ["time-exceeded", rest @ ..] => (Icmp::TimeExceeded, rest),
        _ => return Err(format!("no error of ICMP is called so: {}", words.join(" "))),
    };
    let at = match rest {
        [] => None,
        ["at", at] => Some(sequence(at)?),
        _ => return Err(format!("behind the error: {}", rest.join(" "))),
    };
    Ok(Step::Icmp(name, error, at))
}

/// See [`Pattern`].
fn segment(text: &str) -> Result<Pattern, String> {
    let mut pattern = Pattern::default();
    let mut text = text.to_owned();
    if let Some((before, rest)) = text.clone().split_once('<') {
        let (inner, after) = rest.split_once('>').ok_or("options without a > behind them")?;
        let (list, and_others) = options(inner)?;
        (pattern.options, pattern.and_others) = (Some(list), and_others);
        text = format!("{before} {after}");
    }
    let mut words = text.split_whitespace();
    pattern.flags = flags(words.next().ok_or("a segment without flags")?)?;
    let data = words.next().ok_or("a segment without SEQUENCE(LENGTH)")?;
    let (first, length) = match data.strip_suffix(')').and_then(|data| data.split_once('(')) {
        Some((first, "*")) => (first, None),
        Some((first, length)) => (first, Some(number(length)?)),
        None if data == "*" => ("*", None),
        None => return Err(format!("{data} is not SEQUENCE(LENGTH)")),
    };
    (pattern.sequence, pattern.length) = (sequence(first)?, length);
    while let Some(word) = words.next() {
        if word == "bad-checksum" {
            pattern.is_damaged = true;
            continue;
        }
        let value = words.next().ok_or_else(|| format!("nothing behind {word}"))?;
        match word {
            "ack" => pattern.acknowledgment = sequence(value)?,
            "win" if value == "*" => pattern.window = None,
            "win" => pattern.window = Some(number(value)?),
            "urg" => pattern.urgent = Some(number(value)?),
            "ecn" => pattern.ecn = Some(number(value)?),
            _ => return Err(format!("no part of a segment begins with {word}")),
        }
    }
    Ok(pattern)
}

fn flags(text: &str) -> Result<Option<Flags>, String> {
    if text == "*" {
        return Ok(None);
    }
    let mut flags = Flags::default();
    for letter in text.chars() {
        flags |= match letter {
            'S' => Flags::SYN,
            'F' => Flags::FIN,
            'R' => Flags::RST,
            'P' => Flags::PSH,
            '.' => Flags::ACK,
            'U' => Flags::URG,
            'E' => Flags::ECE,
            'W' => Flags::CWR,
            '-' => Flags::default(),
            _ => return Err(format!("{text}: flags are of SFRP.UEW, - for none, * for any")),
        };
    }
    Ok(Some(flags))
}

fn options(text: &str) -> Result<(Vec<OptionPattern>, bool), String> {
    let mut list = Vec::new();
    let mut and_others = false;
    for option in text.split(',').map(str::trim).filter(|option| !option.is_empty()) {
        let words: Vec<&str> = option.split_whitespace().collect();
        list.push(match words.as_slice() {
            ["..."] => {
                and_others = true;
                continue;
            }
            ["mss", mss] => OptionPattern::Mss(any(mss)?),
            ["wscale", bits] => OptionPattern::WindowScale(any(bits)?),
            ["sackok"] => OptionPattern::SackPermitted,
            ["ts"] => OptionPattern::Timestamps(None, None),
            ["ts", value, "last"] => OptionPattern::Timestamps(any(value)?, None),
            ["ts", value, echo] => OptionPattern::Timestamps(any(value)?, any(echo)?),
            ["sack", blocks @ ..] => {
                let block = |block: &&str| {
                    let (left, right) = block.split_once(':').ok_or("a block without a colon")?;
                    Ok::<_, String>((sequence(left)?, sequence(right)?))
                };
                OptionPattern::Sack(blocks.iter().map(block).collect::<Result<_, _>>()?)
            }
            _ => return Err(format!("no option is written so: {option}")),
        });
    }
    Ok((list, and_others))
}

fn any<T: std::str::FromStr>(text: &str) -> Result<Option<T>, String> {
    if text == "*" { Ok(None) } else { number(text).map(Some) }
}

fn sequence(text: &str) -> Result<Number, String> {
    Ok(match text.strip_prefix('=') {
        Some(absolute) => Number::Absolute(number(absolute)?),
        None if text == "*" => Number::Any,
        None => Number::Relative(number(text)?),
    })
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text} is no number that fits here"))
}

fn failure(text: &str) -> Result<Failure, String> {
    Ok(match text {
        "reset" => Failure::Reset,
        "refused" => Failure::Refused,
        "timeout" => Failure::TimedOut,
        "unreachable" => Failure::Unreachable,
        _ => {
            return Err(format!("{text}: a connection fails reset, refused, timeout, unreachable"));
        }
    })
}

fn state(text: &str) -> Result<State, String> {
    Ok(match text {
        "SYN-SENT" => State::SynSent,
        "SYN-RECEIVED" => State::SynReceived,
        "ESTABLISHED" => State::Established,
        "FIN-WAIT-1" => State::FinWait1,
        "FIN-WAIT-2" => State::FinWait2,
        "CLOSE-WAIT" => State::CloseWait,
        "CLOSING" => State::Closing,
        "LAST-ACK" => State::LastAck,
        "TIME-WAIT" => State::TimeWait,
        "CLOSED" => State::Closed,
        _ => return Err(format!("{text} is no state of RFC 9293")),
    })
}
