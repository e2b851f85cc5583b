//! The programs that sweep networks, and how their users call them.
//!
//! All are told to send as fast as they can, and none is told to wait less at the end than it does
//! by itself. masscan loses answers when it is fast, so it stands there twice: as fast as it can,
//! and slowly enough to find more.

use super::{
    found::Format,
    network::{Network, PORT},
};

/// Arguments for a network and the blocks of it that are to be swept.
pub(super) type Args = fn(&Network, &[String]) -> Vec<String>;

/// Somebody else's program.
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) program: &'static str,
    pub(super) install: &'static str,
    pub(super) args: Args,
    pub(super) format: Format,
    /// Its time grows faster than the number of hosts.
    pub(super) is_slow: bool,
}

/// This program: name, what it does, arguments.
pub(super) const OWN: [(&str, &str, Args); 2] = [
    ("portolan probe auto", "the method that the program chooses for a sweep", |_, blocks| {
        own("auto", blocks)
    }),
    ("portolan probe quiet", "connections by the kernel, without a privilege", |_, blocks| {
        own("quiet", blocks)
    }),
];

pub(super) const PEERS: [Peer; 4] = [
    Peer {
        name: "zmap",
        about: "no limit of its rate, and its 8 s of waiting for late answers",
        program: "zmap",
        install: "apt-get install zmap",
        args: zmap,
        format: Format::Addresses,
        is_slow: false,
    },
    Peer {
        name: "masscan 10k/s",
        about: "10,000 packets per second, and its 10 s of waiting for late answers",
        program: "masscan",
        install: MASSCAN,
        args: |network, blocks| masscan(network, blocks, "10000"),
        format: Format::List,
        is_slow: false,
    },
    Peer {
        name: "masscan 1M/s",
        about: "1,000,000 packets per second, and its 10 s of waiting for late answers",
        program: "masscan",
        install: MASSCAN,
        args: |network, blocks| masscan(network, blocks, "1000000"),
        format: Format::List,
        is_slow: false,
    },
    Peer {
        name: "nmap -T5",
        about: "asks again what does not answer",
        program: "nmap",
        install: "apt-get install nmap",
        args: nmap,
        format: Format::Grepable,
        is_slow: true,
    },
];

const MASSCAN: &str = "apt-get install masscan";

fn own(method: &str, blocks: &[String]) -> Vec<String> {
    let port = PORT.to_string();
    let flags = ["-p", &port, "--method", method, "--open", "--json"];
    blocks.iter().map(String::as_str).chain(flags).map(str::to_owned).collect()
}

/// A rate of 0 is none; its own list of networks that are not to be swept has those here.
fn zmap(network: &Network, blocks: &[String]) -> Vec<String> {
    let (port, source) = (PORT.to_string(), network.source.to_string());
    let flags = [
        ["-p", &port],
        ["-i", network.device],
        ["-S", &source],
        ["-G", network.gateway_mac],
        ["-r", "0"],
        ["-b", "/dev/null"],
    ];
    let flags = flags.as_flattened().iter().chain(&["-q", "--disable-syslog"]);
    flags.map(|&flag| flag.to_owned()).chain(blocks.iter().cloned()).collect()
}

/// It cannot find the way in a namespace without a default route, and has to be told.
fn masscan(network: &Network, blocks: &[String], rate: &str) -> Vec<String> {
    let (port, source) = (format!("-p{PORT}"), network.source.to_string());
    let flags = [
        ["--rate", rate],
        ["-e", network.device],
        ["--adapter-ip", &source],
        ["--adapter-mac", network.source_mac],
        ["--router-mac", network.gateway_mac],
        ["-oL", "-"],
    ];
    let flags = flags.as_flattened().iter().map(|&flag| flag.to_owned());
    blocks.iter().cloned().chain([port]).chain(flags).collect()
}

/// Its lower limit of the rate is what makes it fast; `-T5` alone waits for answers.
fn nmap(network: &Network, blocks: &[String]) -> Vec<String> {
    let port = PORT.to_string();
    let flags = ["-sS", "-n", "-Pn", "-T5", "--min-rate", "100000", "--open", "-p", &port];
    let output = ["-e", network.device, "-oG", "-"];
    let all = flags.iter().chain(&output).map(|&flag| flag.to_owned());
    all.chain(blocks.iter().cloned()).collect()
}
