//! The device: opened with the capabilities that the program began with.

use std::{
    io,
    os::fd::BorrowedFd,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, bail};
use portolan_host::{
    nic::{
        self, Arrival, Departure, Error, Fault, Offloads, Origin, Packet, Pcap, Tap, fault::Faults,
        packet,
    },
    stack::Cidr,
};
use portolan_sys::interface;

use super::HostArgs;

/// What is written for a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nic {
    /// `tap:NAME`.
    Tap(String),
    /// `packet:NAME`.
    Packet(String),
}

impl FromStr for Nic {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("tap", name)) if !name.is_empty() => Ok(Self::Tap(name.to_owned())),
            Some(("packet", name)) if !name.is_empty() => Ok(Self::Packet(name.to_owned())),
            _ => {
                Err("write tap:NAME for an interface to this host's kernel, such as tap:ptl0, or \
                      packet:NAME for one that there is"
                    .to_owned())
            }
        }
    }
}

/// One queue, whatever is wrapped around it.
pub type Queue = Box<dyn nic::Nic + Send>;

/// A device that is open.
pub struct Device {
    pub queues: Vec<Queue>,
    pub told: Told,
}

/// What is said of it.
pub struct Told {
    pub kind: &'static str,
    pub interface: String,
    /// It was made now, and goes with this program.
    pub is_made: bool,
    /// A frame could not be written down.
    has_capture_failed: Arc<AtomicBool>,
}

impl Told {
    fn new(kind: &'static str, interface: String, is_made: bool) -> Self {
        Self { kind, interface, is_made, has_capture_failed: Arc::default() }
    }

    /// # Errors
    /// Where it is not whole, which was said when it happened.
    pub fn check_capture(&self) -> anyhow::Result<()> {
        match self.has_capture_failed.load(Ordering::Relaxed) {
            true => bail!("the capture is not whole: write it where there is room (see above)"),
            false => Ok(()),
        }
    }
}

impl Device {
    /// Opens it, brings it up, and wraps it as the flags say.
    ///
    /// # Errors
    /// Each with what to do.
    pub fn open(args: &HostArgs) -> anyhow::Result<Self> {
        let count = usize::from(args.queues);
        if args.pcap.is_some() && count > 1 {
            bail!("--pcap writes down one queue: leave it out, or --queues {count}");
        }
        let (queues, told) = match &args.nic {
            Nic::Tap(name) => {
                let taps = Tap::open(name, count)?;
                let first = taps.first().context("a TAP has at least one queue")?;
                let interface = first.name().to_owned();
                // Who may use one that root has made may not change it.
                if !interface::is_up(&interface).unwrap_or(false) {
                    first.set_up(true)?;
                }
                for peer in &args.peer_address {
                    give_address(&interface, peer)?;
                }
                let is_made = first.origin() == Origin::Created;
                (boxed(taps), Told::new("tap", interface, is_made))
            }
            Nic::Packet(name) => {
                let sockets = Packet::open(name, count, &packet::Options::default())?;
                (boxed(sockets), Told::new("packet", name.clone(), false))
            }
        };
        check_mtu(args, &told.interface, &queues)?;
        let wrap = |(nth, queue)| wrap(args, &told, nth, queue);
        let queues = (0..).zip(queues).map(wrap).collect::<anyhow::Result<_>>()?;
        Ok(Self { queues, told })
    }
}

fn check_mtu(args: &HostArgs, interface: &str, queues: &[Queue]) -> anyhow::Result<()> {
    let most = queues.iter().map(|queue| queue.offloads().mtu).min();
    let Some((mtu, most)) = args.mtu.zip(most).filter(|(mtu, most)| mtu > most) else {
        return Ok(());
    };
    let make = match &args.nic {
        Nic::Tap(_) => format!("make it with `ip tuntap add dev {interface} mode tap`, and "),
        Nic::Packet(_) => String::new(),
    };
    bail!(
        "--mtu {mtu} is more than {interface} takes, which is {most}: {make}let it take more with \
         `ip link set {interface} mtu {mtu}`"
    )
}

fn give_address(to: &str, peer: &Cidr) -> anyhow::Result<()> {
    match interface::add_address(to, peer.address(), peer.prefix_len()) {
        // It has it already.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done.with_context(|| {
            format!("cannot give {to} the address {peer} (which needs CAP_NET_ADMIN)")
        }),
    }
}

fn boxed<N: nic::Nic + Send + 'static>(queues: Vec<N>) -> Vec<Queue> {
    queues.into_iter().map(|queue| Box::new(queue) as Queue).collect()
}

/// The capture is next to the device: it shows what really went over it.
fn wrap(args: &HostArgs, told: &Told, nth: u64, queue: Queue) -> anyhow::Result<Queue> {
    let queue = match &args.pcap {
        None => queue,
        Some(path) => {
            let capture = Pcap::create(queue, &told.interface, path);
            let capture =
                capture.with_context(|| format!("cannot write frames to {}", path.display()))?;
            let has_failed = Arc::clone(&told.has_capture_failed);
            Box::new(Captured { capture, has_failed }) as Queue
        }
    };
    Ok(match args.fault {
        None => queue,
        // Each queue has its own sequence.
        Some(faults) => {
            let seed = faults.seed.wrapping_add(nth);
            Box::new(Fault::new(queue, &Faults { seed, ..faults }))
        }
    })
}

/// A capture that says when it ends early.
struct Captured {
    capture: Pcap<Queue>,
    has_failed: Arc<AtomicBool>,
}

impl Captured {
    fn tell(&mut self) {
        if let Some(error) = self.capture.take_error() {
            self.has_failed.store(true, Ordering::Relaxed);
            tell!("portolan: {error}");
        }
    }
}

impl Drop for Captured {
    /// What is buffered may find no room, too.
    fn drop(&mut self) {
        self.capture.flush();
        self.tell();
    }
}

impl nic::Nic for Captured {
    fn receive(&mut self, take: &mut dyn FnMut(Arrival<'_>)) -> Result<usize, Error> {
        let received = self.capture.receive(take);
        self.tell();
        received
    }

    fn transmit(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> Option<Departure>,
    ) -> Result<usize, Error> {
        let sent = self.capture.transmit(fill);
        self.tell();
        sent
    }

    fn offloads(&self) -> Offloads {
        self.capture.offloads()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.capture.descriptor()
    }
}
