//! The flags of `portolan host`.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use portolan_host::{
    nic::fault::Faults,
    stack::{Cidr, tcp::congestion::Algorithm},
};

use super::device::Nic;

/// Be another host: one with addresses of its own and its own TCP, on a TAP or packet device.
///
/// Answers ARP, neighbour discovery, ping and traceroute, and serves what it is told to. What a
/// program of 150 lines on a TAP device does, which answers ARP and ping, is
/// `portolan host --nic tap:ptl0 --address 192.168.200.10/24`.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Services (for --serve; the same as of `portolan load server`; sizes in bytes are optional):
  rr=64/64:LIST   each 64 bytes that come are a request, 64 bytes answer it
  http=64:LIST    HTTP/1.1, TCP only: / has a body of 64 bytes, /N one of N; GET, HEAD, POST, PUT
  echo:LIST       what comes is sent back
  sink:LIST       what comes is read and thrown away
  A list has ports and ranges, alone (at all addresses) or after an address and a colon.

Examples:
  sudo portolan host --nic tap:ptl0 --address 192.168.200.10/24 --peer-address 192.168.200.1/24
  sudo portolan host --nic tap:ptl0 --address 192.168.200.10/24 --address fd00:200::10/64 \\
      --serve echo:7 --serve http:80 --serve rr:9100
  sudo portolan host --nic packet:veth1 --address 10.0.0.2/24 --gateway 10.0.0.1 --serve http:80
  sudo portolan host --nic tap:ptl0 --address 192.168.200.10/24 --serve echo:7 \\
      --fault loss=1%,seed=7 --pcap echo.pcapng

SIGUSR1 has it say how each connection stands, those that take the most memory first.

Exit codes: 0 done; 2 an error, such as a device that cannot be opened or went away.")]
pub struct HostArgs {
    /// What carries the frames: tap:NAME, an interface to this host's kernel, which is made and
    /// brought up; or packet:NAME, an interface that there is, and the network behind it.
    #[arg(long, value_name = "KIND:NAME")]
    pub nic: Nic,

    /// An address with its network. May be given several times.
    #[arg(long, value_name = "CIDR", required = true, value_parser = cidr)]
    pub address: Vec<Cidr>,

    /// By which host everything goes that is on no network of --address. May be given once for
    /// IPv4 and once for IPv6.
    #[arg(long, value_name = "ADDRESS")]
    pub gateway: Vec<IpAddr>,

    /// Give the kernel's end of a TAP this address. May be given several times.
    #[arg(long, value_name = "CIDR", value_parser = cidr)]
    pub peer_address: Vec<Cidr>,

    /// What to serve, and where: echo, http, rr or sink, a colon, and ports. May be given several
    /// times.
    #[arg(long, value_name = "SERVICE:LIST")]
    pub serve: Vec<String>,

    /// The Ethernet address [default: the interface's, for a TAP a random one].
    #[arg(long, value_name = "MAC", value_parser = mac)]
    pub mac: Option<[u8; 6]>,

    /// The largest IP packet to send, in bytes; no more than the interface takes, which is the
    /// default.
    #[arg(long, value_name = "BYTES")]
    #[arg(value_parser = clap::value_parser!(u16).range(576..))]
    pub mtu: Option<u16>,

    /// Queues of the device, each with a thread.
    #[arg(long, value_name = "N", default_value = "1")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=256))]
    pub queues: u16,

    /// TCP's congestion control.
    #[arg(long, value_enum, default_value = "cubic")]
    pub congestion: Congestion,

    /// Use addresses only when no other host has answered for them, which takes 5 seconds. Without
    /// it they are used at once, and the host ends if another one answers within a second.
    #[arg(long)]
    pub detect_duplicates: bool,

    /// Damage frames on purpose: loss=1%,reorder=2%,duplicate=1%,corrupt=0.1%,seed=7; after
    /// receive. or transmit. for one direction.
    #[arg(long, value_name = "FAULTS")]
    pub fault: Option<Faults>,

    /// Write all frames to a file, for Wireshark and tcpdump (pcapng).
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,

    /// Ask for the next frame for so long before waiting for it; takes a whole core meanwhile.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    #[arg(value_parser = humantime::parse_duration)]
    pub busy_poll: Duration,

    /// End after this time [default: at SIGINT or SIGTERM].
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub duration: Option<Duration>,

    /// Say so often what happens: on standard error if it is a terminal, or with --json.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = crate::load::interval)]
    pub interval: Duration,

    /// Print JSON: an object when it answers, one for each interval, and one at the end
    /// (docs/formats/host.md).
    #[arg(long)]
    pub json: bool,
}

/// TCP's congestion control.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Congestion {
    /// RFC 9438.
    Cubic,
    /// RFC 5681 and 6582.
    Newreno,
}

impl From<Congestion> for Algorithm {
    fn from(congestion: Congestion) -> Self {
        match congestion {
            Congestion::Cubic => Self::Cubic,
            Congestion::Newreno => Self::NewReno,
        }
    }
}

/// An address with the length of its prefix.
fn cidr(text: &str) -> Result<Cidr, String> {
    text.parse().map_err(|_not_one| "write it like 192.168.200.10/24 or fd00:200::10/64".to_owned())
}

/// Six bytes, as `02:00:00:00:00:01`.
pub(super) fn mac(text: &str) -> Result<[u8; 6], String> {
    let wrong = || "write six bytes, such as 02:00:00:00:00:01".to_owned();
    let mut mac = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut mac {
        let part = parts.next().filter(|part| part.len() == 2 && !part.starts_with('+'));
        *byte = u8::from_str_radix(part.ok_or_else(wrong)?, 16).map_err(|_not_one| wrong())?;
    }
    if parts.next().is_some() { Err(wrong()) } else { Ok(mac) }
}
