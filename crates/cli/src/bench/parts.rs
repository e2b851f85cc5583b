//! What a measurement starts this program for: hidden, and of no use to people.

use std::{
    io::{self, Write},
    net::SocketAddrV4,
    num::NonZero,
    process::ExitCode,
    time::Duration,
};

use clap::Subcommand;
use portolan_bench::{
    BareLoop, Hold, Listen, Published, Read, bare_loop, hold, listen, published, read,
};
use portolan_sockets::MethodName;

/// What a measurement starts this program for.
#[derive(Debug, Subcommand)]
pub enum Part {
    /// Hold connections until standard input ends.
    #[command(hide = true)]
    Hold {
        /// How many; both ends of each are held.
        #[arg(long)]
        connections: u32,
        /// Which share of all it is: decides the addresses.
        #[arg(long)]
        share: u8,
    },
    /// Accept connections and close them until standard input ends; for each line of it, and at its
    /// end, say how many there were.
    #[command(hide = true)]
    Listen {
        /// Where.
        #[arg(long)]
        address: SocketAddrV4,
        /// Where to send a datagram ten times a second.
        #[arg(long = "tick")]
        ticks: Vec<SocketAddrV4>,
    },
    /// Check a port as it was published in 2018, with a new raw socket each time.
    #[command(hide = true)]
    Published {
        /// Whom to ask.
        #[arg(long)]
        target: SocketAddrV4,
        /// Where answers are to go.
        #[arg(long)]
        source: SocketAddrV4,
        /// How often.
        #[arg(long)]
        count: NonZero<u64>,
        /// How long to wait, in milliseconds.
        #[arg(long)]
        timeout_ms: NonZero<u64>,
    },
    /// Connect and close again and again, and say how often.
    #[command(hide = true)]
    Bare {
        /// Where to.
        #[arg(long)]
        target: SocketAddrV4,
        /// How many threads.
        #[arg(long)]
        threads: NonZero<usize>,
        /// How long, in milliseconds.
        #[arg(long)]
        duration_ms: NonZero<u64>,
        /// Reset connections instead of closing them in order.
        #[arg(long)]
        reset: bool,
    },
    /// Read the sockets of this network namespace as the map does and say what that cost.
    #[command(hide = true)]
    Read {
        /// How to list; the best that works if not given.
        #[arg(long, value_parser = method)]
        method: Option<MethodName>,
        /// How often.
        #[arg(long, default_value = "1")]
        repeat: NonZero<u32>,
    },
}

/// Does what `part` says.
pub fn run(part: &Part) -> anyhow::Result<ExitCode> {
    // A server writes while it reads, so each takes the lock when it needs it.
    let (mut out, mut asked) = (io::stdout(), io::stdin().lock());
    match *part {
        Part::Hold { connections, share } => {
            hold(Hold { connections, share }, &mut out, &mut asked)?
        }
        Part::Listen { address, ref ticks } => {
            listen(&Listen { address, ticks: ticks.clone() }, &mut out, &mut asked)?;
        }
        Part::Published { target, source, count, timeout_ms } => {
            let timeout = Duration::from_millis(timeout_ms.get());
            let count = published(Published { target, source, count: count.get(), timeout })?;
            writeln!(out, "{}", count.to_line()?)?;
        }
        Part::Bare { target, threads, duration_ms, reset } => {
            let duration = Duration::from_millis(duration_ms.get());
            let plan = BareLoop { target, threads: threads.get(), duration, resets: reset };
            writeln!(out, "{}", serde_json::to_string(&bare_loop(plan)?)?)?;
        }
        Part::Read { method, repeat } => {
            let report = read(Read { method, repeat: repeat.get() })?;
            writeln!(out, "{}", serde_json::to_string(&report)?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn method(name: &str) -> Result<MethodName, String> {
    let known = MethodName::ALL.into_iter().find(|known| known.name() == name);
    known.ok_or_else(|| {
        format!("no such method; there are: {}", MethodName::ALL.map(MethodName::name).join(", "))
    })
}
