//! Which method is the best for a listing, on this host.

use std::{fmt, fs};

use portolan_flow::Transport;

use super::{MethodName, Query, open};
use crate::{Error, Place, State, States};

/// Loading BPF programs takes 10 to 20 milliseconds, in which sock_diag lists so many sockets.
const SOCKETS_WORTH_LOADING: u64 = 25_000;

/// Where owners are asked for too: in that time so many are found in `/proc`.
const OWNED_WORTH_LOADING: u64 = 8_000;

/// What a method is wanted for.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// What will be listed.
    pub query: &'a Query,
    /// Whether the process that holds each socket will be looked up.
    pub owners: bool,
    /// Whether it will be listed again and again, so that what it takes to begin does not count.
    pub again: bool,
}

/// The method that will be used, and why the faster ones will not.
#[derive(Debug)]
pub struct Choice {
    /// The method.
    pub method: MethodName,
    /// What stood against each faster one.
    pub passed_over: Vec<(MethodName, PassedOver)>,
}

/// Why a method was not chosen.
#[derive(Debug)]
pub enum PassedOver {
    /// It does not work here.
    Refused(Error),
    /// It does not tell all that is asked for.
    TellsTooLittle,
    /// To prepare it takes longer than a slower one takes in all.
    NotWorthIt,
}

impl fmt::Display for PassedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::TellsTooLittle => f.write_str("it does not tell all that is asked for"),
            Self::NotWorthIt => {
                f.write_str("to load it would take longer than to list so few sockets")
            }
        }
    }
}

/// Finds the fastest method for a wish that works on this host. One that tells less than was asked
/// for is taken only where no other works.
///
/// # Errors
/// The last method's error, when none works.
pub fn choose(wish: &Wish<'_>) -> Result<Choice, Error> {
    let mut passed_over = Vec::new();
    let (able, poor): (Vec<_>, Vec<_>) =
        MethodName::ALL.into_iter().partition(|method| method.details().cover(wish.query.details));
    for &method in able.iter().chain(&poor) {
        if able.contains(&method) && method == MethodName::Walk && !is_worth_loading(wish) {
            passed_over.push((method, PassedOver::NotWorthIt));
            continue;
        }
        match trial(method) {
            Ok(()) => {
                let too_poor = poor.iter().filter(|&&other| other < method);
                passed_over.extend(too_poor.map(|&other| (other, PassedOver::TellsTooLittle)));
                return Ok(Choice { method, passed_over });
            }
            Err(error) => passed_over.push((method, PassedOver::Refused(error))),
        }
    }
    let refused = passed_over.into_iter().rev().find_map(|(_, reason)| match reason {
        PassedOver::Refused(error) => Some(error),
        _ => None,
    });
    Err(refused.expect("a method that was not refused is chosen"))
}

/// Whether a query may be about most sockets there are: neither a filter nor the states leave out
/// the most of them.
pub(super) fn wants_most(query: &Query) -> bool {
    let many = States::NONE.with(State::Established);
    query.filter.is_none() && query.wanted_states().intersection(many) == many
}

/// What is selective is best left to the kernel's own.
fn is_worth_loading(wish: &Wish<'_>) -> bool {
    if wish.query.transport == Transport::Udp || !wants_most(wish.query) {
        return false;
    }
    let least = if wish.owners { OWNED_WORTH_LOADING } else { SOCKETS_WORTH_LOADING };
    wish.again || connections() >= least
}

/// About how many TCP sockets the namespace of the calling thread has; 0 where that is not told.
pub(super) fn connections() -> u64 {
    let tables = ["/proc/thread-self/net/sockstat", "/proc/thread-self/net/sockstat6"];
    let texts = tables.map(|path| fs::read_to_string(path).unwrap_or_default());
    texts.iter().map(|text| count(text)).sum()
}

/// In `TCP: inuse 12 orphan 0 tw 3 alloc 13 mem 1`: those in use and those in TIME-WAIT.
fn count(sockstat: &str) -> u64 {
    let mut sum = 0;
    for line in sockstat.lines() {
        let Some(rest) = line.strip_prefix("TCP:").or_else(|| line.strip_prefix("TCP6:")) else {
            continue;
        };
        let mut words = rest.split_ascii_whitespace();
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            if matches!(name, "inuse" | "tw") {
                sum += value.parse().unwrap_or(0);
            }
        }
    }
    sum
}

/// Lists nothing, to see whether the kernel answers.
fn trial(method: MethodName) -> Result<(), Error> {
    let mut method = open(method, &Place::here())?;
    for transport in [Transport::Tcp, Transport::Udp] {
        let query = Query { states: States::NONE, ..Query::all(transport) };
        method.read(&query, &mut |_| {})?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
