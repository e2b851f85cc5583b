//! The flags of `portolan probe`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use portolan_probe::{MethodName, space::Shard};

/// Ask whether TCP ports are open, in three packets each and without a connection.
///
/// Without -p and without a port in the target: the 100 ports that most often listen. A name stands
/// for the first of its addresses.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  portolan probe db.example:5432                 is it up?
  portolan probe db.example:5432 --wait=30s      wait until it is, for scripts
  portolan probe 10.0.0.0/24 -p ssh,80,8000-8100 what is open in this network?
  portolan probe 10.0.0.0/16 -p 443 --json       a sweep, for programs
  portolan probe 10.0.0.1 -p - -oX host.xml      all ports, for programs that read nmap's XML
  portolan probe 127.0.0.1:80 --count 100000     how fast is a check here?

Targets: addresses, names, networks (10.0.0.0/24), ranges (10.0.0.1-50), octets (10.0.0-3.1,5,9),
each with :PORT or without. docs/guide/probe.md has more.

Exit codes: 0 all that was asked is open; 1 something is not; 2 an error.")]
pub struct ProbeArgs {
    /// What to ask about.
    #[arg(value_name = "TARGET", required_unless_present = "targets_from")]
    pub targets: Vec<String>,

    /// Read targets from this file, `-` for standard input; may be given several times.
    #[arg(short = 'i', long, value_name = "FILE")]
    pub targets_from: Vec<PathBuf>,

    /// Ports of targets that have none: 22,80,8000-8100,https; `-` for all.
    #[arg(short, long, value_name = "PORTS", allow_hyphen_values = true, conflicts_with = "top")]
    pub ports: Option<String>,

    /// The N ports that most often listen.
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,

    /// Leave these out: a target without port; may be given several times.
    #[arg(long, value_name = "TARGET")]
    pub exclude: Vec<String>,

    /// Leave out what this file names.
    #[arg(long, value_name = "FILE")]
    pub exclude_file: Vec<PathBuf>,

    /// Of names, only IPv4 addresses.
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,

    /// Of names, only IPv6 addresses.
    #[arg(short = '6', long)]
    pub ipv6: bool,

    /// Ask every address of a name, not only the first.
    #[arg(long)]
    pub all_addresses: bool,

    /// How to ask.
    #[arg(long, value_enum, default_value = "auto")]
    pub method: Asking,

    /// How long to wait for a target that does not answer, asking again meanwhile.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = timeout)]
    pub timeout: Duration,

    /// How often to ask a silent target again; a sweep asks more often where questions are lost.
    #[arg(long, value_name = "N", default_value = "2")]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=11))]
    pub retries: u8,

    /// Ask this many times a second, whatever comes back [default: as fast as the path carries].
    #[arg(long, value_name = "N")]
    #[arg(value_parser = rate)]
    #[arg(allow_negative_numbers = true)]
    #[arg(conflicts_with = "max_rate")]
    pub rate: Option<f64>,

    /// Never ask more often than this in a second.
    #[arg(long, value_name = "N", value_parser = rate, allow_negative_numbers = true)]
    pub max_rate: Option<f64>,

    /// Check one target N times, one after the other, and say how fast that went.
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(conflicts_with_all = ["wait", "resume", "shard", "rate"])]
    #[arg(conflicts_with_all = ["max_rate", "grepable", "xml", "open", "every"])]
    pub count: Option<u64>,

    /// Wait until all that is asked is open, at most this long if TIME is given.
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true)]
    #[arg(value_parser = humantime::parse_duration)]
    #[arg(conflicts_with_all = ["resume", "shard", "rate", "max_rate"])]
    #[allow(clippy::option_option, reason = "given or not, with a value or not")]
    pub wait: Option<Option<Duration>>,

    /// Ask only part I of N, so that several hosts share a sweep: all with the same --seed.
    #[arg(long, value_name = "I/N", requires = "seed")]
    pub shard: Option<Shard>,

    /// Decides the order in which targets are asked [default: another one each time].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Keep in this file how far the sweep is; given again, it goes on from there.
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,

    /// Sweep addresses that are neither private nor loopback: only with their owner's consent.
    #[arg(long)]
    pub i_own_these_networks: bool,

    /// Print one JSON object per line (docs/formats/probe.md).
    #[arg(long)]
    pub json: bool,

    /// Only open ports.
    #[arg(long, conflicts_with = "every")]
    pub open: bool,

    /// Every port, also in a sweep, whose closed and silent ones are else only counted.
    #[arg(long)]
    pub every: bool,

    /// Write the grepable format of nmap to this file, `-` for standard output; also -oG FILE.
    #[arg(long, value_name = "FILE")]
    pub grepable: Option<PathBuf>,

    /// Write the XML format of nmap to this file, `-` for standard output; also -oX FILE.
    #[arg(long, value_name = "FILE")]
    pub xml: Option<PathBuf>,
}

/// The ways to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Asking {
    /// By segments of its own if it may, or else quietly.
    Auto,
    /// A connection, closed at once: six packets.
    Connect,
    /// A connection, reset at once: four packets.
    Linger,
    /// A handshake that is reset before the server accepts: three packets, no privilege.
    Quiet,
    /// Own segments: three packets, fastest, needs CAP_NET_RAW.
    Syn,
}

impl Asking {
    /// The method asked for; `None` leaves the choice to the program.
    pub fn method(self) -> Option<MethodName> {
        match self {
            Self::Auto => None,
            Self::Connect => Some(MethodName::Connect),
            Self::Linger => Some(MethodName::Linger),
            Self::Quiet => Some(MethodName::Quiet),
            Self::Syn => Some(MethodName::Syn),
        }
    }
}

fn timeout(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let bounds = Duration::from_millis(1)..=Duration::from_secs(3600);
    if bounds.contains(&time) { Ok(time) } else { Err("1ms to 1h is possible".to_owned()) }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let is_possible = (0.01..=100_000_000.0).contains(&rate);
    if is_possible { Ok(rate) } else { Err("0.01 to 100000000 is possible".to_owned()) }
}

/// Turns `-oG FILE`, `-oX FILE` and `-iL FILE`, as nmap spells them, into flags of this program.
pub fn spelled_like_nmap(
    words: impl Iterator<Item = std::ffi::OsString>,
) -> Vec<std::ffi::OsString> {
    let mut words: Vec<_> = words.collect();
    if words.get(1).is_some_and(|word| word == "probe") {
        for word in &mut words[2..] {
            if word == "-oG" {
                *word = "--grepable".into();
            } else if word == "-oX" {
                *word = "--xml".into();
            } else if word == "-iL" {
                *word = "--targets-from".into();
            }
        }
    }
    words
}

#[cfg(test)]
mod tests;
