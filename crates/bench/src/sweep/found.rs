//! What a program says that it found.

use std::{collections::HashSet, net::Ipv4Addr};

use serde::Deserialize;

use crate::Fault;

/// How a program writes what it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// `portolan probe --json`: an object per line.
    Findings,
    /// An address per line: `zmap`.
    Addresses,
    /// `open tcp 80 10.0.0.1 1700000000`: `masscan -oL`.
    List,
    /// `Host: 10.0.0.1 ()  Ports: 80/open/tcp//http///`: `nmap -oG`.
    Grepable,
}

/// As much of a line of [`Format::Findings`] as matters here.
#[derive(Deserialize)]
struct Finding {
    #[serde(rename = "type")]
    kind: String,
    address: Option<Ipv4Addr>,
    state: Option<String>,
}

impl Format {
    /// The address of which the line says that its port is open; `None` if it says something else.
    fn open(self, line: &str) -> Option<Ipv4Addr> {
        match self {
            Self::Findings => {
                let finding: Finding = serde_json::from_str(line).ok()?;
                let is_open = finding.kind == "finding" && finding.state? == "open";
                finding.address.filter(|_| is_open)
            }
            Self::Addresses => line.trim().parse().ok(),
            Self::List => line.strip_prefix("open ")?.split(' ').nth(2)?.parse().ok(),
            Self::Grepable => {
                let (address, rest) = line.strip_prefix("Host: ")?.split_once(' ')?;
                rest.contains("/open/").then(|| address.parse().ok())?
            }
        }
    }
}

/// What was found of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Addresses, each counted once.
    pub(super) addresses: u64,
    /// Addresses that were said again.
    pub(super) duplicates: u64,
}

/// What `output` says of the `size` addresses from `first` on.
///
/// # Errors
/// When an address is none of them, or there is none at all.
pub(super) fn read(
    output: &[u8],
    format: Format,
    first: Ipv4Addr,
    size: u64,
) -> Result<Found, Fault> {
    let text = String::from_utf8_lossy(output);
    let (mut found, mut said) = (HashSet::new(), 0);
    for address in text.lines().filter_map(|line| format.open(line)) {
        let place = u32::from(address).wrapping_sub(u32::from(first));
        if u64::from(place) >= size {
            return Err(Fault::Wrong(format!("{address}, which nobody asked for")));
        }
        found.insert(address);
        said += 1;
    }
    let addresses = u64::try_from(found.len()).unwrap_or(u64::MAX);
    if addresses == 0 {
        return Err(Fault::Wrong(format!("nothing found, of {size} open ports")));
    }
    Ok(Found { addresses, duplicates: said - addresses })
}

#[cfg(test)]
mod tests;
