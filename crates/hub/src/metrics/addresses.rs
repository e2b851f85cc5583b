//! Which addresses become labels as they are, and which only by their network.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

/// What holds where no rule says otherwise: addresses that an organisation hands out itself, of
/// which a host sees few, are kept; all others are one network of each family.
const STANDARD: [&str; 11] = [
    "0.0.0.0/0=/0",
    "10.0.0.0/8=keep",
    "100.64.0.0/10=keep",
    "127.0.0.0/8=keep",
    "169.254.0.0/16=keep",
    "172.16.0.0/12=keep",
    "192.168.0.0/16=keep",
    "::/0=/0",
    "::1/128=keep",
    "fc00::/7=keep",
    "fe80::/10=keep",
];

/// A network in the notation of RFC 4632; a single address if the prefix is as long as that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// The network of `address` that has so long a prefix, or the address where it is shorter.
    fn of(address: IpAddr, prefix: u8) -> Self {
        let prefix = prefix.min(width(address));
        let address = match address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(u32::from(32 - prefix)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(u32::from(128 - prefix)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
            }
        };
        Self { address, prefix }
    }

    fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && Self::of(address, self.prefix) == self
    }
}

/// As it stands in a label: `10.1.2.3`, `10.1.2.0/24`.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.prefix == width(self.address) {
            self.address.fmt(f)
        } else {
            write!(f, "{}/{}", self.address, self.prefix)
        }
    }
}

/// How many bits an address of this family has.
fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Addresses of a network are told by a longer prefix only: `10.0.0.0/8=/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldRule {
    network: Network,
    prefix: u8,
}

/// A rule that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule:?} is no rule for addresses: {why}")]
pub struct FoldError {
    /// What was given.
    pub rule: String,
    /// What is wrong, and what to write.
    pub why: String,
}

impl FromStr for FoldRule {
    type Err = FoldError;

    fn from_str(rule: &str) -> Result<Self, FoldError> {
        parse(rule).map_err(|why| FoldError { rule: rule.to_owned(), why })
    }
}

fn parse(rule: &str) -> Result<FoldRule, String> {
    let example = "write NETWORK=/PREFIX, for example 10.0.0.0/8=/24, or NETWORK=keep";
    let (network, to) = rule.split_once('=').ok_or_else(|| format!("it has no '=': {example}"))?;
    let network = parse_network(network)?;
    let width = width(network.address);
    if to == "keep" {
        return Ok(FoldRule { network, prefix: width });
    }
    let digits = to
        .strip_prefix('/')
        .ok_or_else(|| format!("what follows '=' is neither /PREFIX nor keep: {example}"))?;
    let prefix = parse_prefix(digits, width)?;
    if prefix < network.prefix {
        return Err(format!(
            "/{prefix} is wider than {network}, and would take in its neighbours: \
             write /{} or longer",
            network.prefix
        ));
    }
    Ok(FoldRule { network, prefix })
}

fn parse_network(text: &str) -> Result<Network, String> {
    let example = "write ADDRESS/PREFIX, for example 10.0.0.0/8 or 2001:db8::/32";
    let (address, digits) =
        text.split_once('/').ok_or_else(|| format!("the network has no prefix: {example}"))?;
    let address: IpAddr =
        address.parse().map_err(|_| format!("{address:?} is no address: {example}"))?;
    if address.to_canonical() != address {
        return Err("IPv4-mapped addresses are shown as IPv4: write the network so".to_owned());
    }
    let prefix = parse_prefix(digits, width(address))?;
    let network = Network::of(address, prefix);
    if network.address != address {
        return Err(format!("{text} names an address within the network: write {network}"));
    }
    Ok(network)
}

fn parse_prefix(digits: &str, width: u8) -> Result<u8, String> {
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let prefix = digits.parse().ok().filter(|prefix| is_plain && *prefix <= width);
    prefix.ok_or_else(|| format!("the prefix {digits:?} is no number from 0 to {width}"))
}

/// Folds addresses. The rule of the longest network decides.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// Longest network first.
    rules: Vec<FoldRule>,
}

impl Addresses {
    /// The standard rules, and these before them. Of two for one network the later counts.
    #[must_use]
    pub fn with(more: &[FoldRule]) -> Self {
        let standard = STANDARD.iter().filter_map(|rule| rule.parse().ok());
        let mut rules: Vec<FoldRule> = standard.chain(more.iter().copied()).collect();
        // The sort is stable, so that after turning them round the later of equals stands first.
        rules.reverse();
        rules.sort_by_key(|rule| (std::cmp::Reverse(rule.network.prefix), rule.network.address));
        rules.dedup_by_key(|rule| rule.network);
        Self { rules }
    }

    /// What stands for this address.
    pub(super) fn fold(&self, address: IpAddr) -> Network {
        let address = address.to_canonical();
        let rule = self.rules.iter().find(|rule| rule.network.contains(address));
        Network::of(address, rule.map_or(0, |rule| rule.prefix))
    }
}

/// The standard rules: private, shared, link-local and loopback addresses are kept, every other
/// one is `0.0.0.0/0` or `::/0`.
impl Default for Addresses {
    fn default() -> Self {
        Self::with(&[])
    }
}

#[cfg(test)]
mod tests;
