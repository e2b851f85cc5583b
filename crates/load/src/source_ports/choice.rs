//! Which strategy it is, and why.

use std::{fmt, io, ops::RangeInclusive};

use portolan_sys::source_port;
use rustix::net::{AddressFamily, SocketType, socket};
use serde::{Deserialize, Serialize};

use super::Host;

/// Who chooses source ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Whichever fits: see [`choose`].
    #[default]
    Auto,
    /// The kernel, at `connect(2)`: what everybody does. With a source address of one's own choice,
    /// too (`IP_BIND_ADDRESS_NO_PORT`). Slow once half of its range is in use.
    Kernel,
    /// We do, and bind the socket to the port.
    Explicit,
    /// The kernel, within a few ports that we choose (`IP_LOCAL_PORT_RANGE`, Linux 6.3).
    Range,
}

impl Strategy {
    /// Its name, as in flags and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Kernel => "kernel",
            Self::Explicit => "explicit",
            Self::Range => "range",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Never [`Strategy::Auto`].
    pub strategy: Strategy,
    /// For people.
    pub why: String,
    /// From which ports.
    pub ports: RangeInclusive<u16>,
    /// Whether the source address is one's own choice, so that the kernel has to be told of it.
    pub binds_address: bool,
}

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// How.
    pub strategy: Strategy,
    /// From which ports; none: from the kernel's range of ephemeral ports.
    pub ports: Option<RangeInclusive<u16>>,
    /// Whether source addresses were given.
    pub has_sources: bool,
}

/// Chooses; `has_range` says whether the kernel knows `IP_LOCAL_PORT_RANGE`.
///
/// # Errors
/// With what to do instead, where what was asked for cannot be done.
pub fn choose(wish: &Wish, host: &Host, has_range: bool) -> Result<Choice, String> {
    let own = wish.ports.clone();
    let all = host.ephemeral.clone();
    let made = |strategy, why: String, ports| {
        Ok(Choice { strategy, why, ports, binds_address: wish.has_sources })
    };
    match wish.strategy {
        Strategy::Auto => made(
            Strategy::Explicit,
            "each port is found in constant time, on every kernel; the kernel's own search is slow \
             once half of its range is in use"
                .to_owned(),
            own.unwrap_or(ours(&all)),
        ),
        Strategy::Explicit => {
            made(Strategy::Explicit, ASKED.to_owned(), own.unwrap_or(ours(&all)))
        }
        Strategy::Kernel if own.as_ref().is_some_and(|own| *own != all) => Err(format!(
            "the kernel chooses from net.ipv4.ip_local_port_range ({}-{}): leave --source-ports \
             out, or use --ports range or explicit",
            all.start(),
            all.end()
        )),
        Strategy::Kernel => made(Strategy::Kernel, ASKED.to_owned(), all),
        Strategy::Range if !has_range => {
            Err("this kernel lacks IP_LOCAL_PORT_RANGE (Linux 6.3): use --ports explicit".into())
        }
        Strategy::Range => {
            let own = own.unwrap_or(all.clone());
            // A bound outside has no effect, so the kernel would use ports that nobody asked for.
            if own.start() < all.start() || own.end() > all.end() {
                return Err(format!(
                    "with --ports range, --source-ports has to be within \
                     net.ipv4.ip_local_port_range ({}-{}): use --ports explicit, or widen it",
                    all.start(),
                    all.end()
                ));
            }
            made(Strategy::Range, ASKED.to_owned(), own)
        }
    }
}

const ASKED: &str = "it was asked for";

/// Of the kernel's range, a port of so many is left to it where nobody says which to use.
const LEFT_OF: usize = 16;

/// A port that a socket was bound to, be it for a connection in TIME-WAIT, is one that the kernel
/// gives to nobody who connects or binds without naming one, whatever the destination
/// (`__inet_hash_connect` passes over buckets with `fastreuse >= 0`). With all of its range used
/// like that, no program of the host could connect to anywhere for a minute.
fn ours(all: &RangeInclusive<u16>) -> RangeInclusive<u16> {
    let left = u16::try_from(all.len() / LEFT_OF).unwrap_or(0);
    *all.start()..=all.end() - left
}

/// Whether the kernel knows `IP_LOCAL_PORT_RANGE`.
///
/// # Errors
/// When no socket can be made.
pub fn has_range(host: &Host) -> io::Result<bool> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    Ok(source_port::set_local_range(&socket, &host.ephemeral).is_ok())
}

#[cfg(test)]
mod tests;
