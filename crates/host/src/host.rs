//! A host that runs.

use std::{
    ops::RangeInclusive,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use portolan_nic::{Nic, Offloads};
use portolan_stack::{
    self as stack, Cidr, DuplicateDetection, Limits, Route, Stack, random::Key, tcp,
};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::{
    Error, clock, frame,
    program::Program,
    queue::Queue,
    shared::{Readings, Shared},
    steer::Steering,
};

/// What a host is made with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its addresses, each with its network.
    pub addresses: Vec<Cidr>,
    /// Networks that are not on the link.
    pub routes: Vec<Route>,
    /// Its Ethernet address; by default the device's own, or a random one where it has none.
    pub mac: Option<[u8; 6]>,
    /// The largest IP packet in bytes; by default the device's. A larger one is cut down to that.
    pub mtu: Option<u16>,
    /// Whether it is asked if other hosts have the addresses. Where one has, the host ends with
    /// [`Error::AddressTaken`].
    pub duplicates: DuplicateDetection,
    /// Whether routers of IPv6 are asked for, and believed.
    pub discover_routers: bool,
    /// TCP. Limits hold for each queue; the ports are divided among the queues.
    pub tcp: tcp::Config,
    /// What each queue keeps at most.
    pub limits: Limits,
    /// So long after the last frame a thread asks for the next one again and again, instead of
    /// waiting for it: saves a few microseconds, and takes a whole core.
    pub busy_poll: Duration,
    /// So long connections have at the end of the host to end in order.
    pub grace: Duration,
}

impl Config {
    /// A host with these addresses, and what is usual else.
    #[must_use]
    pub fn new(addresses: Vec<Cidr>) -> Self {
        Self {
            addresses,
            routes: Vec::new(),
            mac: None,
            mtu: None,
            duplicates: DuplicateDetection::Optimistic,
            discover_routers: false,
            tcp: tcp::Config::default(),
            limits: Limits::default(),
            busy_poll: Duration::ZERO,
            grace: Duration::from_secs(1),
        }
    }
}

/// A host that runs: a thread per queue of its device.
///
/// It answers from when [`Host::start`] returns, and ends with [`Host::stop`] or when it is
/// dropped: connections are closed, which they have [`Config::grace`] for, then reset.
#[derive(Debug)]
pub struct Host {
    shared: Arc<Shared>,
    mac: [u8; 6],
    mtu: u16,
    threads: Vec<JoinHandle<Result<(), Error>>>,
}

/// Asks a host's threads for something; to be cloned and given to other threads.
#[derive(Clone, Debug)]
pub struct Remote {
    shared: Arc<Shared>,
}

impl Host {
    /// Starts a host with these queues of one device, each with its program.
    ///
    /// # Errors
    /// [`Error::Config`], [`Error::Options`] where there is no queue, and what the programs say
    /// when they begin.
    pub fn start<N, P>(config: &Config, queues: Vec<(N, P)>) -> Result<Self, Error>
    where
        N: Nic + Send + 'static,
        P: Program + Send + 'static,
    {
        let Some((first, _)) = queues.first() else {
            return Err(Error::Options("a host needs a device with at least one queue".to_owned()));
        };
        let offloads = first.offloads();
        let mac = match config.mac.or(offloads.mac) {
            Some(mac) => mac,
            None => random_mac()?,
        };
        let mtu = config.mtu.map_or(offloads.mtu, |mtu| mtu.min(offloads.mtu));
        let [a, b] = secret::<2>()?;
        let steering = Steering::new(queues.len(), config.tcp.ports.clone(), Key::new(a, b));
        let shared = Shared::new(steering).map_err(Error::system("make an eventfd"))?;
        let shared = Arc::new(shared);
        let mut ready = Vec::with_capacity(queues.len());
        for (nth, (nic, program)) in queues.into_iter().enumerate() {
            let ports = shared.steering.ports_of(nth);
            let is_only = shared.steering.queues() == 1;
            let share = Share { ports, is_only, is_first: nth == 0 };
            let stack = make_stack(config, mac, mtu, &nic.offloads(), share)?;
            let mut queue = Queue::new(nth, nic, stack, program, Arc::clone(&shared));
            (queue.busy_poll, queue.grace) = (config.busy_poll, config.grace);
            queue.begin()?;
            ready.push(queue);
        }
        let mut host = Self { shared, mac, mtu, threads: Vec::new() };
        for queue in ready {
            let named = thread::Builder::new().name(format!("host {}", queue.nth));
            let thread = named.spawn(|| queue.run()).map_err(Error::system("start a thread"))?;
            host.threads.push(thread);
        }
        Ok(host)
    }

