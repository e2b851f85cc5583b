//! Edges for the tests.

use std::{collections::VecDeque, net::IpAddr, sync::Arc};

use clap::Parser;
use portolan_flow::{
    Counters, End, Flow, Namespace, Owner, Pids, Process, Totals, Traffic, Transport,
};

use portolan_sys::capabilities::CapabilitySet;
use portolan_trace::{Attach, UdpAttach};

use super::{
    TraceArgs,
    config::Config,
    watch::{Observed, Watch},
};

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    args: TraceArgs,
}

/// The flags on a command line.
pub fn args(line: &str) -> Result<TraceArgs, clap::Error> {
    let words = std::iter::once("trace").chain(line.split_whitespace());
    Line::try_parse_from(words).map(|line| line.args)
}

/// What is meant by the flags on a command line.
pub fn config(line: &str) -> Config {
    let args = args(line).unwrap_or_else(|error| panic!("{error}"));
    Config::check(&args).unwrap_or_else(|error| panic!("{error}"))
}

/// A process in the host's network namespace.
pub fn end(name: &str, address: [u8; 4]) -> End {
    let process = Process { name: name.to_owned(), unit: None, container: None };
    End {
        address: IpAddr::from(address),
        namespace: Some(Namespace::new(Namespace::HOST)),
        owner: Owner::Process(Arc::new(process)),
        pids: Pids::of(7),
    }
}

/// An edge from a process to another, over which this went in a second.
pub fn flow(client: &str, server: &str, server_port: u16, active: Totals) -> Flow {
    let counters = Counters { connections: 2, ..Counters::default() };
    Flow {
        transport: Transport::Tcp,
        server_port,
        client: end(client, [10, 0, 0, 1]),
        server: end(server, [10, 0, 0, 2]),
        active: counters,
        passive: Counters::default(),
        traffic: Some(Box::new(Traffic { span_ms: 1000, active, passive: Totals::default() })),
        guessed: false,
    }
}

/// So many connections that came up and ended, with some bytes each.
pub fn opened(count: u64) -> Totals {
    Totals {
        opened: count,
        closed: count,
        bytes_sent: 100 * count,
        bytes_received: 2000 * count,
        rtt_us_sum: 85 * count,
        rtt_samples: count,
        duration_us_sum: 1500 * count,
        ..Totals::default()
    }
}

/// A method that tells what it is told to, and then nothing.
#[derive(Default)]
pub struct Told {
    pub readings: VecDeque<anyhow::Result<Observed>>,
    pub relieved: u32,
}

impl Watch for Told {
    fn read(&mut self) -> anyhow::Result<Observed> {
        self.readings.pop_front().unwrap_or_else(|| Ok(Observed::default()))
    }

    fn relieve(&mut self) -> anyhow::Result<()> {
        self.relieved += 1;
        Ok(())
    }

    fn needs_relief(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        "told".to_owned()
    }

    fn method(&self) -> &'static str {
        "told"
    }

    fn attach(&self) -> Option<Attach> {
        None
    }

    fn udp_attach(&self) -> Option<UdpAttach> {
        None
    }

    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::empty()
    }
}
