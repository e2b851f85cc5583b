//! `portolan host` on a link, with everything that it does written down.

use std::{fs::File, net::SocketAddr, path::PathBuf, process::Command};

use rustix::process::Signal;
use serde_json::Value;

use crate::{
    Ran, Running,
    capture::Seen,
    kernel::Counted,
    link::{INTERFACE, Link, Wire},
};

/// A host that runs.
#[derive(Debug)]
pub struct Hosted {
    // Dropped first.
    running: Running,
    /// Where.
    pub link: Link,
    capture: PathBuf,
}

/// What one left behind.
#[derive(Debug)]
pub struct Left {
    /// The last object that it printed.
    pub summary: Value,
    /// What was on the link.
    pub seen: Seen,
    /// What the kernel counted.
    pub kernel: Counted,
}

impl Left {
    /// A counter of the host's TCP; those that are 0 are not printed.
    #[must_use]
    pub fn tcp(&self, name: &str) -> u64 {
        self.summary["tcp"][name].as_u64().unwrap_or(0)
    }
}

impl Hosted {
    /// Starts it with the link's addresses, and more flags; it answers when this returns.
    ///
    /// # Panics
    /// When it does not.
    #[must_use]
    pub fn start(link: Link, flags: &[&str]) -> Self {
        let capture = link.world.file("host.pcapng");
        let device = if link.wire == Wire::Tap { "tap" } else { "packet" };
        let mut command = link.world.portolan(&["host", "--json"]);
        for address in link.host_addresses() {
            command.args(["--address", &address]);
        }
        command.args(["--nic", &format!("{device}:{INTERFACE}"), "--pcap"]);
        command.arg(&capture).args(flags);
        let mut running = Running::start(&link.world.host, command);
        running.wait_for("the host to answer", |running| {
            running.stdout().contains("\"ready\"").then_some(())
        });
        link.wait_until_it_runs();
        Self { running, link, capture }
    }

    /// An address of its, for programs and URLs: in brackets if it has colons.
    #[must_use]
    pub fn at(&self, v6: bool, port: u16) -> SocketAddr {
        SocketAddr::new(if v6 { self.link.host_v6() } else { self.link.host_v4() }, port)
    }

    /// Runs a program at the kernel's end that has to succeed.
    ///
    /// # Panics
    /// When it does not.
    pub fn succeed(&self, command: Command) -> Ran {
        self.link.peer.succeed(command)
    }

    /// Runs a program at the kernel's end that has to succeed, with a file for its input and one
    /// for its output.
    ///
    /// # Panics
    /// When it does not.
    pub fn filter(&self, mut command: Command, input: File, output: File) {
        command.stdin(input).stdout(output);
        let what = format!("{command:?}");
        let mut child = self.link.peer.spawn(&mut command);
        let status = crate::wait_for(&what, || child.try_wait().expect("to wait for it"));
        assert!(status.success(), "{what}: {status}");
    }

    /// Ends it, and checks that all frames were TCP as it should be: no RST, and nothing sent again
    /// unless by a timer, or what had arrived: a sender that changes its processor can overtake its
    /// own segments on the link.
    ///
    /// # Panics
    /// When it was not.
    #[must_use]
    pub fn end(self, resets: u64) -> Left {
        let left = self.end_with_any_resets();
        let count = |name: &str| left.tcp(name);
        let told = format!("{}\n{}\n{:?}", left.summary, left.kernel.trouble(), left.seen);
        assert_eq!(left.seen.resets, resets, "RST: {told}");
        if count("timeouts") + count("tail_probes") + left.kernel.get("TcpExt.DelayedACKLost") == 0
        {
            assert_eq!(count("segments_retransmitted"), 0, "{told}");
        }
        let timers =
            ["TcpExt.TCPTimeouts", "TcpExt.TCPLossProbes"].map(|name| left.kernel.get(name));
        if timers.iter().sum::<u64>() + count("duplicates") == 0 {
            assert_eq!(left.kernel.get("Tcp.RetransSegs"), 0, "{told}");
        }
        left
    }

    /// Ends it without looking at what was on the link: for clients that break connections off.
    ///
    /// # Panics
    /// When it does not end in order.
    #[must_use]
    pub fn end_with_any_resets(self) -> Left {
        self.running.signal(Signal::TERM);
        let ended = self.running.finish();
        assert_eq!(ended.code, Some(0), "{ended}");
        let last = ended.stdout.lines().next_back().unwrap_or_default();
        let summary = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {ended}"));
        let (seen, kernel) = (Seen::read(&self.capture), Counted::of(&self.link.peer));
        Left { summary, seen, kernel }
    }
}