    /// Its Ethernet address.
    #[must_use]
    pub fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// The largest IP packet that it sends, in bytes.
    #[must_use]
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// What each queue has counted.
    #[must_use]
    pub fn readings(&self) -> Vec<Readings> {
        self.shared.queues.iter().map(|queue| queue.readings()).collect()
    }

    /// How its connections stand, in no order: those of all queues, half-open ones and those that
    /// the program has given back too, TIME-WAIT not. None once it has ended.
    ///
    /// Each thread is asked for 1,024 at a time, between its frames, so that even a million delay
    /// none for long; meanwhile connections come and go.
    #[must_use]
    pub fn connections(&self) -> Vec<tcp::Info> {
        let mut all = Vec::new();
        for queue in &self.shared.queues {
            let mut first = Some(0);
            while let Some((infos, next)) = first.and_then(|first| queue.ask(first)) {
                all.extend(infos);
                first = next;
            }
        }
        all
    }

    /// A way to reach its threads.
    #[must_use]
    pub fn remote(&self) -> Remote {
        Remote { shared: Arc::clone(&self.shared) }
    }

    /// Whether a thread has ended, because of an error or since it was asked to.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Ends the host, and waits for that. What was counted can still be asked for.
    ///
    /// # Errors
    /// Why a thread ended early, as when the device went away.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.shared.end();
        let mut ended = Ok(());
        for thread in self.threads.drain(..) {
            let result = thread.join().unwrap_or(Err(Error::Panicked));
            ended = ended.and(result);
        }
        ended
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.stop();
    }
}

impl Remote {
    /// Gives the program of a queue a turn.
    pub fn wake(&self, queue: usize) {
        if let Some(queue) = self.shared.queues.get(queue) {
            queue.waker.wake();
        }
    }

    /// Asks the host to end.
    pub fn end(&self) {
        self.shared.end();
    }
}

/// What one queue's stack is of the host.
struct Share {
    /// The ports that its connections are opened from.
    ports: RangeInclusive<u16>,
    /// Whether there is no other.
    is_only: bool,
    /// Whether it is the first one.
    is_first: bool,
}

fn make_stack(
    config: &Config,
    mac: [u8; 6],
    mtu: u16,
    offloads: &Offloads,
    share: Share,
) -> Result<Stack, Error> {
    let mut secret_bytes = [0; 32];
    for (to, half) in secret_bytes.chunks_exact_mut(8).zip(secret::<4>()?) {
        to.copy_from_slice(&half.to_ne_bytes());
    }
    let addresses = config.addresses.clone();
    let stack = stack::Config {
        mtu,
        routes: config.routes.clone(),
        offloads: frame::offloads(offloads),
        duplicates: config.duplicates,
        discover_routers: config.discover_routers,
        shares_flows: !share.is_only,
        speaks: share.is_first,
        tcp: tcp::Config { ports: share.ports, ..config.tcp.clone() },
        limits: config.limits,
        ..stack::Config::new(mac, addresses, secret_bytes)
    };
    Ok(Stack::new(stack, clock::now())?)
}

/// Random numbers from the kernel.
fn secret<const N: usize>() -> Result<[u64; N], Error> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        let mut bytes = [0_u8; 8];
        // Up to 256 bytes come whole (getrandom(2)).
        getrandom(&mut bytes, GetRandomFlags::empty())
            .map_err(|errno| Error::system("get random bytes")(errno.into()))?;
        *number = u64::from_ne_bytes(bytes);
    }
    Ok(numbers)
}

/// An address of one's own choice: of one host, and locally administered (IEEE 802, clause 8.4).
fn random_mac() -> Result<[u8; 6], Error> {
    let [number] = secret::<1>()?;
    let [a, b, c, d, e, f, ..] = number.to_ne_bytes();
    Ok([a & 0xfc | 0x02, b, c, d, e, f])
}
