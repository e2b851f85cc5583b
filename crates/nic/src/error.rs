//! What can go wrong with a device.

use std::io;

use portolan_sys::interface;

/// Why a device cannot be opened or used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It could not be opened.
    #[error("cannot open {kind} {interface}: {source}; {}", advice(*kind, source, interface))]
    Open {
        /// What it was to be.
        kind: Kind,
        /// The interface's name.
        interface: String,
        /// The system call's error.
        source: io::Error,
    },
    /// The kernel offers no TUN/TAP to this process.
    #[error(
        "cannot open TAP {interface}: /dev/net/tun: {source}; {}",
        tun_advice(source, interface)
    )]
    NoTun {
        /// The interface that was asked for.
        interface: String,
        /// The system call's error.
        source: io::Error,
    },
    /// The interface is not up, or has no carrier.
    #[error(
        "{interface} is down; bring it up with `ip link set {interface} up`, and its other end"
    )]
    LinkDown {
        /// The interface's name.
        interface: String,
    },
    /// The interface does not exist any more.
    #[error("{interface} is gone; open it anew")]
    Gone {
        /// The interface's name.
        interface: String,
    },
    /// A frame that the device does not take; it was dropped.
    #[error("{interface} does not take a frame: {refusal}")]
    Refused {
        /// The interface's name.
        interface: String,
        /// Why.
        refusal: Refusal,
    },
    /// Reading or writing failed otherwise.
    #[error("cannot {verb} by {interface}: {source}")]
    Io {
        /// `receive` or `transmit`.
        verb: &'static str,
        /// The interface's name.
        interface: String,
        /// The system call's error.
        source: io::Error,
    },
    /// A capture could not be written any further. The traffic goes on.
    #[error(
        "the capture of {interface} ends early: {source}; frames are counted from here on, not kept"
    )]
    Capture {
        /// The interface's name.
        interface: String,
        /// The writer's error.
        source: io::Error,
    },
    /// Faults that cannot be read.
    #[error(
        "faults {input:?}: {problem}; write such as loss=1%,reorder=2%,duplicate=1%,corrupt=0.1%,\
         seed=7, or receive.loss=1% for one direction"
    )]
    Faults {
        /// What was written.
        input: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// Kinds of devices that are opened by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A TAP interface.
    Tap,
    /// A packet socket on an interface.
    Packet,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Tap => "TAP",
            Self::Packet => "packet socket on",
        })
    }
}

/// Why a device does not take a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is longer than the MTU, or than what is cut, allows.
    #[error("it has {len} bytes, and {len_max} are the most that fit the MTU or the offload")]
    TooLong {
        /// Bytes of the frame.
        len: usize,
        /// Bytes that it may have.
        len_max: usize,
    },
    /// Its checksum is partial.
    #[error("its checksum is partial, and the device completes none (see Offloads)")]
    Checksum,
    /// It is to be cut.
    #[error("it is to be cut into segments, and the device cuts none (see Offloads)")]
    Segmentation,
    /// It is to be cut, and its checksum is whole.
    #[error("it is to be cut into segments, which needs a partial checksum")]
    SegmentationWithoutChecksum,
    /// Where its checksum or payload is said to be is outside of it.
    #[error("the place of its checksum or payload is outside of it")]
    Outside,
    /// The kernel refused it again and again.
    #[error("the device did not take it in 10,000 attempts, and may never; try without offloads")]
    NeverTaken,
}

const EPERM: i32 = 1;
const ENXIO: i32 = 6;
const E2BIG: i32 = 7;
const EBUSY: i32 = 16;
const ENODEV: i32 = 19;
const EINVAL: i32 = 22;
const EIO: i32 = 5;
const EBADFD: i32 = 77;
const ENETDOWN: i32 = 100;
const ENOBUFS: i32 = 105;

/// What to do about it.
fn advice(kind: Kind, source: &io::Error, interface: &str) -> String {
    match (kind, source.raw_os_error()) {
        (Kind::Tap, Some(EPERM)) => format!(
            "it needs CAP_NET_ADMIN: run with sudo, or let root make it for you with \
             `ip tuntap add dev {interface} mode tap user $USER multi_queue`"
        ),
        (Kind::Tap, Some(EBUSY)) => format!(
            "another program has it: stop that one (`fuser /dev/net/tun` names it), or take \
             another name than {interface}"
        ),
        (Kind::Tap, Some(EINVAL)) if !is_name(interface) => {
            "a name has 1 to 15 bytes, without slashes, colons and spaces".to_owned()
        }
        (Kind::Tap, Some(EINVAL)) => format!(
            "an interface that exists has to be a TAP, for several queues one with multi_queue: \
             `ip -details link show {interface}` tells; make it anew with `ip tuntap del dev \
             {interface} mode tap`, `ip tuntap add dev {interface} mode tap multi_queue`"
        ),
        (Kind::Tap, Some(E2BIG)) => "the kernel has no so many queues: ask for fewer".to_owned(),
        (Kind::Packet, Some(EPERM)) => "it needs CAP_NET_RAW: run with sudo, or give it to the \
                                        program with `setcap cap_net_raw+ep`"
            .to_owned(),
        (Kind::Packet, Some(ENODEV | EINVAL)) => {
            "there is no such interface here: `ip link` lists those that there are".to_owned()
        }
        _ => "`ip link` shows the interface's state".to_owned(),
    }
}

/// What to do about a /dev/net/tun that cannot be opened.
fn tun_advice(source: &io::Error, interface: &str) -> String {
    match source.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "it needs CAP_NET_ADMIN and access to the file: run with sudo, or let root make the \
             interface for you with `ip tuntap add dev {interface} mode tap user $USER \
             multi_queue` and open the file with `chmod 0666 /dev/net/tun`, as most systems do"
        ),
        _ => "load the module with `modprobe tun`, and in a container let it have the device \
              (--device /dev/net/tun)"
            .to_owned(),
    }
}

/// Whether an interface can be called so (`dev_valid_name` in Linux's net/core/dev.c).
fn is_name(name: &str) -> bool {
    let is_short = (1..=interface::NAME_BYTES_MAX).contains(&name.len());
    is_short && name != "." && name != ".." && !name.contains(['/', ':', ' ', '\t', '\n'])
}

impl Error {
    /// What an error of a system call on a device that was open means.
    pub(crate) fn of(verb: &'static str, interface: &str, source: io::Error) -> Self {
        let interface = interface.to_owned();
        match source.raw_os_error() {
            // TAP says EIO (`tun_get_user` in drivers/net/tun.c).
            // A packet socket says ENOBUFS where there is no carrier; see `Packet::is_full`.
            Some(ENETDOWN | EIO | ENOBUFS) => Self::LinkDown { interface },
            Some(ENXIO | ENODEV | EBADFD) => Self::Gone { interface },
            _ => Self::Io { verb, interface, source },
        }
    }
}

#[cfg(test)]
mod tests;
