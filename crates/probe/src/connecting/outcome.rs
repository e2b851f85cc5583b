//! What a handshake that failed says about its target.

use std::net::SocketAddr;

use portolan_sys::error_queue::{Origin, Received};
use rustix::io::Errno;

use crate::{Evidence, Reason, Verdict, icmp};

/// What is concluded, and from what.
pub(crate) type Outcome = (Verdict, Evidence);

pub(super) const OPEN: Outcome = (Verdict::Open, Evidence::SynAck);
pub(super) const CLOSED: Outcome = (Verdict::Closed, Evidence::Reset);

/// By the error of a handshake, where no ICMP message caused it.
///
/// A reset is `ECONNREFUSED` only while the SYN is unanswered; afterwards it is `ECONNRESET`, or
/// `EPIPE` if the peer had sent its FIN (`tcp_reset` in net/ipv4/tcp_input.c): then something
/// did listen.
pub(super) fn of_errno(errno: Errno) -> Outcome {
    match errno {
        Errno::CONNREFUSED => CLOSED,
        Errno::CONNRESET | Errno::PIPE => OPEN,
        Errno::TIMEDOUT => (Verdict::Filtered, Evidence::Silence),
        Errno::NETUNREACH => unreachable(Reason::Network, errno),
        Errno::HOSTUNREACH | Errno::HOSTDOWN => unreachable(Reason::Host, errno),
        Errno::ACCESS | Errno::PERM => unreachable(Reason::Prohibited, errno),
        _ => (Verdict::Error(errno.raw_os_error()), Evidence::Refusal(errno.raw_os_error())),
    }
}

/// By the error of a `connect(2)` that sent nothing.
///
/// A blackhole route is `EINVAL` (`fib_props` in net/ipv4/fib_semantics.c, `ip6_rt_init_dst` in
/// net/ipv6/route.c), as is a link-local address that does not name its link.
pub(crate) fn of_refusal(errno: Errno, target: &SocketAddr) -> Outcome {
    let lacks_scope = match target {
        SocketAddr::V4(_) => false,
        SocketAddr::V6(it) => it.ip().is_unicast_link_local() && it.scope_id() == 0,
    };
    match errno {
        Errno::INVAL if !lacks_scope => unreachable(Reason::Prohibited, errno),
        _ => of_errno(errno),
    }
}

/// By an ICMP message; `None` if it is none, or does not say that the target cannot be reached.
pub(super) fn of_icmp(received: &Received) -> Option<Outcome> {
    let is_ipv6 = match received.origin {
        Origin::Icmp => false,
        Origin::Icmp6 => true,
        Origin::Local | Origin::Other => return None,
    };
    let Received { kind, code, .. } = *received;
    let reason = icmp::reason(is_ipv6, kind, code)?;
    Some((Verdict::Unreachable(reason), Evidence::Icmp { kind, code }))
}

/// Whether something is used up that checks under way give back when they end: descriptors, ports
/// (`EADDRNOTAVAIL`), memory.
pub(super) fn is_shortage(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::MFILE
            | Errno::NFILE
            | Errno::ADDRNOTAVAIL
            | Errno::AGAIN
            | Errno::NOBUFS
            | Errno::NOMEM
            // More than fs.epoll.max_user_watches.
            | Errno::NOSPC
    )
}

fn unreachable(reason: Reason, errno: Errno) -> Outcome {
    (Verdict::Unreachable(reason), Evidence::Refusal(errno.raw_os_error()))
}

#[cfg(test)]
mod tests;
