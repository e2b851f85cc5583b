//! What a namespace's kernel has counted of TCP.

use std::{collections::BTreeMap, fs};

use crate::Place;

/// The counters of /proc/net/snmp and /proc/net/netstat, by group and name.
#[derive(Clone, Debug, Default)]
pub struct Counted(BTreeMap<String, u64>);

impl Counted {
    /// Reads them.
    #[must_use]
    pub fn of(place: &Place) -> Self {
        let text = place.enter(|| {
            let read = |file| fs::read_to_string(format!("/proc/thread-self/net/{file}"));
            read("snmp").unwrap_or_default() + &read("netstat").unwrap_or_default()
        });
        let lines: Vec<&str> = text.lines().collect();
        let mut counted = BTreeMap::new();
        // A line of names, and one of numbers.
        for pair in lines.chunks(2) {
            let [names, numbers] = pair else { continue };
            let group = names.split(':').next().unwrap_or_default();
            let named = names.split_whitespace().zip(numbers.split_whitespace()).skip(1);
            for (name, number) in named {
                // MaxConn is -1.
                counted.insert(format!("{group}.{name}"), number.parse().unwrap_or(0));
            }
        }
        Self(counted)
    }

    /// One of them, as `Tcp.RetransSegs` or `TcpExt.TCPTimeouts`.
    ///
    /// # Panics
    /// When the kernel does not have it.
    #[must_use]
    pub fn get(&self, name: &str) -> u64 {
        *self.0.get(name).unwrap_or_else(|| panic!("the kernel does not count {name}"))
    }

    /// Those that tell of trouble, where they are not 0.
    #[must_use]
    pub fn trouble(&self) -> String {
        let names = [
            "Tcp.RetransSegs",
            "Tcp.OutRsts",
            "Tcp.EstabResets",
            "Tcp.AttemptFails",
            "Tcp.InErrs",
            "TcpExt.TCPTimeouts",
            "TcpExt.TCPLossProbes",
            "TcpExt.TCPFastRetrans",
            "TcpExt.TCPSlowStartRetrans",
            "TcpExt.TCPSpuriousRTOs",
            "TcpExt.TCPOFOQueue",
            "TcpExt.TCPDSACKOldSent",
            "TcpExt.TCPDSACKRecv",
            "TcpExt.TCPAbortOnTimeout",
            "TcpExt.TCPAbortOnData",
            "TcpExt.TCPAbortOnClose",
            "TcpExt.TCPRcvQDrop",
        ];
        let counts = names.map(|name| (name, self.get(name)));
        let told = counts.iter().filter(|(_, count)| *count > 0);
        told.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    }
}
