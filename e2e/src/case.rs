//! One case of the host against this kernel: how the link is, who opens the connections, and what
//! must not happen.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr, TcpListener},
    time::Duration,
};

use portolan_host::{
    Config, Readings,
    blocking::{Connection, Endpoint},
};

use crate::{
    bulk::{self, Order},
    capture::Seen,
    kernel::Counted,
    link::{Link, Offload, Wire, set},
};

/// Who opens the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opener {
    /// The kernel; the host listens.
    Kernel,
    /// The host; the kernel listens.
    Host,
}

/// A case.
#[derive(Clone, Debug)]
pub struct Case {
    /// What carries frames.
    pub wire: Wire,
    /// Who opens.
    pub opener: Opener,
    /// The largest packet on the link.
    pub mtu: u16,
    /// What is left to the devices.
    pub offload: Offload,
    /// Whether it is IPv6.
    pub v6: bool,
    /// What is set below `/proc/sys/net/ipv4` of the kernel's end.
    pub settings: &'static [(&'static str, &'static str)],
    /// The damage on the host's end, as of `portolan host --fault`.
    pub faults: &'static str,
    /// Bytes in each direction of each connection.
    pub bytes: usize,
}

/// What a case left behind.
#[derive(Debug)]
pub struct Outcome {
    /// The host's counters.
    pub host: Readings,
    /// The kernel's.
    pub kernel: Counted,
    /// What was on the link.
    pub seen: Seen,
}

/// So long nothing may move while something is under way: with the damage of these tests five
/// retransmissions of one segment are not lost one after the other.
const GAP_MAX: Duration = Duration::from_secs(20);

const PORT: u16 = 7_001;

impl Default for Case {
    fn default() -> Self {
        Self {
            wire: Wire::Tap,
            opener: Opener::Kernel,
            mtu: 1_500,
            offload: Offload::On,
            v6: false,
            settings: &[],
            faults: "",
            bytes: 4 << 20,
        }
    }
}

impl Case {
    /// Runs it, and checks that all data arrived, and that there was no RST, no storm and no stall.
    ///
    /// # Panics
    /// When that is not so.
    pub fn run(&self) -> Outcome {
        self.run_with(|_| ())
    }

    /// The same with a host that is configured otherwise.
    ///
    /// # Panics
    /// When something happens that must not.
    pub fn run_with(&self, change: impl FnOnce(&mut Config)) -> Outcome {
        let link = Link::new(self.wire, self.mtu, self.offload);
        for (name, value) in self.settings {
            set(&link.peer, &format!("ipv4/{name}"), value);
        }
        let file = link.world.file("case.pcapng");
        let mut config = link.config();
        change(&mut config);
        let queue = link.open(self.faults, &file);
        let endpoint = Endpoint::start(&config, vec![queue]).expect("the host begins");
        let moved = self.move_data(&link, &endpoint);
        let stopped = endpoint.stop();
        let host = endpoint.readings().remove(0);
        // With it the device goes, and the capture is written.
        drop(endpoint);
        let outcome = Outcome { host, kernel: Counted::of(&link.peer), seen: Seen::read(&file) };
        let told = format!("{self:?}\n{outcome}");
        moved.unwrap_or_else(|error| panic!("{error}: {told}"));
        stopped.unwrap_or_else(|error| panic!("{error}: {told}"));
        self.check(&outcome, &told);
        outcome
    }

    fn ends(&self, link: &Link) -> (IpAddr, IpAddr) {
        if self.v6 { (link.host_v6(), link.peer_v6()) } else { (link.host_v4(), link.peer_v4()) }
    }

    /// Two connections, one after the other.
    fn move_data(&self, link: &Link, endpoint: &Endpoint) -> io::Result<()> {
        let (host, peer) = self.ends(link);
        match self.opener {
            Opener::Kernel => {
                let listener = endpoint.listen(None, PORT).map_err(io::Error::other)?;
                for order in [Order::InTurn, Order::AtOnce] {
                    let client = link.peer.enter(|| bulk::connect(SocketAddr::new(host, PORT)))?;
                    self.exchange(order, &client, &patient(listener.accept()?))?;
                }
            }
            Opener::Host => {
                let at = SocketAddr::new(peer, PORT);
                let listener = link.peer.enter(|| TcpListener::bind(at))?;
                for order in [Order::InTurn, Order::AtOnce] {
                    let client = patient(endpoint.connect(at)?);
                    let server = bulk::patient(listener.accept()?.0)?;
                    self.exchange(order, &client, &server)?;
                }
            }
        }
        Ok(())
    }

