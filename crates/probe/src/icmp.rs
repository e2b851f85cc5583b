//! What an ICMP error about a SYN says about the target, however it came to us.

use crate::Reason;

/// Why the target cannot be reached, by an ICMP message's type and code; `None` for messages that
/// do not say that it cannot: redirects, packets too big, malformed ones.
///
/// ICMP for IPv4: RFC 792, RFC 1122 section 3.2.2.1 and RFC 1812 section 5.2.7.1. ICMP for IPv6:
/// RFC 4443 section 3.
pub(crate) fn reason(is_ipv6: bool, kind: u8, code: u8) -> Option<Reason> {
    if is_ipv6 { over_ipv6(kind, code) } else { over_ipv4(kind, code) }
}

fn over_ipv4(kind: u8, code: u8) -> Option<Reason> {
    match (kind, code) {
        // 8 is the isolation of this host: no network is reached from it.
        (UNREACHABLE_V4, 0 | 6 | 8 | 11) => Some(Reason::Network),
        // 5 is a source route that failed, and we ask for none: what fails is the way to the host.
        (UNREACHABLE_V4, 1 | 5 | 7 | 12) => Some(Reason::Host),
        (UNREACHABLE_V4, 2) => Some(Reason::Protocol),
        (UNREACHABLE_V4, 3) => Some(Reason::Port),
        // 14 and 15 refuse the precedence: a rule, not a fault.
        (UNREACHABLE_V4, 9 | 10 | 13 | 14 | 15) => Some(Reason::Prohibited),
        (TIME_EXCEEDED_V4, _) => Some(Reason::HopLimit),
        _ => None,
    }
}

fn over_ipv6(kind: u8, code: u8) -> Option<Reason> {
    match (kind, code) {
        // 2: the target is beyond the scope of our address, so no route from it leads there.
        (UNREACHABLE_V6, 0 | 2) => Some(Reason::Network),
        (UNREACHABLE_V6, 1 | 5 | 6) => Some(Reason::Prohibited),
        (UNREACHABLE_V6, 3) => Some(Reason::Host),
        (UNREACHABLE_V6, 4) => Some(Reason::Port),
        (TIME_EXCEEDED_V6, _) => Some(Reason::HopLimit),
        (PARAMETER_PROBLEM_V6, NEXT_HEADER) => Some(Reason::Protocol),
        _ => None,
    }
}

const UNREACHABLE_V4: u8 = 3;
const TIME_EXCEEDED_V4: u8 = 11;
const UNREACHABLE_V6: u8 = 1;
const TIME_EXCEEDED_V6: u8 = 3;
const PARAMETER_PROBLEM_V6: u8 = 4;
/// RFC 4443 section 3.4: the next header is of a kind that the host does not know.
const NEXT_HEADER: u8 = 1;

#[cfg(test)]
mod tests;
