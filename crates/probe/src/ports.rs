//! Which ports are asked for: what `-p` takes.

mod top;

use std::fmt;

pub use top::TOP;

use crate::targets::quoted;

/// Looks up the port of a TCP service by its name, as `getservbyname(3)` does. The caller brings
/// it, because /etc/services is a file.
pub type Services<'a> = &'a dyn Fn(&str) -> Option<u16>;

/// Ports, each once and never none, in ascending order, in whichever they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSet {
    ports: Box<[u16]>,
}

impl PortSet {
    /// Reads `22,80,8000-8100`, `http,https`, `-` (all), `-1024` (from 1), `60000-` (to 65535), and
    /// any of these separated by commas; `T:` may stand before one, as nmap writes TCP.
    ///
    /// # Errors
    ///
    /// [`PortsError`], which says what to write instead.
    pub fn parse(text: &str, services: Services<'_>) -> Result<Self, PortsError> {
        let mut marked = Marked::default();
        for item in text.split(',') {
            let (first, last) = range(item.trim(), services)
                .map_err(|problem| PortsError { input: quoted(text), problem })?;
            marked.mark(first, last);
        }
        Ok(marked.into_set())
    }

    /// The `count` ports that are most often found open.
    ///
    /// # Errors
    ///
    /// [`PortsProblem::Top`], where there are not so many in the list, or none is asked for.
    pub fn top(count: usize) -> Result<Self, PortsError> {
        let problem = || PortsProblem::Top { known: TOP.len() };
        let error = || PortsError { input: quoted(&count.to_string()), problem: problem() };
        let ports = TOP.get(..count).filter(|ports| !ports.is_empty()).ok_or_else(error)?;
        let mut ports: Box<[u16]> = ports.into();
        ports.sort_unstable();
        Ok(Self { ports })
    }

    /// All of 1 to 65535.
    #[must_use]
    pub fn all() -> Self {
        Self { ports: (1..=u16::MAX).collect() }
    }

    /// How many: 1 to 65535.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// The port of that number in ascending order, from 0.
    #[must_use]
    pub fn get(&self, nth: usize) -> Option<u16> {
        self.ports.get(nth).copied()
    }

    /// Whether the port is one of them.
    #[must_use]
    pub fn contains(&self, port: u16) -> bool {
        self.ports.binary_search(&port).is_ok()
    }

    /// The ports, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u16> {
        self.ports.iter().copied()
    }
}

/// As `-p` takes it, in the fewest items: `22,80,8000-8100`.
impl fmt::Display for PortSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.ports.chunk_by(|port, next| port.checked_add(1) == Some(*next));
        for (nth, run) in runs.enumerate() {
            let comma = if nth == 0 { "" } else { "," };
            match run {
                [] => {}
                [port] => write!(out, "{comma}{port}")?,
                [first, .., last] => write!(out, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// A text that names no ports, and why. The text is quoted, cut and without control characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ports {input}: {problem}")]
pub struct PortsError {
    /// What was given.
    pub input: String,
    /// What is wrong with it.
    #[source]
    pub problem: PortsProblem,
}

/// What is wrong, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortsProblem {
    /// Nothing, or nothing between two commas.
    #[error("a port is missing; write 22,80,8000-8100")]
    Empty,
    /// Port 0, which a program cannot listen on: `bind(2)` takes it for "any".
    #[error("port 0 is reserved and nothing can listen there (RFC 6335 section 6); begin at 1")]
    Zero,
    /// Above 65535.
    #[error("there is no port {0}; ports are 1 to 65535")]
    TooHigh(String),
    /// 90-80.
    #[error("{first} is above {last}; write {last}-{first}")]
    Reversed {
        /// What was written first.
        first: u16,
        /// What was written last.
        last: u16,
    },
    /// Neither a number, a range, nor the name of a service.
    #[error(
        "{0} is no port, range or known TCP service; write its number, or a range as 8000-8100"
    )]
    Service(String),
    /// `U:`, `S:` or `P:` of nmap.
    #[error("{0}: asks for another protocol than TCP, and only TCP is probed; leave it out")]
    Protocol(char),
    /// Several where one is wanted.
    #[error("a target has one port; leave it out here and give several with -p")]
    Several,
    /// More than [`TOP`] has, or 0.
    #[error("the list of the most common ports has {known}; write a number from 1 to {known}")]
    Top {
        /// How many are in the list.
        known: usize,
    },
}

/// The port of one target: a number or a service.
pub(crate) fn single(text: &str, services: Services<'_>) -> Result<u16, PortsProblem> {
    let numeric = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text {
        "" => Err(PortsProblem::Empty),
        _ if numeric(text) => number(text),
        _ if text.contains(',') => Err(PortsProblem::Several),
        _ if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => {
            Err(PortsProblem::Several)
        }
        _ => service(text, services),
    }
}

fn range(item: &str, services: Services<'_>) -> Result<(u16, u16), PortsProblem> {
    let item = match item.split_once(':') {
        Some(("T" | "t", rest)) => rest.trim(),
        Some(("U" | "u", _)) => return Err(PortsProblem::Protocol('U')),
        Some(("S" | "s", _)) => return Err(PortsProblem::Protocol('S')),
        Some(("P" | "p", _)) => return Err(PortsProblem::Protocol('P')),
        _ => item,
    };
    if item.is_empty() {
        return Err(PortsProblem::Empty);
    }
    if !item.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        // Services have hyphens in their names too: http-alt.
        return service(item, services).map(|port| (port, port));
    }
    let Some((first, last)) = item.split_once('-') else {
        return number(item).map(|port| (port, port));
    };
    let last_or_all = if last.is_empty() { Ok(u16::MAX) } else { number(last) };
    let first_or_one = if first.is_empty() { Ok(1) } else { number(first) };
    let (first, last) = (first_or_one?, last_or_all?);
    if first > last {
        return Err(PortsProblem::Reversed { first, last });
    }
    Ok((first, last))
}

fn number(text: &str) -> Result<u16, PortsProblem> {
    if text.contains('-') {
        return Err(PortsProblem::Service(quoted(text)));
    }
    match text.parse() {
        Ok(0) => Err(PortsProblem::Zero),
        Ok(port) => Ok(port),
        // Only digits come here, so that is all that can be wrong.
        Err(_) => Err(PortsProblem::TooHigh(quoted(text))),
    }
}

fn service(text: &str, services: Services<'_>) -> Result<u16, PortsProblem> {
    let port = services(text).filter(|port| *port != 0);
    port.ok_or_else(|| PortsProblem::Service(quoted(text)))
}

/// A bit for each port, so that a long text costs no more than a short one.
struct Marked {
    words: Box<[u64; 1024]>,
}

impl Default for Marked {
    fn default() -> Self {
        Self { words: Box::new([0; 1024]) }
    }
}

impl Marked {
    fn mark(&mut self, first: u16, last: u16) {
        for port in first..=last {
            self.words[usize::from(port / 64)] |= 1 << (port % 64);
        }
    }

    fn into_set(self) -> PortSet {
        let marked = |port: &u16| self.words[usize::from(port / 64)] >> (port % 64) & 1 == 1;
        PortSet { ports: (1..=u16::MAX).filter(marked).collect() }
    }
}

#[cfg(test)]
mod tests;