    fn exchange(
        &self,
        order: Order,
        client: &dyn bulk::End,
        server: &dyn bulk::End,
    ) -> io::Result<()> {
        let (of_client, of_server) = std::thread::scope(|scope| {
            let serving = scope.spawn(|| bulk::exchange(server, false, order, self.bytes));
            let of_client = bulk::exchange(client, true, order, self.bytes);
            let served = serving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (of_client, served)
        });
        let of_server = of_server.map_err(|error| during(order, "server", &error))?;
        let of_client = of_client.map_err(|error| during(order, "client", &error))?;
        if of_client == (of_server.1, of_server.0) {
            return Ok(());
        }
        Err(io::Error::other(format!("other data came than was sent: {order:?}")))
    }

    fn check(&self, outcome: &Outcome, told: &str) {
        let Outcome { host, kernel, seen } = outcome;
        let tcp = &host.tcp;
        assert!(seen.segments > 0, "nothing was captured: {told}");
        assert_eq!(seen.resets, 0, "RST: {told}");
        assert!(seen.longest_gap < GAP_MAX, "it stood still: {told}");
        let by_timer = tcp.timeouts + tcp.tail_probes;
        let by_kernel_timer = kernel.get("TcpExt.TCPTimeouts") + kernel.get("TcpExt.TCPLossProbes");
        self.check_sent_again(tcp.segments_retransmitted, tcp.segments_sent, by_timer, told);
        let (again, sent) = (kernel.get("Tcp.RetransSegs"), kernel.get("Tcp.OutSegs"));
        // Without selective acknowledgments the kernel goes back to the first gap after a timeout,
        // and sends all behind it again.
        let goes_back = self.settings.contains(&("tcp_sack", "0")) && by_kernel_timer > 0;
        let again = again.saturating_sub(if goes_back { sent / 3 } else { 0 });
        self.check_sent_again(again, sent, by_kernel_timer, told);
    }

    /// Where nothing is lost nothing is sent again, unless a machine that does much else made a
    /// timer end; with damage, a multiple of what was lost and not of what was sent.
    fn check_sent_again(&self, again: u64, sent: u64, by_timer: u64, told: &str) {
        let allowed = match self.loss_percent() {
            None if by_timer == 0 => 0,
            None => 64 + sent / 20,
            Some(percent) => 3 * sent * percent / 100 + 6 * BURST,
        };
        assert!(again <= allowed, "{again} of {sent} segments were sent again: {told}");
    }

    /// How many percent of the segments do not arrive whole, rounded up.
    fn loss_percent(&self) -> Option<u64> {
        let rates = self.faults.split(',').filter(|it| it.starts_with("loss="));
        let rates = rates.chain(self.faults.split(',').filter(|it| it.starts_with("corrupt=")));
        let percent = |rate: &str| {
            let number = rate.split_once('=')?.1.strip_suffix('%')?.parse::<f64>().ok()?;
            Some(number.ceil() as u64)
        };
        (!self.faults.is_empty()).then(|| rates.filter_map(percent).sum())
    }
}

/// Segments of the longest frame that is lost at once.
const BURST: u64 = 45;

fn during(order: Order, who: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{order:?}, {who}: {error}"))
}

fn patient(connection: Connection) -> Connection {
    connection.set_timeout(Some(bulk::PATIENCE));
    connection
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "host: {:?}", self.host.tcp)?;
        let stack = self.host.stack.iter().filter(|(.., count)| *count > 0);
        for (group, name, count) in stack {
            write!(f, "{group}.{name} {count}, ")?;
        }
        writeln!(f, "\nkernel: {}", self.kernel.trouble())?;
        write!(f, "link: {:?}", self.seen)
    }
}
