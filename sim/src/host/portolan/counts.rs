//! What the stack counted, in the words of the simulator.

use portolan_stack::{Delivered, Noted, Stack};

use crate::coverage::{Coverage, Happening};

/// Adds what happened in the stack.
pub(super) fn add(stack: &mut Stack, coverage: &mut Coverage) {
    let tcp = *stack.tcp().counters();
    for (what, count) in [
        (Happening::AcceptQueueFull, tcp.accept_queue_full),
        (Happening::BacklogFull, tcp.backlog_full),
        (Happening::CookieSent, tcp.cookies_sent),
        (Happening::CookieAccepted, tcp.cookies_accepted),
        (Happening::Keepalive, tcp.keepalives),
        (Happening::WindowProbe, tcp.window_probes),
        (Happening::TailProbe, tcp.tail_probes),
        (Happening::Timeout, tcp.timeouts),
        (Happening::Recovery, tcp.recoveries),
        (Happening::Spurious, tcp.spurious),
        (Happening::OldTimestamp, tcp.timestamp_old),
        (Happening::OutOfWindow, tcp.out_of_window),
        (Happening::Challenge, tcp.challenges_sent),
        (Happening::ResetBelieved, tcp.resets_received),
        (Happening::OutOfOrder, tcp.out_of_order),
        (Happening::NoBuffer, tcp.no_buffer),
    ] {
        coverage.add(what, count);
    }
    let all = stack.counters();
    for (what, noted) in [
        (Happening::PathMtu, Noted::PathMtu),
        (Happening::FragmentSent, Noted::FragmentSent),
        (Happening::Reassembled, Noted::Reassembled),
        (Happening::PortUnreachable, Noted::IcmpErrorSent),
    ] {
        coverage.add(what, all.noted(noted));
    }
    coverage.add(Happening::Datagram, all.delivered(Delivered::Udp));
}
