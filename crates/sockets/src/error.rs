//! What can go wrong while listing sockets.

use std::io;

use portolan_flow::Transport;
use rustix::io::Errno;

/// A listing that failed or is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("cannot {what} ({place}): {source}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// The file, namespace or protocol it was about.
        place: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The kernel refused the request itself.
    #[error(
        "the kernel refused a sock_diag dump of {transport} over {family}: {source}; \
         --method procfs reads /proc/net instead"
    )]
    Refused {
        /// The transport asked for.
        transport: Transport,
        /// The address family, for people.
        family: &'static str,
        /// The error number in the kernel's reply.
        source: io::Error,
    },
    /// The filter asks for what the method does not know of a socket.
    #[error(
        "{method} does not tell {what} of a socket, which the filter asks for; --method diag does"
    )]
    NotTold {
        /// Where the listing comes from.
        method: &'static str,
        /// What it does not tell.
        what: &'static str,
    },
    /// BPF is not possible here.
    #[error(
        "cannot {what}: {source}; it takes CAP_BPF and CAP_PERFMON (root has them), and Linux 6.2 \
         or newer with BTF"
    )]
    Bpf {
        /// What was attempted.
        what: &'static str,
        /// The kernel's or the loader's answer.
        source: io::Error,
    },
    /// Processes came and went faster than they could be read.
    #[error("the processes of this host changed again and again while they were read")]
    Restless,
    /// A reply that breaks the protocol.
    #[error(
        "malformed sock_diag reply: {what} at byte {at}; please report it with the kernel's version"
    )]
    Malformed {
        /// The rule that was broken.
        what: &'static str,
        /// The offset in the datagram.
        at: usize,
    },
}

impl Error {
    /// Whether what it was about, a namespace or a process, ended in the meantime.
    #[must_use]
    pub fn means_an_end(&self) -> bool {
        let cause = std::error::Error::source(self).and_then(|it| it.downcast_ref::<io::Error>());
        cause.is_some_and(|cause| {
            cause.kind() == io::ErrorKind::NotFound
                || Errno::from_io_error(cause) == Some(Errno::SRCH)
        })
    }

    pub(crate) fn system(
        what: &'static str,
        place: impl Into<String>,
    ) -> impl FnOnce(io::Error) -> Self {
        let place = place.into();
        move |source| Self::System { what, place, source }
    }
}
